"""Auto Scaling as AWS behaves: launches take time or fail, limits hold, and each activity says what happened."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from spillway.aws import failures
from spillway.model.fleet import FailureClass, Scope
from spillway_local.clock import VirtualClock
from spillway_local.emulator.autoscaling import autoscaling
from spillway_local.emulator.launches import Launches, Timing
from spillway_local.emulator.locks import one_call_at_a_time
from spillway_local.emulator.patching import patched

TYPE, REGION = "m5.large", "us-east-1"


class Account:
    """One region's clients, the controller behind them and the events that it told."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        self.launches = Launches(self.clock, timing=Timing(boot_s=40, refuse_s=4, retry_s=60, end_s=30), emit=self._emit)
        self.launches.pools.vcpus = {TYPE: 2, "c5.large": 2}
        self.groups = boto3.client("autoscaling", REGION)
        self.ec2 = boto3.client("ec2", REGION)

    def _emit(self, region: str, source: str, kind: str, detail: dict[str, Any], resources: list[str]) -> None:
        self.events.append((region, kind, detail))

    def group(
        self, name: str = "gpu", low: int = 0, high: int = 10, zones: tuple[str, ...] = ("us-east-1a",), **fields: Any
    ) -> None:
        self.ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData={"InstanceType": TYPE, "ImageId": "ami-1"})
        if "MixedInstancesPolicy" not in fields:
            fields["LaunchTemplate"] = {"LaunchTemplateName": name, "Version": "$Latest"}
        self.groups.create_auto_scaling_group(
            AutoScalingGroupName=name, MinSize=low, MaxSize=high, AvailabilityZones=list(zones), **fields
        )

    def raise_to(self, desired: int, name: str = "gpu") -> None:
        self.groups.set_desired_capacity(AutoScalingGroupName=name, DesiredCapacity=desired, HonorCooldown=False)

    def members(self, name: str = "gpu") -> list[dict[str, Any]]:
        found = self.groups.describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
        return list(found[0]["Instances"])

    def states(self, name: str = "gpu") -> list[str]:
        return [item["LifecycleState"] for item in self.members(name)]

    def desired(self, name: str = "gpu") -> int:
        found = self.groups.describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
        return int(found[0]["DesiredCapacity"])

    def activities(self, **request: Any) -> list[dict[str, Any]]:
        return list(self.groups.describe_scaling_activities(**request)["Activities"])

    def kinds(self) -> list[str]:
        return [kind for _, kind, _ in self.events if "State-change" not in kind]


@pytest.fixture
def account(aws_credentials: None) -> Iterator[Account]:
    with mock_aws(config={"core": {"reset_boto3_session": False}}):  # type: ignore[arg-type]
        made = Account()
        with patched(one_call_at_a_time(made.launches.lock)), autoscaling(made.launches):
            yield made


def refused(call: Any, *args: Any, **request: Any) -> str:
    with pytest.raises(ClientError) as error:
        call(*args, **request)
    assert error.value.response["Error"]["Code"] == "ValidationError"
    return str(error.value.response["Error"]["Message"])


def test_an_instance_is_pending_until_it_has_booted(account: Account) -> None:
    account.group()
    account.raise_to(2)
    assert account.states() == ["Pending", "Pending"]
    account.clock.run(limit_s=39)
    assert account.states() == ["Pending", "Pending"]
    account.clock.run(limit_s=2)
    assert account.states() == ["InService", "InService"]
    assert {item["StatusCode"] for item in account.activities()} == {"Successful"}
    assert account.kinds() == ["EC2 Instance Launch Successful"] * 2


def test_ec2_knows_the_machine_its_type_zone_and_launch_time(account: Account) -> None:
    account.group(zones=("us-east-1a", "us-east-1b"))
    account.clock.run(limit_s=100)
    account.raise_to(2)
    seen = [item for page in account.ec2.describe_instances()["Reservations"] for item in page["Instances"]]
    assert sorted((item["InstanceType"], item["Placement"]["AvailabilityZone"]) for item in seen) == [
        (TYPE, "us-east-1a"), (TYPE, "us-east-1b"),
    ]  # fmt: skip
    assert {item["LaunchTime"] for item in seen} == {account.clock.now()}
    assert {item["State"]["Name"] for item in seen} == {"pending"}
    account.clock.run(limit_s=50)
    seen = [item for page in account.ec2.describe_instances()["Reservations"] for item in page["Instances"]]
    assert {item["State"]["Name"] for item in seen} == {"running"}


@pytest.mark.parametrize(("desired", "words"), [(11, "above max value 10"), (1, "below min value 2")])
def test_desired_stays_within_min_and_max(account: Account, desired: int, words: str) -> None:
    account.group(low=2)
    assert words in refused(account.raise_to, desired)
    assert account.desired() == 2


