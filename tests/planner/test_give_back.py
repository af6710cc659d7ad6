"""Desired that nothing will fill is lowered to what is there."""

import msgspec
import pytest

from spillway.model.memory import Memory
from tests.builders import ago, desired, group, node, open_request, plan_for, pod, policy, refusal

THREE = [node(f"n{i}") for i in range(3)]


def test_what_aws_refused_is_given_back_and_ends_no_instance() -> None:
    plan = plan_for(*THREE, group("p5", nodes=THREE, desired=5, failures=(refusal(1800),)))
    [step] = plan.give_back
    assert (step.from_desired, step.to_desired, plan.scale_in) == (5, 3, ())
    assert "no capacity" in step.reason.text


def test_it_is_never_lowered_below_a_min() -> None:
    failing = {"desired": 5, "failures": (refusal(60),)}
    assert plan_for(group("g", min_size=4, **failing)).give_back[0].to_desired == 4
    assert plan_for(group("g", **failing), rules=policy(groups={"g": {"min": 3}})).give_back[0].to_desired == 3
    assert not plan_for(group("g", min_size=5, **failing)).give_back


@pytest.mark.feature("SO-03")
def test_what_an_open_request_owns_is_left_to_its_owner() -> None:
    plan = plan_for(group("g", desired=5, failures=(refusal(30),)), memory=Memory(requests=(open_request(nodes=2),)))
    [step] = plan.give_back
    assert (step.from_desired, step.to_desired) == (5, 2)


def test_what_an_open_request_owns_is_left_to_its_owner_past_the_provision_time_too_and_is_no_capacity() -> None:
    late = Memory(requests=(open_request(nodes=2, asked_at=ago(1000)),))
    plan = plan_for(pod(cpu="3"), group("g", desired=2), group("other", price=9.0), memory=late)
    assert not plan.give_back
    assert desired(plan) == {"other": 1}, "neither room on the two nor one node more of that group"
    [step] = plan_for(group("g", desired=5, failures=(refusal(30),)), memory=late).give_back
    assert (step.from_desired, step.to_desired) == (5, 2), "what is beyond it is nobody's"


def test_what_is_late_holds_no_min() -> None:
    n1 = node("n1")
    late = Memory(requests=(open_request(nodes=2, asked_at=ago(1000)),))
    plan = plan_for(n1, group("g", nodes=[n1], desired=3, min_size=1), memory=late, idle_since=ago(3600))
    assert not plan.scale_in


def test_a_raise_by_hand_is_coming_beside_a_request_that_is_late() -> None:
    late = Memory(requests=(open_request(nodes=2, asked_at=ago(1000)),))
    plan = plan_for(pod(cpu="3", count=4), group("g", desired=5), memory=late)
    assert not plan.give_back
    assert (plan.summary.pods_on_coming_nodes, plan.summary.pods_unserved) == (3, 1)


def test_a_gap_that_may_still_close_stays() -> None:
    assert not plan_for(group("g", desired=5, launching=5, launching_since=ago(60))).give_back
    assert not plan_for(group("g", desired=5)).give_back


def test_a_raise_that_began_after_a_refusal_is_not_undone_by_it() -> None:
    refused = {"desired": 5, "launching": 5, "failures": (refusal(600),)}
    assert not plan_for(group("g", launching_since=ago(60), **refused)).give_back
    assert plan_for(group("g", launching_since=ago(700), **refused)).give_back, "the one that was refused"
    assert plan_for(group("g", launching_since=None, **refused)).give_back, "nobody knows when it began"


@pytest.mark.parametrize("fields", [{"launching": 2, "launching_since": ago(901)}, {"suspended": ("Launch",)}])
def test_a_gap_that_nobody_closes_goes(fields: dict[str, object]) -> None:
    assert plan_for(group("g", desired=2, **fields)).give_back[0].to_desired == 0  # type: ignore[arg-type]


def test_an_orphaned_request_is_closed_when_its_time_is_over() -> None:
    plan = plan_for(group("g", desired=2), memory=Memory(requests=(open_request(orphan=True, asked_at=ago(901)),)))
    assert plan.give_back[0].to_desired == 0
    young = plan_for(group("g", desired=2), memory=Memory(requests=(open_request(orphan=True),)))
    assert not young.give_back


def test_a_success_after_the_refusal_disproves_it() -> None:
    new = node("new", age_s=30)
    plan = plan_for(new, group("g", nodes=[new], desired=2, failures=(refusal(300),)))
    assert not plan.give_back


def test_a_silent_region_and_an_ignored_group_are_left_alone() -> None:
    failing = group("g", desired=5, failures=(refusal(60),))
    assert not plan_for(failing, silent=["us-east-1"]).give_back
    assert not plan_for(failing, rules=policy(groups={"g": {"ignore": True}})).give_back
    assert not plan_for(failing, rules=policy(mode="off")).give_back


def test_a_group_that_gives_back_is_not_raised_in_the_same_plan() -> None:
    plan = plan_for(pod(cpu="3"), group("g", desired=5, launching=5, launching_since=ago(3000)), group("other", price=9.0))
    assert desired(plan) == {"other": 1}
    assert [step.group for step in plan.give_back] == ["g"]


@pytest.mark.feature("FS-02")
def test_desired_that_counts_weights_is_never_lowered_to_the_number_of_instances() -> None:
    """Two instances that weigh four each are all of desired 8; at desired 2 Auto Scaling would end one, pods and all."""
    nodes = [node("n1"), node("n2")]
    heavy = group("g", nodes=nodes, desired=8, failures=(refusal(),), weighted=True)

    plan = plan_for(*nodes, heavy, pod("new", cpu="3"))

    assert plan.give_back == ()
    assert plan.summary.pods_on_coming_nodes == 0
    assert plan_for(*nodes, msgspec.structs.replace(heavy, weighted=False)).give_back[0].to_desired == 2
