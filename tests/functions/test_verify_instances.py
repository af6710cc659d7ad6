"""Verify: what came is counted for who asked, what was refused goes back and on, and nothing that lives is ended."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from spillway.aws import clients, workflow
from spillway.aws import groups as activities
from spillway.aws.scaling import group as groups
from spillway.aws.scaling import raising
from spillway.aws.scaling.group import Rejected
from spillway.aws.table import leases, memory, outcomes, requests, settings, waits
from spillway.errors import EventError, Stopped
from spillway.model.memory import OpenRequest, RequestState, Unavailable
from spillway.planner.unavailable import BREAKER
from tests.workflow.world import HOME, NOW, REFUSE_S, WEST, World, fall, grow, open_world


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


def check(world: World, region: str = HOME, plan_id: str = "p1") -> Any:
    return world.call("verify_instances", action="check", region=region, plan_id=plan_id)


def raised(world: World, **fields: Any) -> None:
    """Plan p1, whose step raises a from 1 to 4 and falls back to b in the west."""
    world.group("a", desired=1)
    world.group("b", WEST)
    world.plan(grow(**{"to_desired": 4, "fallbacks": (fall(WEST, "b", nodes=6),), **fields}))
    world.call("scale_out", region=HOME, steps=[1])


def get(world: World, id_: str = "p1#1#0") -> OpenRequest:
    found = requests.get(world.table, id_)
    assert found is not None
    return found


def ready(world: World, id_: str = "p1#1#0") -> None:
    """What verify_nodes does when all nodes that were not refused are Ready."""
    before = get(world, id_)
    count = before.nodes - before.missing
    requests.advance(world.table, before, msgspec.structs.replace(before, ready=count, state=RequestState.READY))


@pytest.mark.feature("EX-04")
def test_new_instances_are_counted_for_the_request_from_the_moment_they_are_pending(world: World) -> None:
    raised(world)

    seen = check(world)
    assert (seen["open"], seen["unready"], seen["spill"], seen["done"]) == (1, 3, [], False)
    assert set(get(world).instances) == set(world.members()) - set(get(world).before)


@pytest.mark.feature("EX-04")
def test_a_region_is_done_when_every_node_is_ready(world: World) -> None:
    raised(world)
    check(world)
    ready(world)

    assert check(world) == {"open": 0, "unready": 0, "spill": [], "done": True, "poll_s": 15, "news": 0}


@pytest.mark.feature("EX-12")
def test_looks_less_often_when_nothing_came_for_five_minutes(world: World) -> None:
    raised(world)
    assert check(world)["poll_s"] == 15
    world.clock.pass_s(301)
    assert check(world)["poll_s"] == 30
    world.clock.pass_s(1500)
    assert check(world)["poll_s"] == 60  # of a plan that is half an hour old


def test_a_neighbour_waits_as_long_as_demand_may_still_spill_into_it(world: World) -> None:
    world.group("a", desired=1)
    world.plan(grow(fallbacks=(fall(WEST, "b"),)))

    assert not check(world, WEST)["done"]  # the step is not even begun
    world.call("scale_out", region=HOME, steps=[1])
    assert not check(world, WEST)["done"]


@pytest.mark.feature("SO-22")
def test_what_aws_refuses_is_given_back_and_goes_to_the_fallback(world: World) -> None:
    """FC-46: the rest of the demand is not dropped."""
    world.capacity(HOME, 2)  # one for the member that the group has
    raised(world)
    world.clock.pass_s(REFUSE_S + 1)

    seen = check(world)
    assert seen["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]
    assert world.desired() == 2  # what it had, and what came
    assert len(world.members()) == 2
    assert get(world).missing == 2
    assert get(world).state == RequestState.OPEN
    assert get(world, "p1#1#1").nodes == 4  # six of b for three of a
    assert check(world)["spill"] == []


@pytest.mark.feature("EX-05")
def test_a_region_that_has_nothing_hands_all_of_it_to_the_next(world: World) -> None:
    world.group("a", desired=1)
    world.group("b", WEST)
    world.capacity(HOME, 0)
    world.plan(grow(to_desired=4, fallbacks=(fall(WEST, "b", nodes=3),)))
    world.call("scale_out", region=HOME, steps=[1])
    world.clock.pass_s(REFUSE_S + 1)
    spill = check(world)["spill"]

    assert world.desired() == 1
    assert world.outcomes() == [(1, 0, "refused")]
    world.call("scale_out", **spill[0])
    assert world.desired("b", WEST) == 3
    assert check(world, WEST)["unready"] == 3


@pytest.mark.feature("EX-05")
def test_when_every_fallback_is_refused_the_demand_is_told_unserved(world: World) -> None:
    world.capacity(HOME, 1)  # the member that the group has
    world.capacity(WEST, 0)
    raised(world)
    world.clock.pass_s(REFUSE_S + 1)
    world.call("scale_out", **check(world)["spill"][0])
    world.clock.pass_s(REFUSE_S + 1)

    assert check(world, WEST) == {"open": 0, "unready": 0, "spill": [], "done": True, "poll_s": 15, "news": 0}
    assert world.outcomes() == [(1, 0, "refused"), (1, 1, "unserved")]
    assert (world.desired(), world.desired("b", WEST)) == (1, 0)


@pytest.mark.feature("EX-04")
def test_the_rest_that_nobody_serves_is_told_beside_what_came(world: World) -> None:
    world.capacity(HOME, 3)
    raised(world, fallbacks=())
    world.clock.pass_s(REFUSE_S + 1)
    check(world)
    ready(world)

    assert world.requests() == [("p1#1#0", "ready", 3, 1)]
    assert world.outcomes() == [(1, 1, "unserved")]  # hop 0 is told done by verify_nodes


@pytest.mark.feature("EX-05")
def test_a_gang_that_lost_one_moves_whole_and_what_came_stays_alive(world: World) -> None:
    world.capacity(HOME, 3)
    raised(world, gang=True)
    world.clock.pass_s(REFUSE_S + 1)

    assert check(world)["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]
    assert get(world, "p1#1#1").nodes == 6
    assert (world.desired(), len(world.members())) == (3, 3)


def test_the_refusal_is_remembered_for_the_plans_to_come(world: World) -> None:
    world.capacity(HOME, 1)
    raised(world)
    world.clock.pass_s(REFUSE_S + 1)
    check(world)

    (refusal,) = (one for one in memory.unavailable(world.table) if one.scope != BREAKER)
    assert (refusal.scope, refusal.key, refusal.times) == ("zone", "us-east-1/a/us-east-1a", 1)
    assert refusal.reason.startswith("zonal_capacity: We currently do not have sufficient m5.large capacity")


@pytest.mark.feature("SO-22")
def test_a_fallback_that_was_refused_of_late_is_passed_over(world: World) -> None:
    world.capacity(HOME, 1)
    world.fleet((WEST, "b"), (WEST, "c"))
    refusal = Unavailable(scope="group", key="us-west-2/b", since=NOW, until=NOW + timedelta(minutes=5))
    memory.mark_unavailable(world.table, refusal)
    raised(world, fallbacks=(fall(WEST, "b", nodes=3), fall(WEST, "c", nodes=3)))
    world.clock.pass_s(REFUSE_S + 1)

    check(world)
    assert get(world, "p1#1#1").group == "c"


def test_a_group_of_several_zones_is_given_a_minute_to_find_the_next_one(world: World) -> None:
    world.group("a", desired=1, zones=2)
    world.capacity(HOME, 0)
    world.plan(grow())
    world.call("scale_out", region=HOME, steps=[1])
    world.clock.pass_s(REFUSE_S + 1)
    assert check(world)["open"] == 1

    world.clock.pass_s(60)
    assert (check(world)["open"], world.desired()) == (0, 1)


def test_a_timed_out_request_is_taken_back_but_for_what_came(world: World) -> None:
    """FC-34, variant 2: one of four has come; three are taken back, the demand goes on."""
    world.group("a", desired=1)
    world.group("b", WEST)
    world.policy(scale_out={"provision_time_s": 120})
    world.plan(grow(to_desired=5, fallbacks=(fall(WEST, "b", nodes=4),)))
    world.capacity(HOME, 1)
    world.launches.timing.refuse_s = 3600  # of the others nothing is heard
    world.call("scale_out", region=HOME, steps=[1])
    assert check(world)["unready"] == 1
    joined = get(world)
    requests.advance(world.table, joined, msgspec.structs.replace(joined, ready=1))
    world.clock.pass_s(121)

    seen = check(world)
    assert world.desired() == 2
    assert world.requests() == [("p1#1#0", "ready", 4, 3), ("p1#1#1", "planned", 3, 0)]
    assert seen["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]


def test_a_group_that_does_not_grow_without_a_word_is_passed_over_after_its_time(world: World) -> None:
    world.group("a", desired=1)
    world.policy(scale_out={"provision_time_s": 120})
    world.plan(grow())
    world.capacity(HOME, 0)
    world.launches.timing.refuse_s = 3600
    world.call("scale_out", region=HOME, steps=[1])
    world.clock.pass_s(121)
    check(world)

    assert world.desired() == 1
    (refusal,) = (one for one in memory.unavailable(world.table) if one.scope != BREAKER)
    assert (refusal.key, refusal.reason) == ("us-east-1/a", "late: nothing came within 120 s")


@pytest.mark.feature("EX-04")
def test_instances_that_never_become_nodes_are_kept_alive_and_their_demand_goes_on(world: World) -> None:
    raised(world)
    world.clock.pass_s(901)

    assert check(world)["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]
    assert (world.desired(), len(world.members())) == (4, 4)


def test_closes_the_request_even_when_lowering_fails(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """FC-34, variant 3: the gap is nobody's then, and the next plan gives it back."""
    world.capacity(HOME, 1)
    raised(world)
    world.clock.pass_s(REFUSE_S + 1)
    monkeypatch.setattr(groups, "set_desired", refuses)

    assert check(world)["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]
    assert world.requests()[0] == ("p1#1#0", "refused", 3, 3)
    assert [one.scope for one in memory.unavailable(world.table) if one.scope != BREAKER] == ["zone"]


def test_gives_back_its_own_share_and_leaves_that_of_another_plan(world: World) -> None:
    world.capacity(HOME, 1)
    raised(world)
    world.set_desired(6)  # somebody else wants two more
    world.clock.pass_s(REFUSE_S + 1)
    check(world)

    assert world.desired() == 3


def test_never_lowers_below_min(world: World) -> None:
    world.group("a", low=3, desired=3)
    world.capacity(HOME, 0)
    for instance_id in world.members()[1:]:
        clients.client("ec2", HOME).terminate_instances(InstanceIds=[instance_id])
    world.clock.pass_s(REFUSE_S + 40)
    world.capacity(HOME, 0)
    world.plan(grow(from_desired=3, to_desired=4))
    world.call("scale_out", region=HOME, steps=[1])
    world.clock.pass_s(REFUSE_S + 1)
    check(world)

    assert world.desired() == 3


def test_an_instance_counts_for_one_request_only(world: World) -> None:
    world.group("a", desired=1)
    world.plan(grow(1), grow(2), plan_id="p1")
    world.call("scale_out", region=HOME, steps=[1, 2])
    check(world)

    first, second = get(world, "p1#1#0"), get(world, "p1#2#0")
    assert (len(first.instances), len(second.instances)) == (2, 2)
    assert not set(first.instances) & set(second.instances)


def test_an_instance_that_died_while_it_started_gives_its_place_to_its_successor(world: World) -> None:
    raised(world)
    check(world)
    first = get(world).instances[0]
    clients.client("ec2", HOME).terminate_instances(InstanceIds=[first])
    check(world)

    assert first not in get(world).instances
    assert len(get(world).instances) == 3


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("module", "name"), [(requests, "advance"), (groups, "set_desired"), (memory, "mark_unavailable"), (leases, "release")]
)
def test_a_crash_around_any_call_gives_back_once(
    world: World, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, when: str
) -> None:
    world.capacity(HOME, 3)
    raised(world)
    check(world)
    world.clock.pass_s(REFUSE_S + 1)
    real = getattr(module, name)

    def dies(*args: Any, **fields: Any) -> Any:
        if when == "after":
            real(*args, **fields)
        raise RuntimeError("the runtime was killed")

    with monkeypatch.context() as patch:
        patch.setattr(module, name, dies)
        with pytest.raises(RuntimeError):
            check(world)
    world.clock.pass_s(61)
    check(world)

    assert world.requests() == [("p1#1#0", "open", 3, 1), ("p1#1#1", "planned", 2, 0)]
    # When it died between the record and the write, the gap is nobody's and the next plan's to give back.
    assert world.desired() == (4 if (name, when) in (("set_desired", "before"), ("advance", "after")) else 3)


