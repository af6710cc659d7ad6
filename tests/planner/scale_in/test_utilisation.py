"""When a node is underutilised: the larger share of what is asked for, as Cluster Autoscaler computes it."""

from typing import Any

import pytest

from spillway.model.cluster import PodState
from spillway.model.plan import Plan
from tests.builders import Pods, group, kept, node, pod, removed
from tests.planner.scale_in.worlds import planned, why_stays

pytestmark = pytest.mark.feature("SI-04")

OPTIONS = {
    "threshold": "scaledownutilizationthreshold",
    "gpu": "scaledowngpuutilizationthreshold",
    "daemons": "ignoredaemonsetsutilization",
}


def of(
    *pods: Pods, gpu: int = 0, options: dict[str, str] | None = None, labels: dict[str, str] | None = None, **rules: Any
) -> Plan:
    """`low`, of 4 CPU and 16Gi, with these pods, and a node of another group with room for all of them."""
    low, other = node("low", gpu=gpu, labels=labels or {}), node("other", cpu="64", memory="256Gi", gpu=8)
    return planned(
        low,
        other,
        *pods,
        pod("load", cpu="50", gpu=6, node="other"),
        group("g", nodes=[low], gpu=gpu, options=options or {}),
        group("big", nodes=[other], cpu="64", memory="256Gi", gpu=8),
        **rules,
    )


def on(name: str = "p", **fields: Any) -> Pods:
    return pod(name, node="low", **fields)


@pytest.mark.parametrize(
    ("cpu", "memory", "goes"),
    [
        ("2", "1Gi", True),  # 50 % is not above 50 %
        ("2001m", "1Gi", False),
        ("100m", "8Gi", True),
        ("100m", "8193Mi", False),
    ],
)
def test_the_larger_of_cpu_and_memory_decides(cpu: str, memory: str, goes: bool) -> None:
    plan = of(on(cpu=cpu, memory=memory))
    assert removed(plan) == (["low"] if goes else [])


def test_a_busy_node_says_how_busy() -> None:
    assert why_stays(of(on(cpu="3"))) == (
        "busy",
        "node low runs 1 pod (default/p); 75.0% of its cpu is asked for, more than 50%",
    )


@pytest.mark.parametrize(("threshold", "goes"), [(0.3, False), (0.31, True)])
def test_the_policys_threshold(threshold: float, goes: bool) -> None:
    plan = of(on(cpu="1240m"), utilisation_threshold=threshold)
    assert removed(plan) == (["low"] if goes else [])


class TestDaemons:
    PODS = (on("agent", cpu="2", owner="DaemonSet"), on(cpu="500m"))

    def test_they_count(self) -> None:
        assert kept(of(*self.PODS))["low"] == "busy"

    def test_unless_the_policy_or_the_groups_tag_leaves_them_out_of_both(self) -> None:
        """0.5 of the 2 CPU that are left is a quarter; of 4 it would be an eighth."""
        for said in ({"options": {OPTIONS["daemons"]: "true"}}, {"ignore_daemons_utilisation": True}):
            assert removed(of(*self.PODS, utilisation_threshold=0.25, **said)) == ["low"]  # type: ignore[arg-type]
            assert not removed(of(*self.PODS, utilisation_threshold=0.24, **said))  # type: ignore[arg-type]

    def test_mirror_pods_count_all_the_same(self) -> None:
        static = on("etcd", cpu="2", owner="Node", mirror=True)
        plan = of(static, on(cpu="500m"), options={OPTIONS["daemons"]: "true"})
        assert kept(plan)["low"] == "busy"


def test_fillers_and_pods_that_should_have_gone_do_not_count() -> None:
    assert removed(of(on("filler", cpu="3", priority=-11), on(cpu="500m"))) == ["low"]
    young = on("leaves", cpu="3", state=PodState.TERMINATING)
    assert kept(of(young, on(cpu="500m")))["low"] == "busy"


class TestAccelerators:
    def test_only_their_use_counts(self) -> None:
        assert removed(of(on(cpu="3", gpu=1), gpu=2)) == ["low"]
        code, text = why_stays(of(on(cpu="100m", gpu=2), gpu=2))
        assert (code, "100.0% of its nvidia.com/gpu" in text) == ("busy", True)

    def test_a_node_that_is_labelled_and_advertises_none_yet_uses_none(self) -> None:
        assert removed(of(on(cpu="3"), labels={"k8s.amazonaws.com/accelerator": "nvidia-tesla-t4"})) == ["low"]

    def test_they_have_a_threshold_of_their_own(self) -> None:
        assert kept(of(on(gpu=1), gpu=2, gpu_utilisation_threshold=0.4))["low"] == "busy"
        assert removed(of(on(gpu=1), gpu=2, utilisation_threshold=0.1)) == ["low"]
        assert kept(of(on(gpu=1), gpu=2, options={OPTIONS["gpu"]: "0.4"}))["low"] == "busy"


@pytest.mark.parametrize(
    ("tag", "policy_of_all", "goes"),
    [("0.7", 0.5, True), ("0.2", 0.9, False), ("most", 0.5, False), ("nan", 0.5, False), ("", 0.7, True)],
)
def test_a_groups_tag_goes_before_the_policy_for_all(tag: str, policy_of_all: float, goes: bool) -> None:
    plan = of(on(cpu="2500m"), options={OPTIONS["threshold"]: tag}, utilisation_threshold=policy_of_all)
    assert removed(plan) == (["low"] if goes else [])


def test_what_the_policy_says_of_the_group_goes_before_its_tag() -> None:
    from spillway import planner
    from spillway.model.memory import Memory
    from spillway.planner import clocks
    from tests.builders import NOW, YESTERDAY, cluster, fleet, policy

    low, other = node("low"), node("other", cpu="64")
    seen = cluster(low, other, on(cpu="1"), pod("load", cpu="40", node="other"))
    supply = fleet(group("g", nodes=[low], options={OPTIONS["threshold"]: "0.9"}), group("big", nodes=[other], cpu="64"))
    rules = policy(scale_in={"budgets": [{"nodes": 9}]}, groups={"g": {"scale_in": {"utilisation_threshold": 0.2}}})
    memory = clocks.observe(Memory(), seen, supply, rules, NOW, YESTERDAY)
    assert kept(planner.plan(seen, supply, memory, rules, NOW))["low"] == "busy"


def test_a_node_that_names_no_cpu_is_not_taken_for_empty() -> None:
    from tests.builders import group as group_of

    bare, other = node("low", cpu="0"), node("other", cpu="64")
    plan = planned(bare, other, on(cpu="100m"), pod("load", cpu="40", node="other"), group_of("g", nodes=[bare, other]))
    code, text = why_stays(plan)
    assert (code, "does not say how much CPU" in text) == ("busy", True)
