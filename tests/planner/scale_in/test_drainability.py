"""Which pods let their node go: Cluster Autoscaler's rules in its order, and those of others between them."""

from typing import Any

import msgspec
import pytest

from spillway import planner
from spillway.model.cluster import PodState
from spillway.model.memory import Memory
from spillway.planner import clocks
from tests.builders import NOW, Pods, ago, cluster, fleet, group, kept, node, plan_for, pod, policy, removed
from tests.planner.scale_in.worlds import budget, pair, why_stays

pytestmark = pytest.mark.feature("SI-07")

SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DISRUPT = "karpenter.sh/do-not-disrupt"


def small(name: str = "p", **fields: Any) -> Pods:
    return pod(name, cpu="200m", node="low", **fields)


def test_a_pod_of_which_no_rule_speaks_is_moved() -> None:
    plan = pair(small())
    [step] = plan.scale_in
    assert (step.node, step.why, [one.pod for one in step.evict]) == ("low", "underutilised", ["default/p"])
    assert step.reason.text == "node low runs 1 pod (default/p), which ask for 6.2% of its memory: at most 50% since " + (
        "2025-12-31 00:00:00 UTC"
    )


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        ({"owner_missing": True}, "no_owner", "default/p would not be made again: its ReplicaSet is not in the cluster"),
        ({"annotations": {DISRUPT: "true"}}, "do_not_disrupt", DISRUPT),
        ({"labels": {"openai/do-not-drain": "true"}}, "do_not_drain", "openai/do-not-drain"),
        ({"labels": {"openai/do-not-drain": "1"}}, "do_not_drain", "openai/do-not-drain"),
        ({"age_s": 299}, "young_pod", "started 299 s ago, less than 300 s"),
        ({"annotations": {SAFE: "on-completion"}}, "batch", "on-completion"),
        ({"owner": "Job"}, "batch", "is a Job's"),
        ({"owner": ""}, "no_owner", "has no controller"),
        ({"owner": "Widget.example.com"}, "no_owner", "made by a Widget.example.com"),
        ({"namespace": "kube-system", "age_s": 3600}, "system_pod", "3600 s old: it stays for 3600 s"),
        ({"annotations": {SAFE: "false"}}, "not_safe", f"{SAFE}=false"),
        ({"local_storage": ("cache", "logs")}, "local_storage", "(cache, logs)"),
        ({"resource_claims": ("gpu",)}, "not_judged", "resource claims (gpu)"),
    ],
)
def test_a_pod_that_keeps_its_node(fields: dict[str, Any], code: str, says: str) -> None:
    plan = pair(small(**fields))
    assert not plan.scale_in
    found, text = why_stays(plan)
    assert (found, says in text) == (code, True)


@pytest.mark.parametrize(
    "fields",
    [
        {"annotations": {DISRUPT: "false"}},
        {"annotations": {DISRUPT: "perhaps"}},
        {"labels": {"openai/do-not-drain": "false"}},
        {"age_s": 300},
        {"owner": "StatefulSet"},
        {"owner": "ReplicationController"},
        {"owner": "StatefulSet.apps.kruise.io"},
        {"namespace": "kube-system", "age_s": 3601},
        {"annotations": {SAFE: "perhaps"}},
    ],
)
def test_a_pod_that_does_not(fields: dict[str, Any]) -> None:
    assert removed(pair(small(**fields))) == ["low"]


@pytest.mark.parametrize(
    "fields",
    [
        {"local_storage": ("cache",)},
        {"namespace": "kube-system", "age_s": 600},
        {"owner": ""},
        {"owner": "Job"},
        {"owner": "Widget"},
    ],
)
def test_what_is_said_to_be_safe_ends_the_rules_after_it(fields: dict[str, Any]) -> None:
    assert removed(pair(small(annotations={SAFE: "true"}, **fields))) == ["low"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"owner_missing": True}, "no_owner"),
        ({"annotations": {SAFE: "true", DISRUPT: "true"}}, "do_not_disrupt"),
        ({"labels": {"openai/do-not-drain": "true"}}, "do_not_drain"),
        ({"resource_claims": ("gpu",)}, "not_judged"),
    ],
)
def test_and_none_before_it(fields: dict[str, Any], code: str) -> None:
    fields = {"annotations": {SAFE: "true"}, **fields}
    assert kept(pair(small(**fields)))["low"] == code


def test_a_budget_holds_also_what_is_said_to_be_safe() -> None:
    safe = small(annotations={SAFE: "true"})
    code, text = why_stays(pair(safe, pdbs=[budget(safe)]))
    assert (code, "default/guard" in text) == ("disruption_budget", True)


def test_an_old_pod_of_kube_system_is_held_by_nothing_after() -> None:
    old = small(namespace="kube-system", age_s=3601, local_storage=("cache",), annotations={SAFE: "false"})
    assert removed(pair(old)) == ["low"]


def test_a_budget_takes_the_place_of_the_first_hour() -> None:
    system = small(namespace="kube-system", age_s=600)
    guard = msgspec.structs.replace(budget(system, allowed=1), namespace="kube-system")
    assert removed(pair(system, pdbs=[guard])) == ["low"]


@pytest.mark.parametrize(("value", "code"), [("11m", "do_not_disrupt"), ("10m", ""), ("9m59s", ""), ("1h", "do_not_disrupt")])
def test_do_not_disrupt_may_be_a_time_since_the_pods_start(value: str, code: str) -> None:
    plan = pair(small(age_s=600, annotations={DISRUPT: value}))
    assert kept(plan).get("low", "") == code


