"""Events: a refused launch ends the waiting at once, what is another's is dropped, what is unknown is never lost."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from spillway.aws import workflow
from spillway.aws.scaling import raising
from spillway.aws.table import events, keys, memory, notices, snapshots, waits
from spillway.errors import AwsUnavailable, EventError
from spillway.model.fleet import FleetSnapshot, Instance, NodeGroup
from spillway.model.market import WHOLE, Ceiling, CeilingKind
from spillway.model.memory import Notice, Told
from tests.workflow.world import CLUSTER, HOME, NOW, REFUSE_S, WEST, World, fall, grow, open_world

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
    assert deliver(world, said("EC2 Instance Rebalance Recommendation"), said("AWS Health Event")) == []
    assert world.news() == 0


BLOCK = Ceiling(region=HOME, key="cr-1", kind=CeilingKind.BLOCK, name="cr-1", limit=2, ends=NOW + timedelta(days=1))


def known(world: World) -> None:
    """A fleet snapshot with instance i-1 in group a, which launches into block cr-1."""
    member = Instance(id="i-1", zone="us-east-1a", instance_type="m5.large", lifecycle="InService")
    group = NodeGroup(region=HOME, name="a", min_size=0, max_size=10, desired=1, instances=(member,), draws=({"cr-1": WHOLE},))
    fleet = FleetSnapshot(cluster=CLUSTER, home_region=HOME, taken_at=NOW, groups=(group,), ceilings=(BLOCK,))
    snapshots.store_fleet(world.table, fleet)


def told(kind: str, id_: str = "e1", time: str = "2026-01-01T12:00:05Z", **detail: str) -> dict[str, Any]:
    given = {key.replace("_", "-"): value for key, value in detail.items()}
    return {**said(kind, id_), "source": "aws.ec2", "time": time, "detail": given}


STATE = "EC2 Instance State-change Notification"


@pytest.mark.feature("EV-07")
@pytest.mark.parametrize("state", ["stopping", "stopped", "shutting-down", "terminated"])
def test_an_instance_that_ends_is_told_to_the_next_plan_which_is_made_now(world: World, state: str) -> None:
    known(world)
    deliver(world, told(STATE, instance_id="i-1", state=state))

    (notice,) = notices.known(world.table)
    assert notice == Notice(region=HOME, subject="i-1", told=Told.GONE, at=NOW + timedelta(seconds=5))
    assert world.table.get(keys.event("us-east-1-20260101T1200")) is not None


@pytest.mark.feature("EV-07")
def test_an_instance_that_we_ended_ourselves_is_no_news(world: World) -> None:
    known(world)
    notices.put(world.table, Notice(region=HOME, subject="i-1", told=Told.ENDED, at=NOW))
    deliver(world, told(STATE, instance_id="i-1", state="shutting-down"))

    assert [one.told for one in notices.known(world.table)] == [Told.ENDED]
    assert list(world.table.query(keys.EVENT)) == []


@pytest.mark.feature("EV-07")
def test_instances_that_end_in_one_minute_ask_for_one_plan(world: World) -> None:
    known(world)
    deliver(world, *(told(STATE, f"e{n}", f"2026-01-01T12:00:{n:02}Z", instance_id="i-1", state="stopped") for n in range(9)))

    assert [item["sk"] for item in world.table.query(keys.EVENT)] == ["EVENT#us-east-1-20260101T1200"]


@pytest.mark.feature("EV-07")
def test_an_instance_that_comes_or_is_anothers_is_no_notice(world: World) -> None:
    known(world)
    states = [told(STATE, instance_id="i-1", state=state) for state in ("pending", "running")]
    foreign = [
        told(STATE, instance_id="i-2", state="stopped"),
        told("Capacity Block Delivered", capacity_reservation_id="cr-2", end_date="2026-01-02T11:30:00Z"),
        {**told(STATE, instance_id="i-1", state="stopped"), "region": WEST},
    ]

    assert deliver(world, *states, *foreign) == []
    assert list(notices.known(world.table)) == []
    assert list(world.table.query(keys.EVENT)) == []


@pytest.mark.feature("EV-07")
@pytest.mark.parametrize(
    "kind",
    [
        "EC2 Capacity Reservation Instance Interruption Warning",
        "EC2 Interruptible Capacity Reservation Instance Interruption Warning",
    ],
)
def test_an_instance_that_its_reservation_will_take_is_told_with_its_end(world: World, kind: str) -> None:
    known(world)
    deliver(world, told(kind, instance_id="i-1", instance_termination_time="2026-01-01T12:02:05Z"))

    (notice,) = notices.known(world.table)
    assert (notice.told, notice.ends_at) == (Told.ENDS, NOW + timedelta(seconds=125))
    assert world.table.get(keys.event("e1")) is not None


@pytest.mark.feature("EV-07")
@pytest.mark.parametrize(
    ("kind", "meaning"),
    [
        ("Capacity Block Delivered", Told.DELIVERED),
        ("Capacity Block Reservation Delivered", Told.DELIVERED),
        ("Capacity Block Expiration Warning", Told.EXPIRES),
        ("Capacity Block Reservation Expiration Warning", Told.EXPIRES),
    ],
)
def test_a_block_that_begins_or_ends_is_told_in_both_spellings(world: World, kind: str, meaning: Told) -> None:
    known(world)
    deliver(world, told(kind, capacity_reservation_id="cr-1", end_date="2026-01-01T12:40:05Z"))

    (notice,) = notices.known(world.table)
    assert (notice.subject, notice.told, notice.ends_at) == ("cr-1", meaning, NOW + timedelta(seconds=2405))
    assert world.table.get(keys.event("e1")) is not None


@pytest.mark.feature("EV-07")
def test_an_older_word_on_an_instance_replaces_no_newer_one(world: World) -> None:
    known(world)
    warning = "EC2 Capacity Reservation Instance Interruption Warning"
    deliver(world, told(STATE, "e1", "2026-01-01T12:02:05Z", instance_id="i-1", state="shutting-down"))
    deliver(world, told(warning, "e2", instance_id="i-1", instance_termination_time="2026-01-01T12:02:05Z"))

    assert [one.told for one in notices.known(world.table)] == [Told.GONE]


@pytest.mark.feature("EV-07")
@pytest.mark.parametrize(
    "event",
    [
        told(STATE, state="stopped"),
        told("Capacity Block Delivered", end_date="2026-01-01T12:40:05Z"),
        told("Capacity Block Expiration Warning", capacity_reservation_id="cr-1", end_date="soon"),
    ],
    ids=["no instance", "no block", "no time"],
)
def test_a_notice_that_lacks_what_it_is_about_goes_to_the_dead_letters(world: World, event: dict[str, Any]) -> None:
    known(world)
    assert deliver(world, event) == ["0"]


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