def test_an_unknown_group_and_instance_are_validation_errors(account: Account) -> None:
    assert "not found" in refused(account.raise_to, 1, "nowhere")
    assert "not found" in refused(account.activities, AutoScalingGroupName="nowhere")
    end = account.groups.terminate_instance_in_auto_scaling_group
    assert "i-none" in refused(end, InstanceId="i-none", ShouldDecrementDesiredCapacity=True)


def test_lack_of_capacity_is_a_failed_activity_in_the_words_of_aws(account: Account) -> None:
    account.launches.pools.capacity[REGION, TYPE] = 1
    account.group(zones=("us-east-1a", "us-east-1b"))
    account.raise_to(3)
    account.clock.run(limit_s=5)
    failed = [item for item in account.activities() if item["StatusCode"] == "Failed"]
    assert len(failed) == 1
    failure = failures.of_activity(failed[0], account.clock.now())
    assert failure is not None
    assert (failure.failure, failure.scope, failure.zone) == (FailureClass.ZONAL_CAPACITY, Scope.ZONE, "us-east-1b")
    assert account.kinds() == ["EC2 Instance Launch Unsuccessful"]
    assert account.states() == ["Pending"]


def test_a_group_tries_again_until_capacity_is_back(account: Account) -> None:
    account.launches.pools.capacity[REGION, TYPE] = 0
    account.group()
    account.raise_to(1)
    account.clock.run(limit_s=130)
    assert [item["StatusCode"] for item in account.activities()] == ["Failed"] * 3
    account.launches.pools.capacity[REGION, TYPE] = 1
    account.clock.run(limit_s=100)
    assert account.states() == ["InService"]


def test_a_group_whose_desired_was_lowered_tries_no_more(account: Account) -> None:
    account.launches.pools.capacity[REGION, TYPE] = 0
    account.group()
    account.raise_to(1)
    account.clock.run(limit_s=10)
    account.raise_to(0)
    account.clock.run(limit_s=600)
    assert len(account.activities()) == 1


def test_a_dry_zone_gives_way_to_the_next(account: Account) -> None:
    account.launches.pools.capacity[REGION, TYPE, "us-east-1a"] = 0
    account.group(zones=("us-east-1a", "us-east-1b"))
    account.raise_to(2)
    assert [item["AvailabilityZone"] for item in account.members()] == ["us-east-1b"] * 2


def test_a_machine_that_ends_goes_back_to_its_pool(account: Account) -> None:
    account.launches.pools.capacity[REGION, TYPE] = 1
    account.group()
    account.raise_to(1)
    account.clock.run(limit_s=50)
    account.raise_to(0)
    account.clock.run(limit_s=50)
    account.raise_to(1)
    assert account.states() == ["Pending"]


def test_the_quota_refuses_in_its_own_words(account: Account) -> None:
    account.launches.pools.quota_vcpus[REGION] = 3
    account.group()
    account.raise_to(2)
    account.clock.run(limit_s=5)
    failed = next(item for item in account.activities() if item["StatusCode"] == "Failed")
    failure = failures.of_activity(failed, account.clock.now())
    assert failure is not None
    assert (failure.failure, failure.scope) == (FailureClass.VCPU_QUOTA, Scope.QUOTA)


def test_ending_an_instance_takes_time_and_lowers_desired(account: Account) -> None:
    account.group()
    account.raise_to(2)
    account.clock.run(limit_s=50)
    victim = account.members()[0]["InstanceId"]
    for _ in range(2):  # a second delivery changes nothing
        account.groups.terminate_instance_in_auto_scaling_group(InstanceId=victim, ShouldDecrementDesiredCapacity=True)
    assert (account.desired(), sorted(account.states())) == (1, ["InService", "Terminating"])
    account.clock.run(limit_s=31)
    assert (account.desired(), account.states()) == (1, ["InService"])
    found = account.ec2.describe_instances(InstanceIds=[victim])["Reservations"][0]["Instances"][0]
    assert found["State"]["Name"] == "terminated"
    assert account.kinds()[-1] == "EC2 Instance Terminate Successful"


def test_ending_with_decrement_below_min_is_refused(account: Account) -> None:
    account.group(low=1)
    account.clock.run(limit_s=50)
    end = account.groups.terminate_instance_in_auto_scaling_group
    victim = account.members()[0]["InstanceId"]
    assert "desiredSize equals minSize (1)" in refused(end, InstanceId=victim, ShouldDecrementDesiredCapacity=True)
    assert account.states() == ["InService"]


def test_lowering_desired_never_ends_a_protected_instance(account: Account) -> None:
    account.group()
    account.raise_to(2)
    account.clock.run(limit_s=50)
    safe = account.members()[0]["InstanceId"]
    account.groups.set_instance_protection(InstanceIds=[safe], AutoScalingGroupName="gpu", ProtectedFromScaleIn=True)
    account.raise_to(0)
    account.clock.run(limit_s=50)
    assert [item["InstanceId"] for item in account.members()] == [safe]


