"""What goes on with groups, as an emulated account tells it: in the shapes of AWS, paged, each group its own."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from spillway_local.clock import VirtualClock
from spillway_local.emulator import fleets
from spillway_local.emulator.autoscaling import autoscaling
from spillway_local.emulator.goings_on import goings_on
from spillway_local.emulator.launches import Launches
from tests.aws import botocore_shapes
from tests.aws.answers import NOW, group, instance_type, member, version

REGION = "us-east-1"


def policy(name: str, of: str, enabled: bool = True) -> dict[str, Any]:
    return {"AutoScalingGroupName": of, "PolicyName": name, "PolicyType": "TargetTrackingScaling", "Enabled": enabled}


def action(name: str, of: str) -> dict[str, Any]:
    return {"AutoScalingGroupName": of, "ScheduledActionName": name, "StartTime": "2026-01-02T00:00:00+00:00", "MinSize": 1}


REFRESH = {
    "AutoScalingGroupName": "a", "InstanceRefreshId": "r-1", "Status": "InProgress", "PercentageComplete": 40,
    "StartTime": "2026-01-01T11:00:00+00:00",
}  # fmt: skip
NODEGROUP = {
    "nodegroupName": "blue", "clusterName": "prod", "status": "DEGRADED", "capacityType": "SPOT",
    "labels": {"team": "web"}, "resources": {"autoScalingGroups": [{"name": "b"}]},
    "health": {"issues": [{"code": "Ec2SubnetNotFound", "message": "gone", "resourceIds": ["subnet-1"]}]},
}  # fmt: skip
TOLD = botocore_shapes.region({
    "AutoScalingGroups": [
        group(
            "a", MaxInstanceLifetime=604800, CapacityRebalance=True, Status="Delete in progress", WarmPoolSize=1,
            InstanceMaintenancePolicy={"MinHealthyPercentage": 90, "MaxHealthyPercentage": 120},
            AvailabilityZoneDistribution={"CapacityDistributionStrategy": "balanced-only"},
            WarmPoolConfiguration={"MinSize": 1, "PoolState": "Hibernated", "MaxGroupPreparedCapacity": 4},
        ),
        group("b"),
    ],
    "LaunchTemplateVersions": [version("a"), version("b")],
    "InstanceTypes": [instance_type()],
    "ScalingPolicies": [policy("cpu", "a"), policy("cpu", "b", enabled=False)],
    "ScheduledUpdateGroupActions": [action("night", "a"), action("night", "b")],
    "InstanceRefreshes": [REFRESH],
    "WarmPools": {"a": {"Instances": [member("w", "Warmed:Hibernated")]}},
    "Nodegroups": [{"nodegroup": NODEGROUP}],
})  # fmt: skip


@pytest.fixture
def launches() -> Launches:
    return Launches(VirtualClock(NOW))


@pytest.fixture
def groups(aws_credentials: None, launches: Launches) -> Iterator[Any]:
    with (
        mock_aws(config={"core": {"reset_boto3_session": False}}),
        autoscaling(launches),
        goings_on({REGION: TOLD}),
    ):
        fleets.build(REGION, TOLD, launches)
        yield boto3.client("autoscaling", REGION)


def test_policies_of_one_name_are_those_of_their_groups_and_say_whether_they_are_enabled(groups: Any) -> None:
    found = groups.describe_policies()["ScalingPolicies"]

    assert [(one["AutoScalingGroupName"], one["PolicyName"], one["Enabled"]) for one in found] == [
        ("a", "cpu", True),
        ("b", "cpu", False),
    ]
    assert [one["PolicyName"] for one in groups.describe_policies(AutoScalingGroupName="b")["ScalingPolicies"]] == ["cpu"]


def test_policies_and_schedules_come_in_pages(groups: Any) -> None:
    first = groups.describe_policies(MaxRecords=1)
    second = groups.describe_policies(MaxRecords=1, NextToken=first["NextToken"])

    assert [one["AutoScalingGroupName"] for page in (first, second) for one in page["ScalingPolicies"]] == ["a", "b"]
    assert "NextToken" not in second
    assert groups.describe_scheduled_actions(MaxRecords=1)["NextToken"]


def test_what_is_put_to_moto_is_told_beside_it(groups: Any) -> None:
    groups.put_scaling_policy(AutoScalingGroupName="b", PolicyName="more", ScalingAdjustment=1, AdjustmentType="ExactCapacity")
    groups.put_scheduled_update_group_action(AutoScalingGroupName="b", ScheduledActionName="more", MinSize=2)

    assert {one["PolicyName"] for one in groups.describe_policies()["ScalingPolicies"]} == {"cpu", "more"}
    actions = groups.describe_scheduled_actions(AutoScalingGroupName="b")["ScheduledUpdateGroupActions"]
    assert {one["ScheduledActionName"] for one in actions} == {"night", "more"}


def test_a_scheduled_action_has_its_time(groups: Any) -> None:
    (found,) = groups.describe_scheduled_actions(AutoScalingGroupName="a")["ScheduledUpdateGroupActions"]

    assert found["StartTime"].isoformat() == "2026-01-02T00:00:00+00:00"


def test_a_refresh_is_told_of_its_group_and_an_unknown_group_is_an_error(groups: Any) -> None:
    answer = groups.describe_instance_refreshes(AutoScalingGroupName="a")

    assert [(one["InstanceRefreshId"], one["Status"]) for one in answer["InstanceRefreshes"]] == [("r-1", "InProgress")]
    assert groups.describe_instance_refreshes(AutoScalingGroupName="b")["InstanceRefreshes"] == []
    with pytest.raises(ClientError, match=r"ValidationError.*nowhere"):
        groups.describe_instance_refreshes(AutoScalingGroupName="nowhere")


def test_a_warm_pool_has_its_instances_and_the_group_does_not(groups: Any) -> None:
    pool = groups.describe_warm_pool(AutoScalingGroupName="a")
    (found,) = groups.describe_auto_scaling_groups(AutoScalingGroupNames=["a"])["AutoScalingGroups"]

    assert [one["LifecycleState"] for one in pool["Instances"]] == ["Warmed:Hibernated"]
    assert pool["WarmPoolConfiguration"]["PoolState"] == "Hibernated"
    assert (found["WarmPoolConfiguration"]["MaxGroupPreparedCapacity"], found["WarmPoolSize"]) == (4, 1)
    assert found["Instances"] == []


def members_of(groups: Any) -> dict[str, str]:
    (found,) = groups.describe_auto_scaling_groups(AutoScalingGroupNames=["a"])["AutoScalingGroups"]
    return {one["InstanceId"]: one["LifecycleState"] for one in found["Instances"]}


def test_a_raise_takes_what_is_warm_before_it_launches(groups: Any) -> None:
    groups.set_desired_capacity(AutoScalingGroupName="a", DesiredCapacity=2)

    assert len(members_of(groups)) == 2
    assert members_of(groups)["i-w"] == "Pending"
    assert groups.describe_warm_pool(AutoScalingGroupName="a")["Instances"] == []
    told = {one["Description"] for one in groups.describe_scaling_activities(AutoScalingGroupName="a")["Activities"]}
    assert "Launching a new EC2 instance from warm pool: i-w" in told


def test_what_is_stopped_needs_capacity_to_start_and_is_ended_where_there_is_none(groups: Any, launches: Launches) -> None:
    launches.pools.capacity[REGION, "m5.large"] = 0
    groups.set_desired_capacity(AutoScalingGroupName="a", DesiredCapacity=1)

    assert members_of(groups) == {}
    assert groups.describe_warm_pool(AutoScalingGroupName="a")["Instances"] == []
    first = groups.describe_scaling_activities(AutoScalingGroupName="a")["Activities"][-1]
    assert first["Description"] == "Launching a new EC2 instance from warm pool: i-w"
    assert "do not have sufficient m5.large capacity" in first["StatusMessage"]


def test_what_moto_takes_no_parameter_for_is_answered_as_it_was_told(groups: Any) -> None:
    (found,) = groups.describe_auto_scaling_groups(AutoScalingGroupNames=["a"])["AutoScalingGroups"]
    told = TOLD["AutoScalingGroups"][0]

    kept = ("MaxInstanceLifetime", "CapacityRebalance", "Status", "InstanceMaintenancePolicy", "AvailabilityZoneDistribution")
    assert {key: found[key] for key in kept} == {key: told[key] for key in kept}


def test_a_node_group_has_its_status_health_and_auto_scaling_group(groups: Any) -> None:
    eks = boto3.client("eks", REGION)
    found: dict[str, Any] = {**eks.describe_nodegroup(clusterName="prod", nodegroupName="blue")["nodegroup"]}

    assert {key: found[key] for key in NODEGROUP} == NODEGROUP