def test_a_group_that_somebody_writes_to_is_judged_at_the_next_look(world: World) -> None:
    world.capacity(HOME, 1)
    raised(world)
    world.clock.pass_s(REFUSE_S + 1)

    with leases.group(world.table, HOME, "a", "p0#1#0"):
        assert check(world)["open"] == 1
    assert world.desired() == 4
    assert check(world)["open"] == 0


def test_a_request_that_a_dead_task_left_is_raised_by_its_regions_own_loop(world: World) -> None:
    world.capacity(HOME, 1)
    raised(world)
    world.clock.pass_s(REFUSE_S + 1)
    check(world)  # its answer never came to the workflow
    assert check(world, WEST)["spill"] == []
    world.clock.pass_s(60)

    assert check(world, WEST)["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]


def test_a_request_that_nobody_could_raise_goes_on_though_its_region_never_answers(world: World) -> None:
    world.group("b", WEST)
    raising.plan_requests(world.table, world.plan(grow(fallbacks=(fall(WEST, "b"),))))
    world.clock.pass_s(119)
    assert check(world, WEST)["spill"] == []
    world.clock.pass_s(1)

    seen = check(world, WEST)  # the loop of its own region is busy with a task that hangs
    assert seen["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]
    assert world.requests() == [("p1#1#0", "refused", 2, 2), ("p1#1#1", "planned", 2, 0)]
    (told,) = outcomes.of_plan(world.table, "p1")
    assert (told.status, told.reason) == ("refused", "nobody could raise us-east-1/a within 120 s")
    world.call("scale_out", **seen["spill"][0])
    assert world.desired("b", WEST) == 2


def test_a_request_that_nobody_could_raise_is_unserved_without_a_fallback(world: World) -> None:
    world.capacity(HOME, 1)
    raised(world)
    world.clock.pass_s(REFUSE_S + 1)
    check(world)
    world.clock.pass_s(120)

    assert check(world, WEST)["done"]
    assert world.outcomes() == [(1, 0, "refused"), (1, 1, "unserved")]


def test_a_request_that_may_have_been_raised_is_not_handed_on_and_closed_after_its_time(world: World) -> None:
    raised(world)
    before = get(world)
    requests.advance(world.table, before, msgspec.structs.replace(before, state=RequestState.PLANNED))  # died at the write
    world.clock.pass_s(600)
    assert [request["requests"] for request in check(world)["spill"]] == [["p1#1#0"]]  # to be settled, in its own group
    world.clock.pass_s(301)

    assert check(world)["done"]
    assert world.outcomes() == [(1, 0, "failed")]


def test_a_step_whose_task_always_failed_is_told_and_waited_for_no_longer(world: World) -> None:
    world.plan(grow(fallbacks=(fall(WEST, "b"),)))
    assert not check(world, WEST)["done"]
    world.clock.pass_s(481)

    assert check(world, WEST)["done"]
    assert world.outcomes() == [(1, 0, "failed")]


def test_a_group_that_is_gone_sends_its_demand_on(world: World) -> None:
    raised(world)
    clients.client("autoscaling", HOME).delete_auto_scaling_group(AutoScalingGroupName="a", ForceDelete=True)

    assert check(world)["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]


def test_many_groups_are_read_with_one_list_of_activities(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 8):
        world.group(f"g{number}")
    world.plan(*(grow(n, f"g{n}", from_desired=0, to_desired=1) for n in range(1, 8)))
    world.call("scale_out", region=HOME, steps=list(range(1, 8)))
    asked: list[str | None] = []
    real = activities.activities

    def counted(region: str, group: str | None = None, **fields: Any) -> Any:
        asked.append(group)
        return real(region, group, **fields)

    monkeypatch.setattr(activities, "activities", counted)
    assert check(world)["unready"] == 7
    assert asked == [None]


@pytest.mark.feature("EX-13")
def test_the_switch_stops_the_loop(world: World) -> None:
    raised(world)
    settings.stop(world.table, by="ann", reason="")

    with pytest.raises(Stopped):
        check(world)


class TestWaiting:
    def wait(self, world: World, news: int) -> Any:
        return world.call("verify_instances", action="wait", region=HOME, token="token", news=news)

    @pytest.mark.feature("EV-05")
    def test_keeps_the_token_while_there_is_no_news(self, world: World) -> None:
        assert self.wait(world, 0) == {"waiting": True}
        assert list(waits.waiting(world.table, HOME)) == [("p1", "token")]

    @pytest.mark.feature("EV-05")
    def test_news_between_the_look_and_the_wait_end_it_at_once(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        woken: list[str] = []
        monkeypatch.setattr(workflow, "wake", woken.append)
        waits.count_news(world.table, HOME)

        assert self.wait(world, 0) == {"waiting": False}
        assert woken == ["token"]
        assert list(waits.waiting(world.table, HOME)) == []


@pytest.mark.parametrize(
    ("event", "field"),
    [({"action": "look"}, "action"), ({"action": "wait", "region": HOME}, "token"), ({"action": "check"}, "region")],
)
def test_a_wrong_event_names_its_fields(world: World, event: dict[str, Any], field: str) -> None:
    with pytest.raises(EventError, match=field):
        world.call("verify_instances", **event)


def refuses(*args: object) -> None:
    raise Rejected("not now")
