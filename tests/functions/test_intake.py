"""Events: a refused launch ends the waiting at once, what is another's is dropped, what is unknown is never lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spillway.aws import workflow
from spillway.aws.scaling import raising
from spillway.aws.table import events, keys, memory, snapshots, waits
from spillway.errors import AwsUnavailable, EventError
from spillway.model.fleet import FleetSnapshot
from tests.workflow.world import CLUSTER, HOME, REFUSE_S, WEST, World, fall, grow, open_world

EVENTS = Path(__file__).parents[2] / "events"
TEXT = "We currently do not have sufficient m5.large capacity in the Availability Zone you requested (us-east-1a)."


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        opened.fleet((HOME, "a"), (WEST, "b"))
        yield opened


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Tokens of loops whose waiting ended."""
    tokens: list[str] = []

    def wake(token: str) -> bool:
        tokens.append(token)
        return True

    monkeypatch.setattr(workflow, "wake", wake)
    return tokens


def said(kind: str = "EC2 Instance Launch Unsuccessful", id_: str = "e1", region: str = HOME, **detail: Any) -> dict[str, Any]:
    given = {
        "AutoScalingGroupName": "a", "ActivityId": "act-1", "StatusCode": "Failed", "StatusMessage": TEXT,
        "Description": "Launching a new EC2 instance", "Details": {"Availability Zone": "us-east-1a"},
        "StartTime": "2026-01-01T12:00:00Z", "EndTime": "2026-01-01T12:00:05Z",
    }  # fmt: skip
    return {
        "version": "0", "id": id_, "detail-type": kind, "source": "aws.autoscaling", "account": "111122223333",
        "time": "2026-01-01T12:00:05Z", "region": region, "resources": [], "detail": {**given, **detail},
    }  # fmt: skip


def deliver(world: World, *bodies: Any) -> list[str]:
    """Numbers of the messages that come back."""
    records = [
        {"messageId": str(n), "body": body if isinstance(body, str) else json.dumps(body)} for n, body in enumerate(bodies)
    ]
    failed = world.handle("intake", {"Records": records})["batchItemFailures"]
    return [item["itemIdentifier"] for item in failed]


@pytest.mark.feature("EV-05")
def test_a_refused_launch_ends_the_waiting_of_its_regions_loops(world: World, woken: list[str]) -> None:
    waits.store(world.table, "p1", HOME, "token-1")
    waits.store(world.table, "p2", HOME, "token-2")
    waits.store(world.table, "p1", WEST, "elsewhere")

    assert deliver(world, said()) == []
    assert woken == ["token-1", "token-2"]
    assert (world.news(HOME), world.news(WEST)) == (1, 0)
    assert list(waits.waiting(world.table, WEST)) == [("p1", "elsewhere")]


@pytest.mark.feature("EV-05")
def test_failover_starts_on_the_event(world: World, woken: list[str]) -> None:
    world.group("a", desired=1)
    world.group("b", WEST)
    world.capacity(HOME, 0)
    world.plan(grow(fallbacks=(fall(WEST, "b"),)))
    world.call("scale_out", region=HOME, steps=[1])
    looked = world.call("verify_instances", action="check", region=HOME)
    world.call("verify_instances", action="wait", region=HOME, token="token", news=looked["news"])
    world.clock.pass_s(REFUSE_S + 1)
    deliver(world, said(EndTime=world.clock.now.isoformat()))

    assert woken == ["token"]
    spill = world.call("verify_instances", action="check", region=HOME)["spill"]
    world.call("scale_out", **spill[0])
    assert (world.desired("a"), world.desired("b", WEST)) == (1, 2)


@pytest.mark.feature("EV-05")
def test_a_refusal_that_nobody_waits_for_is_remembered_and_asks_for_a_plan(world: World, woken: list[str]) -> None:
    deliver(world, said())

    (refusal,) = memory.unavailable(world.table)
    assert (refusal.scope, refusal.key) == ("zone", "us-east-1/a/us-east-1a")
    assert world.table.get(keys.event("e1")) is not None


@pytest.mark.feature("EV-05")
def test_a_refusal_that_a_loop_sees_asks_for_no_plan(world: World, woken: list[str]) -> None:
    waits.store(world.table, "p1", HOME, "token")
    deliver(world, said())

    assert world.table.get(keys.event("e1")) is None
    assert [refusal.key for refusal in memory.unavailable(world.table)] == ["us-east-1/a/us-east-1a"]


@pytest.mark.feature("EV-05")
def test_a_token_whose_loop_is_over_swallows_no_refusal(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "wake", lambda token: False)
    waits.store(world.table, "p1", HOME, "token")
    deliver(world, said())

    assert [refusal.key for refusal in memory.unavailable(world.table)] == ["us-east-1/a/us-east-1a"]
    assert world.table.get(keys.event("e1")) is not None


def test_a_refusal_whose_loop_is_about_to_look_asks_for_no_plan(world: World, woken: list[str]) -> None:
    raising.plan_requests(world.table, world.plan(grow(group="a")))
    world.fleet((HOME, "a"), (HOME, "c"))
    deliver(world, said())
    assert world.table.get(keys.event("e1")) is None

    deliver(world, said(id_="e2", AutoScalingGroupName="c"))  # a neighbour that nobody waits for
    assert world.table.get(keys.event("e2")) is not None