def test_an_instance_that_was_lost_is_replaced(account: Account) -> None:
    account.group()
    account.raise_to(1)
    account.clock.run(limit_s=50)
    lost = account.members()[0]["InstanceId"]
    account.ec2.terminate_instances(InstanceIds=[lost])
    account.clock.run(limit_s=100)
    assert (account.states(), account.desired()) == (["InService"], 1)
    assert account.members()[0]["InstanceId"] != lost


def test_a_mixed_policy_gives_types_weights_and_markets(account: Account) -> None:
    template = {"LaunchTemplateSpecification": {"LaunchTemplateName": "gpu"}, "Overrides": [
        {"InstanceType": "c5.large", "WeightedCapacity": "2"}, {"InstanceType": TYPE, "WeightedCapacity": "1"},
    ]}  # fmt: skip
    share = {"OnDemandBaseCapacity": 1, "OnDemandPercentageAboveBaseCapacity": 0}
    account.launches.pools.capacity[REGION, "c5.large"] = 2
    account.group(MixedInstancesPolicy={"LaunchTemplate": template, "InstancesDistribution": share})
    account.raise_to(5)
    assert [item["InstanceType"] for item in account.members()] == ["c5.large", "c5.large", TYPE]
    seen = [item for page in account.ec2.describe_instances()["Reservations"] for item in page["Instances"]]
    assert [item.get("InstanceLifecycle") for item in seen] == [None, "spot", "spot"]
    assert [item["WeightedCapacity"] for item in account.members()] == ["2", "2", "1"]


def test_ending_a_weighted_instance_takes_its_weight_off_desired(account: Account) -> None:
    template = {"LaunchTemplateSpecification": {"LaunchTemplateName": "gpu"}, "Overrides": [
        {"InstanceType": TYPE, "WeightedCapacity": "4"},
    ]}  # fmt: skip
    account.group(MixedInstancesPolicy={"LaunchTemplate": template}, low=3)
    account.raise_to(7)
    account.clock.run(limit_s=50)
    account.raise_to(8)
    first, second = (item["InstanceId"] for item in account.members())
    account.groups.terminate_instance_in_auto_scaling_group(InstanceId=first, ShouldDecrementDesiredCapacity=True)
    account.clock.run(limit_s=50)
    assert (account.desired(), len(account.members())) == (4, 1)
    with pytest.raises(ClientError, match="violate group's min size constraint"):
        account.groups.terminate_instance_in_auto_scaling_group(InstanceId=second, ShouldDecrementDesiredCapacity=True)


def test_a_suspended_group_launches_nothing(account: Account) -> None:
    account.group()
    account.groups.suspend_processes(AutoScalingGroupName="gpu", ScalingProcesses=["Launch"])
    account.raise_to(1)
    account.clock.run(limit_s=200)
    assert (account.states(), account.activities()) == ([], [])


def test_activities_come_in_pages_with_those_in_progress_first(account: Account) -> None:
    account.group()
    account.group("cpu")
    account.raise_to(2)
    account.clock.run(limit_s=50)
    account.raise_to(1, "cpu")
    pages = list(account.groups.get_paginator("describe_scaling_activities").paginate(PaginationConfig={"PageSize": 2}))
    found = [item for page in pages for item in page["Activities"]]
    assert (len(pages), len(found), found[0]["StatusCode"]) == (2, 3, "InProgress")
    assert len(account.activities(AutoScalingGroupName="gpu")) == 2
    assert json.loads(found[0]["Details"]) == {"Availability Zone": "us-east-1a"}


def test_regions_are_apart(account: Account) -> None:
    account.group()
    west = boto3.client("autoscaling", "us-west-2")
    assert west.describe_auto_scaling_groups()["AutoScalingGroups"] == []


def test_a_termination_hook_holds_an_instance_until_it_is_completed_or_its_time_is_over(account: Account) -> None:
    account.group()
    account.raise_to(1)
    account.clock.run(limit_s=50)
    for name, transition in (("one", "TERMINATING"), ("two", "TERMINATING"), ("other", "LAUNCHING")):
        account.groups.put_lifecycle_hook(
            AutoScalingGroupName="gpu", LifecycleHookName=name, HeartbeatTimeout=600, DefaultResult="CONTINUE",
            LifecycleTransition=f"autoscaling:EC2_INSTANCE_{transition}",
        )  # fmt: skip
    (held,) = account.members()
    end: dict[str, Any] = {"InstanceId": held["InstanceId"], "ShouldDecrementDesiredCapacity": True}
    for _ in range(2):
        account.groups.terminate_instance_in_auto_scaling_group(**end)
    assert (account.states(), account.desired()) == (["Terminating:Wait"], 0)

    asked = {"AutoScalingGroupName": "gpu", "InstanceId": held["InstanceId"], "LifecycleActionResult": "CONTINUE"}
    complete = account.groups.complete_lifecycle_action
    complete(LifecycleHookName="one", **asked)
    assert "No active Lifecycle Action found" in refused(complete, LifecycleHookName="one", **asked)
    account.clock.run(limit_s=590)
    assert account.states() == ["Terminating:Wait"]
    account.clock.run(limit_s=41)
    assert account.states() == []
