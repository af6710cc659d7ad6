"""Groups whose desired, min and max count units: nodes are asked for, counted and given back by what they weigh."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pytest

from spillway.model.fleet import Choice, Instance, NodeGroup
from spillway.model.memory import Memory, RequestState
from spillway.model.plan import Plan
from tests.builders import (
    ago,
    cluster,
    desired,
    group,
    instance,
    kept,
    node,
    open_request,
    places,
    plan_for,
    pod,
    policy,
    refusal,
    refusals,
    removed,
)

WEIGHTS = {"m5.xlarge": 2, "m5.2xlarge": 4}


def weighted(
    name: str = "g", *, weights: Mapping[str, int] = WEIGHTS, members: Iterable[Instance] = (), **fields: Any
) -> NodeGroup:
    """A group of m5.xlarge and m5.2xlarge; a node promises the less of both."""
    made = group(name, types=list(weights), instances=list(members), weighted=True, **{"max_size": 40, **fields})
    assert made.template is not None
    choices = tuple(Choice(instance_type=t, allocatable=made.template.allocatable, weight=w) for t, w in weights.items())
    return msgspec.structs.replace(made, template=msgspec.structs.replace(made.template, choices=choices))


def sizes(plan: Plan) -> list[tuple[int, int, int]]:
    return [(step.from_desired, step.to_desired, step.nodes) for step in plan.scale_out]


def member(name: str, weight: int = 2, **fields: Any) -> Instance:
    return instance(name, weight=weight, **fields)


@pytest.mark.feature("FS-02")
def test_each_node_is_asked_for_with_the_most_that_any_of_its_types_weighs() -> None:
    """So at least as many come, whichever Auto Scaling takes."""
    full = node("a"), pod("on-a", cpu="3", node="a"), weighted(desired=4, members=[member("a", 4)])
    assert sizes(plan_for(*full, pod(cpu="3", count=3))) == [(4, 16, 3)]


@pytest.mark.feature("SO-16")
@pytest.mark.parametrize(("high", "nodes"), [(12, 3), (11, 2), (3, 0)])
def test_max_counts_units_and_truncates_to_whole_nodes(high: int, nodes: int) -> None:
    plan = plan_for(pod(cpu="3", count=5), weighted(max_size=high))
    assert sum(step.nodes for step in plan.scale_out) == nodes
    assert plan.summary.pods_unserved == 5 - nodes
    assert refusals(plan) == {"g": "at_max"}


@pytest.mark.feature("SO-16")
def test_limits_count_nodes() -> None:
    plan = plan_for(pod(cpu="3", count=5), weighted(), rules=policy(scale_out={"limits": {"nodes": 2}}))
    assert sizes(plan) == [(0, 8, 2)]


@pytest.mark.feature("SO-25")
def test_a_group_below_its_min_gets_the_nodes_that_reach_it() -> None:
    assert sizes(plan_for(weighted(min_size=7, desired=2, members=[member("a")]))) == [(2, 10, 2)]


@pytest.mark.feature("SO-03")
def test_units_that_have_no_instance_yet_are_the_nodes_that_come_at_least() -> None:
    """Three units are missing: one m5.2xlarge would do."""
    seen = weighted(desired=5, members=[member("a")], launching=1, launching_since=ago(30))
    plan = plan_for(node("a"), seen, pod("x", cpu="3"), pod("y", cpu="3"), pod("z", cpu="3"))
    assert (plan.summary.pods_on_free_room, plan.summary.pods_on_coming_nodes, plan.summary.pods_on_new_nodes) == (1, 1, 1)


@pytest.mark.feature("SO-03")
def test_members_that_weigh_more_than_desired_leave_no_gap() -> None:
    heavy = weighted(desired=5, members=[member("a", 4), member("b", 4)], failures=(refusal(),))
    plan = plan_for(node("a"), node("b"), heavy)
    assert (plan.give_back, desired(plan)) == ((), {})


@pytest.mark.feature("SO-03")
@pytest.mark.parametrize(
    ("state", "age_s"), [(RequestState.PLANNED, 10), (RequestState.OPEN, 60)], ids=["about to be raised", "raised"]
)
def test_what_a_run_asked_for_is_coming_in_nodes(state: RequestState, age_s: float) -> None:
    """Two nodes of four units each."""
    has = 0 if state is RequestState.PLANNED else 8
    asked = open_request(from_desired=0, to_desired=8, nodes=2, state=state, asked_at=ago(age_s))
    pods = pod(cpu="3", count=3)
    plan = plan_for(weighted(desired=has), pods, memory=Memory(requests=(asked,)))
    assert (plan.summary.pods_on_coming_nodes, plan.summary.pods_on_new_nodes) == (2, 1)
    assert sizes(plan) == [(8, 12, 1)]
    assert set(places(plan, cluster(pods)).values()) == {"g#0", "g#1", "g#2"}


@pytest.mark.feature("SO-03")
def test_what_was_refused_of_a_raise_that_the_fleet_cannot_show_yet_does_not_come() -> None:
    asked = open_request(from_desired=0, to_desired=8, nodes=2, missing=1, asked_at=ago(-1))
    plan = plan_for(weighted(), pod(cpu="3", count=3), memory=Memory(requests=(asked,)))
    assert (plan.summary.pods_on_coming_nodes, sizes(plan)) == (1, [(4, 12, 2)])


@pytest.mark.feature("SO-03")
def test_what_was_only_written_down_counts_as_it_will_be_raised() -> None:
    asked = open_request(from_desired=0, to_desired=0, nodes=2, state=RequestState.PLANNED)
    plan = plan_for(weighted(), pod(cpu="3", count=3), memory=Memory(requests=(asked,)))
    assert sizes(plan) == [(8, 12, 1)]


@pytest.mark.feature("FS-02")
def test_units_that_were_refused_are_given_back_down_to_what_lives() -> None:
    stuck = weighted(desired=12, members=[member("a", 2), member("b", 4)], failures=(refusal(),))
    plan = plan_for(node("a"), node("b"), stuck, pod(cpu="30"))
    (step,) = plan.give_back
    assert (step.from_desired, step.to_desired) == (12, 6)
    assert step.reason.text.startswith("group g: 6 of desired 12 are not there and do not come")


@pytest.mark.feature("FS-02")
def test_the_share_of_an_open_request_is_not_given_back_by_the_plan() -> None:
    asked = open_request(from_desired=4, to_desired=12, nodes=2)
    stuck = weighted(desired=14, members=[member("a", 4)], failures=(refusal(),))
    (step,) = plan_for(node("a"), stuck, memory=Memory(requests=(asked,))).give_back
    assert (step.from_desired, step.to_desired) == (14, 12)


@pytest.mark.feature("FS-02")
def test_a_node_goes_only_if_what_it_weighs_leaves_the_min() -> None:
    """The min of 5 holds the heavy one; without the light one 6 are left."""
    nodes = [node("light"), node("heavy")]
    seen = weighted(desired=8, min_size=5, members=[member("light", 2), member("heavy", 6)])
    plan = plan_for(*nodes, seen, idle_since=ago(3600))
    assert (removed(plan), kept(plan)) == (["light"], {"heavy": "at_min"})


@pytest.mark.feature("SO-15")
def test_alike_groups_are_kept_even_in_nodes() -> None:
    full = [one for name in ("a", "b") for one in (node(name), pod(f"on-{name}", cpu="3", node=name))]
    light = weighted("light", weights={"m5.xlarge": 1}, desired=1, members=[member("a", 1)])
    heavy = weighted("heavy", weights={"m5.xlarge": 8}, desired=8, members=[member("b", 8)])
    plan = plan_for(*full, pod(cpu="3", count=4), light, heavy)
    assert {step.group: step.nodes for step in plan.scale_out} == {"light": 2, "heavy": 2}


@pytest.mark.feature("FS-02")
def test_a_group_whose_weights_nobody_knows_is_left_as_it_is_with_the_reason() -> None:
    unknown = group("g", weighted=True, desired=8, instances=[member("a", 1)], failures=(refusal(9000),), max_size=40)
    plan = plan_for(node("a"), unknown, pod("x", cpu="3"), pod("y", cpu="3"))
    assert (plan.scale_out, plan.give_back) == ((), ())
    assert refusals(plan) == {"g": "no_template"}
    assert "what its types weigh is not known" in plan.unserved[0].reasons[0].text
