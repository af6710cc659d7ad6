"""A group that was suspended, or is being deleted, since the plan was made: nothing is asked of it in vain."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from spillway.aws import clients
from spillway.aws.table import memory, outcomes, requests
from tests.workflow.world import HOME, WEST, World, fall, grow, leave, open_world

Suspend = Callable[[str], None]


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


@pytest.fixture
def suspend(world: World) -> Suspend:
    """Suspends a process of group a."""

    def suspend(process: str) -> None:
        clients.client("autoscaling", HOME).suspend_processes(AutoScalingGroupName="a", ScalingProcesses=[process])

    return suspend


def told(world: World, step: int = 1, hop: int = 0) -> tuple[str, str]:
    outcome = outcomes.get(world.table, "p1", step, hop)
    assert outcome is not None
    return outcome.status.value, outcome.reason


@pytest.mark.feature("SI-17")
def test_a_group_whose_launch_was_suspended_meanwhile_sends_its_demand_to_the_fallback(world: World, suspend: Suspend) -> None:
    world.group(desired=1)
    world.group("b", WEST)
    world.plan(grow(fallbacks=(fall(WEST, "b"),)))
    suspend("Launch")

    answer = world.call("scale_out", region=HOME, steps=[1])

    assert answer == {"raised": 0, "spill": [{"region": WEST, "requests": ["p1#1#1"]}]}
    assert world.desired() == 1
    assert told(world) == ("refused", "the Launch process of group us-east-1/a is suspended")


@pytest.mark.feature("SI-17")
def test_without_a_fallback_its_demand_is_told_unserved(world: World, suspend: Suspend) -> None:
    world.group(desired=1)
    world.plan(grow())
    suspend("Launch")

    assert world.call("scale_out", region=HOME, steps=[1]) == {"raised": 0, "spill": []}
    assert told(world) == ("unserved", "the Launch process of group us-east-1/a is suspended")


@pytest.mark.feature("SI-17")
def test_a_group_that_is_being_deleted_is_not_raised(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.group(desired=1)
    world.plan(grow())
    deleting(monkeypatch)

    assert world.call("scale_out", region=HOME, steps=[1])["raised"] == 0
    assert told(world) == ("unserved", "the status of group us-east-1/a is Delete in progress")


@pytest.mark.feature("SI-17")
def test_what_was_asked_of_a_group_before_it_was_suspended_is_given_back_at_once_and_goes_on(
    world: World, suspend: Suspend
) -> None:
    """Nothing would come: to wait for the provision time is in vain. It is no refusal of AWS, so no backoff is remembered."""
    world.group("a", desired=1)
    world.group("b", WEST)
    world.capacity(HOME, 0)
    world.plan(grow(to_desired=4, fallbacks=(fall(WEST, "b", nodes=3),)))
    world.call("scale_out", region=HOME, steps=[1])
    suspend("Launch")

    seen = world.call("verify_instances", action="check", region=HOME, plan_id="p1")

    assert seen["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]
    assert world.desired() == 1
    assert told(world) == ("refused", "the Launch process of group us-east-1/a is suspended")
    assert not list(memory.unavailable(world.table))


@pytest.mark.feature("SI-17")
def test_instances_that_came_before_it_was_suspended_are_waited_for(world: World, suspend: Suspend) -> None:
    world.group("a", desired=1)
    world.plan(grow(to_desired=3))
    world.call("scale_out", region=HOME, steps=[1])
    suspend("Launch")

    seen = world.call("verify_instances", action="check", region=HOME, plan_id="p1")

    assert (seen["open"], seen["unready"]) == (1, 2)
    request = requests.get(world.table, "p1#1#0")
    assert request is not None
    assert request.missing == 0


@pytest.mark.feature("SI-17")
def test_a_group_whose_terminate_was_suspended_meanwhile_keeps_the_instance(world: World, suspend: Suspend) -> None:
    world.group(desired=2)
    world.plan(leave(1, world.members()[0]))
    suspend("Terminate")

    answer = world.call("scale_in", action="terminate", region=HOME, step=1)

    assert (answer["status"], answer["reason"]) == ("refused", "the Terminate process of group us-east-1/a is suspended")
    assert (world.desired(), len(world.members())) == (2, 2)


@pytest.mark.feature("SI-17")
def test_a_group_that_is_being_deleted_ends_its_instances_itself(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.group(desired=2)
    world.plan(leave(1, world.members()[0]))
    deleting(monkeypatch)

    answer = world.call("scale_in", action="terminate", region=HOME, step=1)

    assert (answer["status"], answer["reason"]) == ("refused", "the status of group us-east-1/a is Delete in progress")


def deleting(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on DescribeAutoScalingGroups says so."""
    pages = clients.pages

    def patched(service: str, region: str, operation: str, **request: Any) -> Iterator[dict[str, Any]]:
        for page in pages(service, region, operation, **request):
            if operation == "describe_auto_scaling_groups":
                yield {"AutoScalingGroups": [item | {"Status": "Delete in progress"} for item in page["AutoScalingGroups"]]}
            else:
                yield dict(page)

    monkeypatch.setattr(clients, "pages", patched)
