"""Instances that run and never become nodes."""

from typing import Any

import pytest

from spillway.model.fleet import Instance
from spillway.model.memory import Memory, NodeMemory
from spillway.model.plan import Plan, Why
from tests.builders import YESTERDAY, ago, group, instance, node, plan_for, pod, policy, removed, warned
from tests.planner.scale_in.worlds import ALL_AT_ONCE

pytestmark = pytest.mark.feature("SI-13")


def lost(*instances: Instance, rules: dict[str, Any] | None = None, memory: Memory | None = None, **fields: Any) -> Plan:
    """A group with four busy nodes and these instances."""
    nodes = [node(f"n{i}") for i in range(4)]
    pods = [pod(f"w{i}", cpu="3", node=f"n{i}") for i in range(4)]
    made = policy(**{"scale_in": ALL_AT_ONCE, **(rules or {})})
    return plan_for(
        *nodes, *pods, group("g", nodes=nodes, instances=instances, **fields), idle_since=YESTERDAY, rules=made, memory=memory
    )


def ended(plan: Plan) -> list[str]:
    return [step.instance_id for step in plan.scale_in]


def test_they_are_ended_by_id_when_their_time_to_join_is_over() -> None:
    plan = lost(instance("late", age_s=900), instance("young", age_s=899))
    [step] = plan.scale_in
    assert (step.node, step.instance_id, step.group, step.why) == ("", "i-late", "g", Why.UNREGISTERED)
    assert step.reason.text == "instance i-late of group g did not become a node within 900 s"
    assert plan.summary.nodes_removed == 1


def test_a_warning_names_the_group_and_where_to_look() -> None:
    [warning] = [one for one in lost(instance("late", age_s=900)).warnings if one.code == "never_joined"]
    assert "group us-east-1/g: i-late did not join within 900 s; look into the instance's console output" in warning.text


def test_the_policy_says_how_long_they_have() -> None:
    assert ended(lost(instance("late", age_s=900), rules={"scale_out": {"provision_time_s": 1200}})) == []


@pytest.mark.parametrize("lifecycle", ["Pending", "Pending:Wait", "Terminating:Wait", "Standby", "Warmed:Stopped"])
def test_only_members_in_service_are(lifecycle: str) -> None:
    assert ended(lost(instance("late", age_s=9000, lifecycle=lifecycle))) == []


def test_never_under_the_min_and_never_more_than_a_budget() -> None:
    late = [instance(f"late{i}", age_s=900 + i) for i in range(3)]
    assert ended(lost(*late, min_size=6)) == ["i-late2"]
    assert ended(lost(*late, rules={"scale_in": {"budgets": [{"nodes": 2}]}})) == ["i-late2", "i-late1"]
    assert ended(lost(*late, rules={"scale_in": {"budgets": [{"nodes": 0, "reasons": ["unregistered"]}]}})) == []
    assert ended(lost(*late, rules={"scale_in": {"budgets": [{"nodes": "10%"}]}})) == ["i-late2"], "of seven, rounded up"


@pytest.mark.parametrize(
    "fields",
    [{"suspended": ("Terminate",)}, {"status": "Delete in progress"}],
)
def test_a_group_that_may_not_shrink_keeps_them(fields: dict[str, Any]) -> None:
    assert ended(lost(instance("late", age_s=900), **fields)) == []


@pytest.mark.parametrize(
    "rules",
    [
        {"mode": "scale_out_only"},
        {"mode": "off"},
        {"scale_in": {**ALL_AT_ONCE, "enabled": False}},
        {"groups": {"g": {"ignore": True}}},
    ],
)
def test_what_the_policy_forbids_is_not_done(rules: dict[str, Any]) -> None:
    assert ended(lost(instance("late", age_s=900), rules=rules)) == []


def test_protection_is_respected_where_the_policy_says_so() -> None:
    late = instance("late", age_s=900, protected=True)
    assert ended(lost(late)) == ["i-late"]
    assert ended(lost(late, rules={"scale_in": {**ALL_AT_ONCE, "respect_protection": True}})) == []


def test_one_whose_node_was_deleted_has_the_time_anew() -> None:
    gone = NodeMemory(node="late", first_seen=YESTERDAY, last_seen=ago(899), instance_id="i-late")
    assert ended(lost(instance("late", age_s=9000), memory=Memory(nodes=(gone,)))) == []


def test_where_most_instances_are_no_nodes_it_is_our_view_that_is_wrong() -> None:
    """The kubeconfig may lead to another cluster."""
    late = [instance(f"late{i}", age_s=900) for i in range(4)]
    plan = lost(*late, max_size=20)
    assert (ended(plan), "never_joined" in warned(plan)) == ([], True)
    [text] = [one.text for one in plan.warnings if one.code == "never_joined"]
    assert "4 instances run and are no nodes, more than 45 % of all: none is ended" in text
    assert len(ended(lost(*late[:3]))) == 3


def test_in_a_region_that_does_not_answer_nothing_is_ended() -> None:
    n1 = node("n1")
    late = group("g", nodes=[n1], instances=[instance("late", age_s=9000)])
    assert removed(plan_for(n1, pod(cpu="3", node="n1"), late, silent=["us-east-1"], rules=policy(scale_in=ALL_AT_ONCE))) == []
