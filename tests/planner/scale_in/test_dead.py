"""Dead machines: two witnesses, and never many at once."""

from typing import Any

import pytest

from spillway.model.memory import Memory, NodeMemory
from spillway.model.plan import AtDeadline, Plan, Why
from tests.builders import YESTERDAY, ago, group, instance, kept, node, plan_for, pod, policy, removed, warned
from tests.planner.scale_in.worlds import ALL_AT_ONCE, why_stays

pytestmark = pytest.mark.feature("SI-14")


def nodes_of(
    silent: int, of: int = 10, for_s: float = 1800, ill: int | None = None, min_size: int = 0, **scale_in: Any
) -> Plan:
    """So many of ten busy nodes are not Ready; EC2 has something against the instances of the first `ill` of them."""
    nodes = [node(f"n{i}", ready=i >= silent) for i in range(of)]
    pods = [pod(f"w{i}", cpu="3", node=f"n{i}") for i in range(of)]
    instances = [
        instance(f"n{i}", impaired="system status: impaired" if i < (silent if ill is None else ill) else "") for i in range(of)
    ]
    memory = Memory(
        nodes=tuple(
            NodeMemory(node=f"n{i}", first_seen=YESTERDAY, last_seen=ago(60), unready_since=ago(for_s), instance_id=f"i-n{i}")
            for i in range(silent)
        )
    )
    made = group("g", nodes=nodes, instances=instances, max_size=50, min_size=min_size)
    rules = policy(scale_in={**ALL_AT_ONCE, **scale_in})
    return plan_for(*nodes, *pods, made, memory=memory, idle_since=YESTERDAY, rules=rules)


def test_a_node_that_both_the_api_server_and_ec2_find_ill_goes_with_its_pods_on_it() -> None:
    [step] = nodes_of(1).scale_in
    assert (step.node, step.why, step.evict) == ("n0", Why.DEAD, ())
    assert (step.deadline_s, step.at_deadline) == (600, AtDeadline.FORCE)
    assert step.reason.text == (
        "node n0 is not Ready since 2025-12-31 23:30:00 UTC, and EC2 finds its instance impaired (system status: impaired)"
    )


def test_auto_scaling_is_a_witness_as_well() -> None:
    n0, n1 = node("n0", ready=False, ready_changed=ago(1800)), node("n1")
    made = group("g", nodes=[n0, n1], instances=[instance("n0", healthy=False)])
    [step] = plan_for(n0, n1, pod(cpu="3", node="n1"), made, rules=policy(scale_in=ALL_AT_ONCE)).scale_in
    assert (step.node, step.why) == ("n0", Why.DEAD)


def test_the_kubelets_silence_alone_kills_no_node() -> None:
    code, text = why_stays(nodes_of(1, ill=0), "n0")
    assert (code, "AWS has nothing against its instance: its pods may be running on" in text) == ("not_ready", True)


def test_nor_does_a_short_one() -> None:
    assert kept(nodes_of(1, for_s=1799))["n0"] == "not_ready"
    assert removed(nodes_of(1, for_s=600, dead_s=600)) == ["n0"]


def test_many_silent_nodes_are_a_cut_network_and_an_alarm() -> None:
    assert removed(nodes_of(2)) == ["n0", "n1"]
    plan = nodes_of(3)
    assert removed(plan) == []
    code, text = why_stays(plan, "n0")
    assert (code, "3 of 10 nodes are so, and more than 2 are taken for a cut network" in text) == ("many_silent", True)
    assert "many_silent" in warned(plan)
    assert "many_silent" not in warned(nodes_of(2))


def test_silent_nodes_that_ec2_calls_well_count_for_the_network_too() -> None:
    assert removed(nodes_of(3, ill=1)) == []


@pytest.mark.parametrize(("most", "gone"), [("30%", 3), (3, 3), (2, 0), ("21%", 3), (0, 0)])
def test_the_policy_says_how_many_are_many(most: str | int, gone: int) -> None:
    assert len(removed(nodes_of(3, dead_at_once=most))) == gone


def test_of_a_small_cluster_one_may_be_dead() -> None:
    assert removed(nodes_of(1, of=2)) == ["n0"]
    assert removed(nodes_of(1, of=1, dead_at_once=0)) == ["n0"]


def test_the_min_does_not_keep_what_is_no_capacity_and_budgets_do() -> None:
    assert removed(nodes_of(1, min_size=10)) == ["n0"]
    assert kept(nodes_of(1, budgets=[{"nodes": 0, "reasons": ["dead"]}]))["n0"] == "budget"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"unschedulable": True}, "cordoned_by_human"),
        ({"annotations": {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}}, "annotated"),
        ({"labels": {"openai/detached": "true"}}, "detached"),
    ],
)
def test_what_people_keep_is_kept_dead_or_alive(fields: dict[str, Any], code: str) -> None:
    n0 = node("n0", ready=False, ready_changed=ago(9000), **fields)
    made = group("g", nodes=[n0], instances=[instance("n0", impaired="ill")])
    assert kept(plan_for(n0, made, rules=policy(scale_in=ALL_AT_ONCE))) == {"n0": code}
