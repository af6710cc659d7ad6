"""A run that dies between ending an instance and deleting its Node object leaves a node that nobody else deletes."""

from typing import Any

import pytest

from spillway.model.memory import Drain, Memory
from spillway.model.plan import Why
from tests.builders import ago, group, kept, node, plan_for, policy

LEFT: dict[str, Any] = {"ready": False, "unschedulable": True, "cordon": "dead-plan"}


@pytest.mark.feature("SI-15")
def test_the_node_of_an_instance_that_no_group_has_is_taken_away() -> None:
    plan = plan_for(node("n1", **LEFT), group("g"))
    (step,) = plan.scale_in
    assert (step.node, step.instance_id, step.region, step.group, step.why) == ("n1", "i-n1", "us-east-1", "", Why.VANISHED)
    assert "dead-plan" in step.reason.text


@pytest.mark.feature("SI-15")
@pytest.mark.parametrize(
    "fields", [{"cordon": ""}, {"ready": True}, {"ec2": False}, {"zone": "eu-west-1a"}, {"deleting": True}]
)
def test_a_node_that_is_not_surely_ours_and_gone_stays(fields: dict[str, Any]) -> None:
    plan = plan_for(node("n1", **{**LEFT, **fields}), group("g"))
    assert not plan.scale_in
    assert "n1" in kept(plan)


def test_a_drain_under_way_takes_its_own_node_away() -> None:
    drains = Memory(drains=(Drain(node="n1", plan_id="p", step=1, since=ago(60)),))
    assert not plan_for(node("n1", **LEFT), group("g"), memory=drains).scale_in


def test_nothing_is_taken_away_where_the_policy_forbids_scale_in() -> None:
    assert not plan_for(node("n1", **LEFT), group("g"), rules=policy(mode="scale_out_only")).scale_in