def test_the_start_is_when_the_kubelet_took_the_pod() -> None:
    """A pod that waited for a day and started a minute ago is young."""
    low, busy = node("low"), node("busy")
    seen = cluster(low, busy, small(age_s=86400), pod("load", cpu="2500m", node="busy"))
    sets = tuple(msgspec.structs.replace(one, started=(ago(60),)) for one in seen.pods)
    rules = policy(scale_in={"budgets": [{"nodes": 2}]})
    supply = fleet(group("g", nodes=[low, busy]))
    seen = msgspec.structs.replace(seen, pods=sets)
    memory = clocks.observe(Memory(), seen, supply, rules, NOW, ago(86400))
    assert kept(planner.plan(seen, supply, memory, rules, NOW))["low"] == "young_pod"


@pytest.mark.parametrize(
    "pods",
    [
        small(owner="DaemonSet", local_storage=("host",), annotations={DISRUPT: "true"}),
        small(owner="Node", mirror=True, namespace="kube-system", age_s=1),
        small(owner="", priority=-11),
    ],
    ids=["daemon", "mirror", "filler"],
)
def test_pods_that_go_with_their_node_hold_it_by_nothing(pods: Pods) -> None:
    plan = pair(pods)
    [step] = plan.scale_in
    assert (step.node, step.why, step.evict) == ("low", "empty", ())


@pytest.mark.parametrize(
    "pods",
    [
        small("d", owner="DaemonSet", local_storage=("host",)),
        small("m", owner="Node", mirror=True, namespace="kube-system", age_s=1),
        small("f", owner="", priority=-11),
    ],
    ids=["daemon", "mirror", "filler"],
)
def test_nor_are_they_among_those_that_move(pods: Pods) -> None:
    [step] = pair(pods, small()).scale_in
    assert [one.pod for one in step.evict] == ["default/p"]


def test_a_daemon_whose_set_is_gone_is_nobodys() -> None:
    """Cluster Autoscaler asks for owners before it asks for daemons."""
    orphan = small("d", owner="DaemonSet", owner_missing=True)
    assert kept(pair(orphan, small()))["low"] == "no_owner"


class TestTerminating:
    @pytest.mark.parametrize(
        ("past_s", "grace_s", "goes"), [(-10, 30, False), (60, 30, False), (61, 30, True), (61, 600, False), (631, 600, True)]
    )
    def test_a_pod_that_leaves_is_waited_for_until_it_is_long_overdue(self, past_s: int, grace_s: int, goes: bool) -> None:
        low, busy = node("low"), node("busy")
        leaving = small(state=PodState.TERMINATING, grace_s=grace_s)
        seen = cluster(low, busy, leaving, pod("load", cpu="2500m", node="busy"))
        sets = tuple(
            msgspec.structs.replace(one, deletes=(ago(past_s),)) if one.state is PodState.TERMINATING else one
            for one in seen.pods
        )
        seen = msgspec.structs.replace(seen, pods=sets)
        rules, supply = policy(scale_in={"budgets": [{"nodes": 2}]}), fleet(group("g", nodes=[low, busy]))
        memory = clocks.observe(Memory(), seen, supply, rules, NOW, ago(86400))
        plan = planner.plan(seen, supply, memory, rules, NOW)
        assert removed(plan) == (["low"] if goes else [])
        if not goes:
            code, text = why_stays(plan)
            assert (code, "default/p is being deleted" in text) == ("busy", True)


@pytest.mark.parametrize(
    ("fields", "setting"),
    [
        ({"owner": "Widget"}, {"custom_controllers": "move"}),
        ({"local_storage": ("cache",)}, {"local_storage": "move"}),
        ({"namespace": "kube-system", "age_s": 600}, {"system_pods_s": 0}),
        ({"age_s": 1}, {"young_s": 0}),
    ],
)
def test_a_setting_lets_pods_go(fields: dict[str, Any], setting: dict[str, Any]) -> None:
    assert not pair(small(**fields)).scale_in
    assert removed(pair(small(**fields), drainable=setting)) == ["low"]


@pytest.mark.parametrize(
    ("fields", "setting", "code"),
    [
        ({"owner_replicas": 1}, {"min_replicas": 2}, "min_replicas"),
        ({"namespace": "kube-system", "age_s": 10**7}, {"system_pods_s": None}, "system_pod"),
        ({"age_s": 3599}, {"young_s": 3600}, "young_pod"),
        ({"owner": ""}, {"custom_controllers": "move"}, "no_owner"),
    ],
)
def test_and_another_one_keeps_them(fields: dict[str, Any], setting: dict[str, Any], code: str) -> None:
    assert kept(pair(small(**fields), drainable=setting))["low"] == code


def test_the_setting_of_a_group_goes_before_that_of_all() -> None:
    nodes = [node("low"), node("busy")]
    rules = policy(scale_in={"budgets": [{"nodes": 2}]}, groups={"g": {"scale_in": {"drainable": {"local_storage": "move"}}}})
    plan = plan_for(
        *nodes,
        small(local_storage=("cache",)),
        pod("load", cpu="2500m", node="busy"),
        group("g", nodes=nodes),
        idle_since=ago(86400),
        rules=rules,
    )
    assert removed(plan) == ["low"]
