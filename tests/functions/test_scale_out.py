"""Scale out: desired is raised once, from what the plan saw, and never lowered."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from spillway.aws import clients
from spillway.aws.scaling import group as groups
from spillway.aws.scaling import raising
from spillway.aws.table import leases, requests, settings
from spillway.errors import AwsUnavailable, EventError, LeaseHeld, NotFound, PlanStale, Stopped
from tests.workflow.world import HOME, WEST, World, fall, grow, open_world


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


def scale_out(world: World, *steps: int, region: str = HOME) -> Any:
    return world.call("scale_out", region=region, steps=list(steps))


@pytest.mark.feature("EX-02")
def test_raises_a_group_from_what_the_plan_saw(world: World) -> None:
    world.group(desired=1)
    world.plan(grow())

    assert scale_out(world, 1) == {"raised": 2, "spill": []}
    assert world.desired() == 3
    asked = requests.get(world.table, "p1#1#0")
    assert asked is not None
    assert (asked.state, asked.from_desired, asked.to_desired, asked.nodes) == ("open", 1, 3, 2)
    assert list(asked.before) == world.members()[:1]


@pytest.mark.feature("EX-01")
def test_a_second_delivery_raises_nothing(world: World) -> None:
    world.group(desired=1)
    world.plan(grow())

    assert [scale_out(world, 1)["raised"] for _ in range(3)] == [2, 0, 0]
    assert world.desired() == 3


@pytest.mark.feature("EX-02")
def test_writes_nothing_when_somebody_else_raised_the_group(world: World) -> None:
    """FC-35: an absolute value from an old read would end a healthy node."""
    world.group(desired=1)
    world.plan(grow())
    world.set_desired(4)

    assert scale_out(world, 1) == {"raised": 0, "spill": []}
    assert world.desired() == 4
    assert world.outcomes() == [(1, 0, "changed")]
    assert world.requests() == [("p1#1#0", "changed", 2, 0)]


@pytest.mark.feature("EX-02")
def test_what_somebody_else_raised_to_the_same_size_is_not_taken_for_ours(world: World) -> None:
    world.group(desired=1)
    world.plan(grow())
    world.set_desired(3)

    scale_out(world, 1)
    assert world.outcomes() == [(1, 0, "changed")]


@pytest.mark.feature("EX-02")
@pytest.mark.parametrize("second_saw", [1, 3], ids=["both from the same size", "one after the other"])
def test_two_steps_on_one_group_add_up(world: World, second_saw: int) -> None:
    world.group(desired=1)
    world.plan(grow(1), grow(2, from_desired=second_saw, to_desired=second_saw + 3))

    assert scale_out(world, 1, 2)["raised"] == 5
    assert world.desired() == 6
    assert scale_out(world, 1, 2)["raised"] == 0


@pytest.mark.feature("SO-22")
def test_what_goes_beyond_max_goes_to_the_fallback(world: World) -> None:
    world.group(desired=1, high=2)
    world.plan(grow(to_desired=4, fallbacks=(fall(WEST, "b", nodes=6),)))

    assert scale_out(world, 1) == {"raised": 1, "spill": [{"region": WEST, "requests": ["p1#1#1"]}]}
    assert world.desired() == 2
    rest = requests.get(world.table, "p1#1#1")
    assert rest is not None
    assert (rest.state, rest.group, rest.nodes) == ("planned", "b", 4)  # two nodes of a are four of b


@pytest.mark.feature("SO-22")
def test_the_policys_max_holds_too(world: World) -> None:
    world.group(desired=1)
    world.policy(groups={"a": {"max": 2}})
    world.plan(grow(fallbacks=()))

    scale_out(world, 1)
    assert world.desired() == 2
    assert world.outcomes() == [(1, 1, "unserved")]


@pytest.mark.feature("EX-05")
def test_a_gang_moves_whole(world: World) -> None:
    world.group(desired=1, high=2)
    world.plan(grow(gang=True, fallbacks=(fall(WEST, "b", nodes=2),)))

    assert scale_out(world, 1)["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]
    assert world.desired() == 1
    assert world.outcomes() == [(1, 0, "refused")]


@pytest.mark.feature("SO-22")
def test_a_fallback_adds_to_whatever_its_group_has_by_now(world: World) -> None:
    world.group(desired=1, high=1)
    world.group("b", WEST, desired=3)
    world.plan(grow(fallbacks=(fall(WEST, "b"),)))
    spill = scale_out(world, 1)["spill"]

    assert world.call("scale_out", **spill[0])["raised"] == 2
    assert world.desired("b", WEST) == 5
    assert world.call("scale_out", **spill[0])["raised"] == 0


@pytest.mark.feature("EX-01")
def test_a_stale_plan_raises_nothing(world: World) -> None:
    world.group(desired=1)
    world.plan(grow())
    world.clock.pass_s(600)

    with pytest.raises(PlanStale, match="p1 is 600 s old"):
        scale_out(world, 1)
    assert world.desired() == 1
    assert world.outcomes() == [(1, 0, "changed")]


def test_a_step_that_was_only_written_down_is_closed_with_its_stale_plan(world: World) -> None:
    world.group(desired=1)
    raising.plan_requests(world.table, world.plan(grow()))
    world.clock.pass_s(600)

    with pytest.raises(PlanStale):
        scale_out(world, 1)
    assert world.desired() == 1
    assert world.requests() == [("p1#1#0", "changed", 2, 0)]
    assert world.outcomes() == [(1, 0, "changed")]


def test_a_step_that_was_written_down_is_raised_once(world: World) -> None:
    world.group(desired=1)
    raising.plan_requests(world.table, world.plan(grow()))

    assert [scale_out(world, 1)["raised"], scale_out(world, 1)["raised"]] == [2, 0]
    assert world.desired() == 3


def test_a_step_that_was_begun_is_finished_however_old_the_plan_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.group(desired=1)
    world.plan(grow())
    with monkeypatch.context() as patch:
        patch.setattr(groups, "set_desired", killed)
        with pytest.raises(RuntimeError):
            scale_out(world, 1)
    world.clock.pass_s(600)

    assert scale_out(world, 1)["raised"] == 2
    assert world.desired() == 3


@pytest.mark.feature("EX-13")
@pytest.mark.parametrize("mode", ["off", "dry_run", "scale_in_only"])
def test_a_mode_that_forbids_it_raises_nothing(world: World, mode: str) -> None:
    world.group(desired=1)
    world.plan(grow())
    world.policy(mode=mode)

    with pytest.raises(Stopped, match=mode):
        scale_out(world, 1)
    assert world.desired() == 1


@pytest.mark.feature("EX-13")
def test_the_switch_stops_it_and_names_who_threw_it(world: World) -> None:
    world.group(desired=1)
    world.plan(grow())
    settings.stop(world.table, by="ann", reason="incident 7")

    with pytest.raises(Stopped, match="ann threw the switch"):
        scale_out(world, 1)
    assert world.desired() == 1


def test_waits_for_the_lease_of_the_group_and_raises_the_others_meanwhile(world: World) -> None:
    world.group("a", desired=1)
    world.group("b", desired=1)
    world.plan(grow(1, "a"), grow(2, "b"))

    with leases.group(world.table, HOME, "a", "p0#1#0"), pytest.raises(LeaseHeld, match="us-east-1/a"):
        scale_out(world, 1, 2)
    assert (world.desired("a"), world.desired("b")) == (1, 3)
    assert scale_out(world, 1, 2)["raised"] == 2
    assert (world.desired("a"), world.desired("b")) == (3, 3)


def test_a_group_that_is_gone_sends_its_demand_on(world: World) -> None:
    world.plan(grow(fallbacks=(fall(WEST, "b"),)))

    assert scale_out(world, 1)["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]
    assert world.outcomes() == [(1, 0, "refused")]


def test_a_step_that_only_uncordons_is_done(world: World) -> None:
    world.group(desired=1)
    world.plan(grow(to_desired=1, uncordon=("n1",)))

    assert scale_out(world, 1) == {"raised": 0, "spill": []}
    assert world.outcomes() == [(1, 0, "done")]


def killed(*args: object, **fields: object) -> None:
    raise RuntimeError("the runtime was killed")


def after(call: Callable[..., Any]) -> Callable[..., Any]:
    """Does its work, and the caller never hears of it."""

    def then_killed(*args: Any, **fields: Any) -> Any:
        call(*args, **fields)
        raise RuntimeError("the runtime was killed")

    return then_killed


CALLS = [
    (requests, "create"), (requests, "advance"), (groups, "read"), (groups, "set_desired"), (leases, "release"),
]  # fmt: skip


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize(("module", "name"), CALLS, ids=[name for _, name in CALLS])
def test_a_crash_around_any_call_raises_once_in_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, nth: int, when: str
) -> None:
    world.group("a", desired=1)
    world.group("b", desired=1)
    world.plan(grow(1, "a"), grow(2, "b"))
    real, calls = getattr(module, name), iter(range(1, 99))

    def dies(*args: Any, **fields: Any) -> Any:
        if next(calls) != nth:
            return real(*args, **fields)
        return killed() if when == "before" else after(real)(*args, **fields)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, dies)
        with pytest.raises(RuntimeError):
            scale_out(world, 1, 2)
    world.clock.pass_s(61)  # the dead one's lease

    scale_out(world, 1, 2)
    assert (world.desired("a"), world.desired("b")) == (3, 3)
    assert world.requests() == [("p1#1#0", "open", 2, 0), ("p1#2#0", "open", 2, 0)]
    assert world.outcomes() == []


@pytest.mark.feature("EX-02")
def test_a_raise_that_nobody_can_tell_any_more_is_closed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.group(desired=1)
    world.plan(grow())
    with monkeypatch.context() as patch:
        patch.setattr(groups, "set_desired", after(groups.set_desired))
        with pytest.raises(RuntimeError):
            scale_out(world, 1)
    world.set_desired(5)
    world.clock.pass_s(61)

    assert scale_out(world, 1)["raised"] == 0
    assert (world.desired(), world.outcomes()) == (5, [(1, 0, "changed")])


def test_throttling_is_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.group(desired=1)
    world.plan(grow())
    client = clients.client("autoscaling", HOME)
    error = ClientError({"Error": {"Code": "Throttling", "Message": "Rate exceeded"}}, "SetDesiredCapacity")
    with monkeypatch.context() as patch:
        patch.setattr(client, "set_desired_capacity", lambda **_: (_ for _ in ()).throw(error))
        with pytest.raises(AwsUnavailable, match="Rate exceeded"):
            scale_out(world, 1)

    assert scale_out(world, 1)["raised"] == 2
    assert world.desired() == 3


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"region": HOME}, "steps or requests"),
        ({"region": HOME, "steps": [1], "requests": ["p1#1#1"]}, "steps or requests"),
        ({"region": "", "steps": ["x"]}, "steps.0"),
    ],
)
def test_a_wrong_event_names_its_fields(world: World, event: dict[str, Any], field: str) -> None:
    with pytest.raises(EventError, match=field):
        world.call("scale_out", **event)


def test_an_unknown_plan_step_or_request_is_not_found(world: World) -> None:
    with pytest.raises(NotFound, match="p1"):
        scale_out(world, 1)
    world.plan(grow())
    with pytest.raises(NotFound, match="p1#7"):
        scale_out(world, 7)
    with pytest.raises(NotFound, match="us-west-2"):
        world.call("scale_out", region=WEST, requests=["p1#1#1"])
