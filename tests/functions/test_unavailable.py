"""What AWS refused is remembered in the table alike, whoever saw it, until time or a success ends it."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from moto.autoscaling.models import autoscaling_backends
from moto.core.models import DEFAULT_ACCOUNT_ID

from spillway.aws import clients, market, memo
from spillway.aws.scaling import following, raising
from spillway.aws.scaling import group as groups
from spillway.aws.scaling.group import Rejected
from spillway.aws.table import memory, snapshots
from spillway.model.cluster import ClusterSnapshot
from spillway.model.memory import Unavailable
from spillway.planner import unavailable
from spillway.planner.unavailable import BREAKER
from spillway_local.emulator.ceilings import ceilings
from spillway_local.emulator.goings_on import goings_on
from tests.aws.account import VCPUS
from tests.aws.answers import OURS
from tests.workflow.world import CLUSTER, HOME, REFUSE_S, WEST, World, fall, grow, open_world

ZONE = "us-east-1/a/us-east-1a"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Group a of m5.large with one member, as the fleet snapshot sees it; nothing more is to be had of it."""
    monkeypatch.setattr(market, "on_demand_prices", lambda region, types, *_: dict.fromkeys(types, 0.096))
    memo.clear()
    with open_world() as opened, ceilings({}, VCPUS), goings_on({}):
        yield opened
    memo.clear()


def ours(world: World, *names: str, zones: int = 1) -> None:
    for name in names:
        world.group(name, desired=1, zones=zones)
        clients.client("autoscaling", HOME).create_or_update_tags(
            Tags=[
                {
                    "ResourceId": name,
                    "ResourceType": "auto-scaling-group",
                    "Key": key,
                    "Value": value,
                    "PropagateAtLaunch": True,
                }
                for key, value in OURS.items()
            ]
        )
    see_fleet(world)


def see_fleet(world: World) -> None:
    world.handle("snapshot_fleet", {})


def plan(world: World) -> Any:
    snapshots.store_cluster(world.table, ClusterSnapshot(cluster=CLUSTER, taken_at=world.clock.now))
    return world.handle("plan", {"cluster": CLUSTER})


def refuse(world: World, plan_id: str = "p1", **fields: Any) -> None:
    """Two nodes are asked for, and none comes."""
    world.capacity(HOME, 0)
    world.plan(grow(**fields), plan_id=plan_id)
    world.call("scale_out", region=HOME, steps=[1], plan_id=plan_id)
    world.clock.pass_s(REFUSE_S + 1)


def fail(world: World, text: str, zone: str = "us-east-1a") -> None:
    """Auto Scaling tells of a launch of group a that was refused now."""
    group, now = autoscaling_backends[DEFAULT_ACCOUNT_ID][HOME].autoscaling_groups["a"], world.clock.now
    log = world.launches.log
    log.end(log.begin(group, now, "Launching a new EC2 instance.", "somebody wanted it", zone), now, "Failed", text)


def by_activities(world: World, plan_id: str = "p1") -> None:
    see_fleet(world)
    plan(world)


def by_the_loop(world: World, plan_id: str = "p1") -> None:
    world.call("verify_instances", action="check", region=HOME, plan_id=plan_id)


def by_event(world: World, plan_id: str = "p1") -> None:
    answer = clients.client("autoscaling", HOME).describe_scaling_activities(AutoScalingGroupName="a")
    for failed in answer["Activities"]:
        if failed["StatusCode"] == "Failed":
            times = {key: failed[key].isoformat() for key in ("StartTime", "EndTime")}
            detail = {**failed, **times, "Details": json.loads(failed["Details"])}
            said = {
                "id": failed["ActivityId"], "detail-type": "EC2 Instance Launch Unsuccessful", "region": HOME,
                "time": times["EndTime"], "detail": detail,
            }  # fmt: skip
            world.handle("intake", {"Records": [{"messageId": "1", "body": json.dumps(said)}]})


WRITERS = pytest.mark.parametrize("seen", [by_activities, by_the_loop, by_event])


def records(world: World) -> dict[str, Unavailable]:
    """What was refused; how often a group did not grow is counted beside it."""
    return {one.key: one for one in memory.unavailable(world.table) if one.scope != BREAKER}


@pytest.mark.feature("SO-21")
@pytest.mark.feature("FS-08")
@pytest.mark.feature("EV-05")
@pytest.mark.parametrize("first", [by_activities, by_the_loop, by_event])
@pytest.mark.parametrize("second", [by_activities, by_the_loop, by_event])
def test_activities_events_and_the_loop_that_waits_write_one_record(
    world: World, first: Callable[[World], None], second: Callable[[World], None]
) -> None:
    ours(world, "a")
    refuse(world)
    first(world)
    once = records(world)
    second(world)

    assert records(world) == once
    record = once[ZONE]
    assert (record.scope, record.times, record.until - record.since) == ("zone", 1, timedelta(seconds=300))
    assert record.reason.startswith("zonal_capacity: We currently do not have sufficient m5.large capacity")