def test_a_launch_that_succeeded_waits_for_the_next_look(world: World, woken: list[str]) -> None:
    waits.store(world.table, "p1", HOME, "token")
    assert deliver(world, said("EC2 Instance Launch Successful", StatusCode="InProgress", StatusMessage="")) == []

    assert (woken, world.news()) == ([], 0)


def test_a_second_delivery_does_nothing(world: World, woken: list[str]) -> None:
    deliver(world, said(), said())
    deliver(world, said())

    assert world.news() == 1


def test_an_event_whose_taking_died_is_taken_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    waits.store(world.table, "p1", HOME, "token")

    def silent(token: str) -> bool:
        raise AwsUnavailable(HOME, "states:SendTaskSuccess", "Throttling")

    with monkeypatch.context() as patch:
        patch.setattr(workflow, "wake", silent)
        assert deliver(world, said()) == ["0"]
    assert not events.is_seen(world.table, "e1")
    assert deliver(world, said()) == []


@pytest.mark.parametrize("foreign", [{"AutoScalingGroupName": "of another cluster"}, {"region": "eu-west-1"}])
def test_what_is_another_clusters_is_dropped_without_a_trace(world: World, woken: list[str], foreign: dict[str, str]) -> None:
    waits.store(world.table, "p1", HOME, "token")

    assert deliver(world, said(**foreign)) == []
    assert (woken, world.news()) == ([], 0)
    assert not events.is_seen(world.table, "e1")


def test_what_is_unknown_goes_to_the_dead_letters_and_stops_no_other(world: World, woken: list[str]) -> None:
    unknown = said("EC2 Instance Moved To The Moon", id_="e2")

    assert deliver(world, "no JSON", unknown, {"id": "e3"}, said()) == ["0", "1", "2"]
    assert world.news() == 1


def test_the_fleet_is_loaded_only_for_refusals(world: World, woken: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Any] = []
    latest = snapshots.latest_fleet

    def load(table: Any) -> FleetSnapshot:
        loaded.append(table)
        return latest(table)

    monkeypatch.setattr(snapshots, "latest_fleet", load)
    deliver(world, said("AWS Health Event"), said("EC2 Instance Launch Successful"), said("EC2 Instance Moved To The Moon"))
    assert loaded == []

    deliver(world, said(AutoScalingGroupName="x"), said(AutoScalingGroupName="y"))
    assert len(loaded) == 1  # once for a batch


@pytest.mark.feature("FS-08")
def test_a_refusal_in_unknown_words_alarms_with_them_and_waits_shortest(
    world: World, woken: list[str], capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    deliver(world, said(StatusMessage="The moon is in the wrong place."))
    deliver(world, said(id_="e2", StatusMessage="The moon is in the wrong place.", EndTime="2026-01-01T13:00:05Z"))

    (refusal,) = memory.unavailable(world.table)
    assert (refusal.key, refusal.reason) == ("us-east-1/a", "unknown: The moon is in the wrong place.")
    assert (refusal.until - refusal.since).total_seconds() == 300
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    assert [line["LaunchFailuresUnknown"] for line in lines if "LaunchFailuresUnknown" in line] == [[1.0], [1.0]]
    words = [record.getMessage() for record in caplog.records if getattr(record, "code", "") == "unknown_failure"]
    assert words == ["group us-east-1/a: a launch was refused for a reason we do not know: The moon is in the wrong place."] * 2


@pytest.mark.feature("FS-08")
@pytest.mark.parametrize(
    ("text", "scope", "key"),
    [
        ("Could not launch Spot Instances. MaxSpotInstanceCountExceeded - Max spot", "group", "us-east-1/a"),  # on-demand
        ("Client.VolumeLimitExceeded: Volume limit exceeded", "region", "us-east-1"),
        ("InsufficientFreeAddressesInSubnet - There are not enough free addresses", "zone", "us-east-1/a/us-east-1a"),
    ],
)
def test_an_event_is_read_by_the_same_table_as_an_activity(
    world: World, woken: list[str], text: str, scope: str, key: str
) -> None:
    deliver(world, said(StatusMessage=text))

    (refusal,) = memory.unavailable(world.table)
    assert (refusal.scope, refusal.key) == (scope, key)


def test_what_is_of_no_use_is_dropped(world: World, woken: list[str]) -> None:
    assert deliver(world, said("EC2 Instance State-change Notification"), said("AWS Health Event")) == []
    assert world.news() == 0


def test_before_the_first_snapshot_every_group_is_another_clusters(woken: list[str]) -> None:
    with open_world() as empty:
        assert deliver(empty, said()) == []
        assert empty.news() == 0


def test_counts_what_was_taken_and_dropped(world: World, woken: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    deliver(world, said(), said(id_="e2", AutoScalingGroupName="x"), "no JSON")

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    assert [(line["EventsTaken"], line["EventsDropped"], line["cluster"]) for line in lines] == [([1.0], [1.0], CLUSTER)]


def test_a_wrong_batch_is_refused(world: World) -> None:
    with pytest.raises(EventError, match="Records"):
        world.handle("intake", {})


@pytest.mark.parametrize("path", sorted(EVENTS.glob("intake.*.json")), ids=lambda path: path.stem)
def test_takes_or_drops_every_sample_event(world: World, woken: list[str], path: Path) -> None:
    answer = world.handle("intake", json.loads(path.read_text(encoding="utf-8")))

    assert bool(answer["batchItemFailures"]) == ("unknown" in path.stem)
