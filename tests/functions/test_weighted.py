"""A group whose desired counts units, through the tasks: raised, judged, given back and shrunk by what its instances weigh."""

from collections.abc import Iterator
from typing import Any

import pytest

from spillway.aws import clients
from spillway.aws.scaling import group as groups
from spillway.aws.table import snapshots
from spillway.model.fleet import Choice, FleetSnapshot, NodeGroup, NodeTemplate
from tests.workflow.world import BOOT_S, CLUSTER, HOME, NOW, REFUSE_S, WEST, World, fall, grow, leave, lower, open_world

pytestmark = pytest.mark.feature("FS-02")
LARGE, XLARGE = "m5.large", "m5.xlarge"


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


def weighted(world: World, desired: int = 0, low: int = 0) -> None:
    """Group a of m5.xlarge, of weight 4, or m5.large, of weight 2, in this order."""
    clients.client("ec2", HOME).create_launch_template(
        LaunchTemplateName="nodes", LaunchTemplateData={"InstanceType": LARGE, "ImageId": "ami-1"}
    )
    overrides = [{"InstanceType": XLARGE, "WeightedCapacity": "4"}, {"InstanceType": LARGE, "WeightedCapacity": "2"}]
    clients.client("autoscaling", HOME).create_auto_scaling_group(
        AutoScalingGroupName="a", MinSize=low, MaxSize=40, DesiredCapacity=desired, AvailabilityZones=[f"{HOME}a"],
        MixedInstancesPolicy={
            "LaunchTemplate": {
                "LaunchTemplateSpecification": {"LaunchTemplateName": "nodes", "Version": "$Latest"}, "Overrides": overrides,
            }
        },
    )  # fmt: skip
    world.clock.pass_s(BOOT_S + 1)


def offer(world: World, **machines: int) -> None:
    for name, number in machines.items():
        world.launches.pools.capacity[HOME, f"m5.{name}"] = number


def raise_by_two(world: World, **fields: Any) -> None:
    """Two nodes, so eight units, on a group that has four."""
    world.plan(grow(from_desired=4, to_desired=12, nodes=2, **fields))
    world.call("scale_out", region=HOME, steps=[1])


def check(world: World) -> Any:
    return world.call("verify_instances", action="check", region=HOME)


def test_two_nodes_come_of_eight_units(world: World) -> None:
    weighted(world, desired=4)
    raise_by_two(world)

    assert (world.desired(), len(world.members())) == (12, 3)
    assert check(world)["unready"] == 2


def test_of_lighter_types_more_come_than_were_asked_for_and_no_more_are_waited_for(world: World) -> None:
    weighted(world, desired=4)
    offer(world, xlarge=0)
    raise_by_two(world)

    assert len(world.members()) == 5
    assert check(world)["unready"] == 2


def test_what_did_not_come_is_given_back_in_units_and_goes_on_in_nodes(world: World) -> None:
    weighted(world, desired=4)
    world.group("b", WEST)
    offer(world, xlarge=1, large=0)
    raise_by_two(world, fallbacks=(fall(WEST, "b", nodes=2),))
    world.clock.pass_s(REFUSE_S + 1)

    assert check(world)["spill"] == [{"region": WEST, "requests": ["p1#1#1"]}]
    assert (world.desired(), len(world.members())) == (8, 2)
    assert world.requests() == [("p1#1#0", "open", 2, 1), ("p1#1#1", "planned", 1, 0)]


def test_a_fallback_that_counts_units_is_raised_by_the_most_that_its_types_weigh(world: World) -> None:
    weighted(world, desired=4)
    world.group("full", WEST, high=0)
    world.plan(grow(group="full", region=WEST, from_desired=0, to_desired=2, fallbacks=(fall(HOME, "a", nodes=2),)))
    (spill,) = world.call("scale_out", region=WEST, steps=[1])["spill"]

    assert world.call("scale_out", **spill)["raised"] == 2
    assert (world.desired(), len(world.members())) == (12, 3)


def test_what_lives_is_never_ended_by_giving_back_though_it_weighs_more_than_its_share(world: World) -> None:
    """One m5.large came of the second node's four units: half of them stay."""
    weighted(world, desired=4)
    offer(world, xlarge=1, large=1)
    raise_by_two(world)
    world.set_desired(14)
    world.clock.pass_s(REFUSE_S + 1)
    world.plan(lower(1, 14, 4), plan_id="p2")
    world.call("scale_in", action="give_back", region=HOME, steps=[1], plan_id="p2")

    assert (world.desired(), len(world.members())) == (10, 3)


def test_a_drained_instance_takes_its_weight_off_desired(world: World) -> None:
    weighted(world, desired=8)
    world.plan(leave(1, world.members()[0]))
    assert world.call("scale_in", action="terminate", region=HOME, step=1)["status"] == "ending"

    world.clock.pass_s(31)
    assert (world.desired(), len(world.members())) == (4, 1)


def test_an_instance_whose_weight_would_go_below_min_stays(world: World) -> None:
    weighted(world, desired=8, low=5)
    world.plan(leave(1, world.members()[0]))

    answer = world.call("scale_in", action="terminate", region=HOME, step=1)
    assert (answer["status"], answer["reason"]) == ("refused", "group us-east-1/a is at its minimum of 5")


def test_where_desired_counts_vcpus_the_fleet_snapshot_knows_what_a_type_weighs(world: World) -> None:
    """Auto Scaling names no weight of such a group's instances."""
    choices = tuple(Choice(instance_type=name, allocatable={}, weight=weight) for name, weight in ((LARGE, 2), (XLARGE, 4)))
    template = NodeTemplate(instance_types=(LARGE, XLARGE), allocatable={}, choices=choices)
    known = NodeGroup(region=HOME, name="a", min_size=0, max_size=40, desired=6, template=template, weighted=True)
    snapshots.store_fleet(world.table, FleetSnapshot(cluster=CLUSTER, home_region=HOME, taken_at=NOW, groups=(known,)))
    raw = {
        "AutoScalingGroupName": "a", "MinSize": 0, "MaxSize": 40, "DesiredCapacity": 6, "DesiredCapacityType": "vcpu",
        "Instances": [
            {"InstanceId": "i-1", "InstanceType": LARGE, "LifecycleState": "InService"},
            {"InstanceId": "i-2", "InstanceType": XLARGE, "LifecycleState": "InService"},
        ],
    }  # fmt: skip

    now = groups.of(world.table, HOME, raw)
    assert (now.units, now.weight, [one.weight for one in now.instances]) == (6, 4, [2, 4])
