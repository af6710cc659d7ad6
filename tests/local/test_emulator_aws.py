"""The account as a whole: what is built from a dump and the template, and what stays true under threads."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from spillway.aws import clients, market
from spillway.aws.table import Table, events, snapshots
from spillway_local.emulator import fleets
from spillway_local.handlers import Handlers
from spillway_local.world import World

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def world() -> Iterator[World]:
    with World.from_dump(EXAMPLES / "burst", ticks=False) as made:
        yield made


def test_groups_of_every_region_are_as_the_dump_has_them(world: World) -> None:
    for region, answers in world.raw.answers.items():
        pages = clients.client("autoscaling", region).get_paginator("describe_auto_scaling_groups").paginate()
        made = {item["AutoScalingGroupName"]: item for page in pages for item in page["AutoScalingGroups"]}
        for item in answers["AutoScalingGroups"]:
            mine = made[item["AutoScalingGroupName"]]
            for key in ("MinSize", "MaxSize", "DesiredCapacity"):
                assert mine[key] == item[key], item["AutoScalingGroupName"]
            assert {tag["Key"]: tag["Value"] for tag in mine["Tags"]} == {tag["Key"]: tag["Value"] for tag in item["Tags"]}
            running = {member["InstanceId"] for member in item["Instances"] if member["LifecycleState"] == "InService"}
            assert running <= {member["InstanceId"] for member in mine["Instances"]}


def test_machines_that_run_keep_their_ids_and_launch_times(world: World) -> None:
    for region, answers in world.raw.answers.items():
        known = {m["InstanceId"]: m for r in answers.get("Reservations", ()) for m in r["Instances"]}
        pages = clients.client("ec2", region).get_paginator("describe_instances").paginate()
        made = {m["InstanceId"]: m for page in pages for r in page["Reservations"] for m in r["Instances"]}
        members = {m["InstanceId"] for item in answers["AutoScalingGroups"] for m in item["Instances"]}
        for instance_id in members & known.keys():
            assert f"{made[instance_id]['LaunchTime']:%FT%T}" == known[instance_id]["LaunchTime"][:19]
            assert made[instance_id]["State"]["Name"] == "running"


def test_the_price_list_is_the_dumps(world: World) -> None:
    wanted = world.raw.answers["us-east-1"]["OnDemandPrices"]
    assert market.on_demand_prices("us-east-1", [*wanted, "x9.nothing"]) == pytest.approx(wanted)


def test_types_that_moto_lacks_come_from_the_dump() -> None:
    with World.from_dump(EXAMPLES / "burst_300", ticks=False):
        found = clients.client("ec2", "us-east-1").describe_instance_types(InstanceTypes=["p3.2xlarge"])["InstanceTypes"]
    assert [item["VCpuInfo"]["DefaultVCpus"] for item in found] == [8]


def test_writes_of_many_threads_at_once_all_count(world: World) -> None:
    world.table.put("NUMBER", {"n": 0})
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: world.table.update("NUMBER", "ADD n :one", one=1), range(200)))
    item = world.table.get("NUMBER")
    assert item is not None
    assert item["n"] == 200


def test_the_stream_hears_writes_to_the_table(world: World) -> None:
    woken: list[str] = []

    def plan(event: dict[str, Any], context: Any) -> None:
        woken.extend(record["dynamodb"]["Keys"]["sk"]["S"] for record in event["Records"])

    world.aws.functions.handlers = {"plan": plan}
    events.wake_planner(world.table, "one", {"kind": "test"})
    events.mark_seen(world.table, "one")
    world.clock.run(limit_s=5)
    assert woken == ["EVENT#one"]


def test_events_that_no_rule_names_never_come_to_the_queue(world: World) -> None:
    taken: list[str] = []

    def intake(event: dict[str, Any], context: Any) -> None:
        taken.extend(json.loads(record["body"])["detail-type"] for record in event["Records"])

    world.aws.functions.handlers = {"intake": intake}
    for kind in ("EC2 Instance Rebalance Recommendation", "EC2 Fleet Error"):
        world.aws.emit("us-west-2", "aws.ec2", kind, {"instance-id": "i-1"}, [])
    world.clock.run(limit_s=5)
    assert taken == ["EC2 Instance Rebalance Recommendation"]


def test_the_environment_and_the_clock_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from spillway import clock

    monkeypatch.setenv("SPILLWAY_TABLE", "mine")
    before, now = dict(os.environ), clock.utcnow
    with World.from_dump(EXAMPLES / "idle", ticks=False) as made:
        assert os.environ["SPILLWAY_TABLE"] != "mine"
        assert clock.utcnow() == made.raw.now
    assert dict(os.environ) == before
    assert clock.utcnow is now


def test_a_second_world_knows_nothing_of_the_first() -> None:
    for _ in range(2):
        with World.from_dump(EXAMPLES / "idle", ticks=False) as made:
            assert snapshots_of(made.table) == 0
            made.aws.functions.invoke("snapshot_fleet", {})
            assert snapshots_of(made.table) == 1


def snapshots_of(table: Table) -> int:
    return len(list(table.query("HEAD#")))


def test_another_region_has_the_same_groups_empty_and_dearer() -> None:
    with World.from_dump(EXAMPLES / "burst_300", regions=("us-east-1", "eu-west-1"), ticks=False) as made:
        here, there = made.raw.answers["us-east-1"], made.raw.answers["eu-west-1"]
        assert len(there["AutoScalingGroups"]) == len(here["AutoScalingGroups"])
        assert {zone for item in there["AutoScalingGroups"] for zone in item["AvailabilityZones"]} <= {"eu-west-1a"}
        name, price = next(iter(here["OnDemandPrices"].items()))
        assert market.on_demand_prices("eu-west-1", [name]) == pytest.approx({name: price * 1.1})
    assert fleets.in_another_region(here, "us-east-1", "eu-west-1")["AutoScalingGroups"] == there["AutoScalingGroups"]


def test_every_function_of_the_template_has_a_handler_here() -> None:
    from spillway_local.emulator.template import Template

    assert set(Template().functions.values()) <= set(Handlers())


def test_a_head_of_the_fleet_is_readable_right_away(world: World) -> None:
    world.aws.functions.invoke("snapshot_fleet", {})
    fleet = snapshots.latest_fleet(world.table)
    assert fleet is not None
    assert {region.name for region in fleet.regions if region.known} == set(world.raw.answers)
    assert all(group.template for group in fleet.groups)