@pytest.mark.feature("SO-21")
@WRITERS
def test_each_zone_that_was_refused_is_remembered(world: World, seen: Callable[[World], None]) -> None:
    """And then the group as a whole is passed over."""
    ours(world, "a", zones=2)
    world.plan(grow())
    world.launches.timing.refuse_s = 3600
    world.capacity(HOME, 0)
    world.call("scale_out", region=HOME, steps=[1])
    for zone in ("us-east-1a", "us-east-1b"):
        fail(world, f"We currently do not have sufficient capacity in the Availability Zone you requested ({zone}).", zone)
        world.clock.pass_s(1)
    seen(world)

    assert sorted(records(world)) == ["us-east-1/a/us-east-1a", "us-east-1/a/us-east-1b"]


@pytest.mark.feature("SO-21")
@WRITERS
def test_the_wait_doubles_though_nothing_but_the_table_remembers(world: World, seen: Callable[[World, str], None]) -> None:
    ours(world, "a")
    waits = []
    for number in range(4):
        refuse(world, f"p{number}")
        seen(world, f"p{number}")
        record = records(world)[ZONE]
        waits.append(((record.until - record.since).total_seconds(), record.times))
        world.set_desired(1)  # nobody tries again meanwhile
        memo.clear()
        clients.clear()
        world.clock.pass_s((record.until - world.clock.now).total_seconds() + 1)

    assert waits == [(300, 1), (600, 2), (1200, 3), (1800, 4)]


@pytest.mark.feature("SO-21")
def test_a_success_ends_it_and_the_next_refusal_waits_as_the_first_did(world: World) -> None:
    ours(world, "a")
    refuse(world)
    by_the_loop(world)
    by_activities(world)
    assert set(records(world)) == {ZONE}

    world.clock.pass_s(61)
    world.capacity(HOME, 1)
    world.set_desired(2)
    by_activities(world)
    assert records(world) == {}

    world.clock.pass_s(60)
    refuse(world, "p2", from_desired=2, to_desired=4)
    by_activities(world)
    assert records(world)[ZONE].times == 1


@pytest.mark.feature("SO-21")
def test_a_group_that_takes_no_new_desired_capacity_is_left_for_its_fallback_and_passed_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours(world, "a", "b")
    world.group("c", WEST)
    taken = groups.set_desired

    def rejects(group: Any, desired: int) -> None:
        if group.name == "a":
            raise Rejected("the group is in no state for that")
        taken(group, desired)

    monkeypatch.setattr(groups, "set_desired", rejects)
    world.plan(grow(1, fallbacks=(fall(WEST, "c"),)), grow(2, "b"))
    answer = world.call("scale_out", region=HOME, steps=[1, 2])

    assert answer == {"raised": 2, "spill": [{"region": WEST, "requests": ["p1#1#1"]}]}
    assert (world.desired("a"), world.desired("b")) == (1, 3), "one bad group never stops another"
    (record,) = records(world).values()
    assert (record.scope, record.key) == ("group", "us-east-1/a")
    assert record.reason.startswith("rejected: Auto Scaling rejects 3 for us-east-1/a")
    assert world.outcomes() == [(1, 0, "refused")]


@pytest.mark.feature("SO-21")
def test_a_group_that_nobody_could_raise_in_time_is_passed_over(world: World) -> None:
    """Its region's loop hangs: the next plan would wait for it as long again."""
    raising.plan_requests(world.table, world.plan(grow(fallbacks=(fall(WEST, "b"),))))
    world.clock.pass_s(120)
    world.call("verify_instances", action="check", region=WEST)

    (record,) = records(world).values()
    assert (record.key, record.reason) == ("us-east-1/a", "late: nobody could raise us-east-1/a within 120 s")


@pytest.mark.feature("FS-08")
def test_words_that_nobody_knows_are_counted_where_the_loop_meets_them(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    ours(world, "a")
    world.plan(grow())
    world.launches.timing.refuse_s = 3600
    world.capacity(HOME, 0)
    world.call("scale_out", region=HOME, steps=[1])
    fail(world, "The moon is in the wrong place.")
    capsys.readouterr()
    by_the_loop(world)

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    assert sum(line["LaunchFailuresUnknown"][0] for line in lines if "region" in line) == 1


@pytest.mark.feature("FS-08")
@WRITERS
def test_what_only_another_template_mends_waits_longest_until_there_is_one(world: World, seen: Callable[[World], None]) -> None:
    """FC-30: asked again every few minutes, it would be refused every time."""
    ours(world, "a")
    world.plan(grow())
    world.launches.timing.refuse_s = 3600
    world.capacity(HOME, 0)
    world.call("scale_out", region=HOME, steps=[1])
    fail(world, "The image id '[ami-1]' does not exist. Launching EC2 instance failed.")
    seen(world)

    (record,) = records(world).values()
    assert (record.key, record.reason.partition(":")[0]) == ("us-east-1/a", "image")
    assert (record.until - record.since).total_seconds() == 1800
    before = following.known_group(world.table, HOME, "a")
    assert unavailable.passed_over(before, [record], world.clock.now) == record

    template = world.describe()["LaunchTemplate"]["LaunchTemplateName"]
    data = {"InstanceType": "m5.large", "ImageId": "ami-2"}
    clients.client("ec2", HOME).create_launch_template_version(LaunchTemplateName=template, LaunchTemplateData=data)
    memo.clear()
    by_activities(world)
    after = following.known_group(world.table, HOME, "a")
    assert unavailable.passed_over(after, memory.unavailable(world.table), world.clock.now) is None
    assert records(world) == {record.key: record}, "the old refusal is not counted anew"
