"""A region whose groups need every call of the fleet snapshot, and AWS's answers to each, to be spoilt by a test."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from spillway.aws import clients
from tests.aws.account import HOME, WEST, Account, open_account
from tests.aws.answers import NOW, activity, group, instance_type, member, mixed, version

Answer = dict[str, Any]
Told = Answer | Callable[[Mapping[str, Any]], Answer]
"""Of one page, or made of the request."""

_MIXED = mixed("attributes", [], 0)["MixedInstancesPolicy"]
_MIXED["LaunchTemplate"]["Overrides"] = [{"InstanceRequirements": {"VCpuCount": {"Min": 2}, "MemoryMiB": {"Min": 8192}}}]
_ARN = "arn:aws:resource-groups:us-east-1:123456789012:group/blocks"
_RESERVED = {
    "CapacityReservationPreference": "capacity-reservations-only",
    "CapacityReservationTarget": {"CapacityReservationResourceGroupArns": [_ARN]},
}
GROUPS = ("attributes", "configured", "managed", "plain", "reserved", "warm")


def price(usd: str, name: str = "m5.large") -> str:
    dimensions = {"priceDimensions": {"rate": {"pricePerUnit": {"USD": usd}}}}
    return json.dumps({"product": {"attributes": {"instanceType": name}}, "terms": {"OnDemand": {"term": dimensions}}})


def _groups() -> list[Answer]:
    return [
        group("attributes", LaunchTemplate=None, MixedInstancesPolicy=copy.deepcopy(_MIXED)),
        group("configured", LaunchTemplate=None, LaunchConfigurationName="lc"),
        group("managed", tags={"eks:cluster-name": "prod", "eks:nodegroup-name": "blue"}),
        group("plain", Instances=[member("a")], DesiredCapacity=2),
        group("reserved", CapacityReservationSpecification=copy.deepcopy(_RESERVED)),
        group("warm", WarmPoolConfiguration={"MinSize": 1, "PoolState": "Stopped"}, WarmPoolSize=1),
    ]


def _versions(request: Mapping[str, Any]) -> Answer:
    name = request["LaunchTemplateId"].removeprefix("lt-")
    found = version(name, ImageId="ami-1")
    if name == "attributes":
        del found["LaunchTemplateData"]["InstanceType"]
    return {"LaunchTemplateVersions": [found]}


def answers() -> dict[str, Told]:
    """By operation."""
    dimensions = {"Class": "Standard/OnDemand", "Resource": "vCPU", "Service": "EC2", "Type": "Resource"}
    metric = {"MetricNamespace": "AWS/Usage", "MetricName": "ResourceCount", "MetricDimensions": dimensions}
    quota = {"QuotaCode": "L-1216C47A", "QuotaName": "On-Demand Standard", "Value": 64.0, "UsageMetric": metric}
    managed = {
        "nodegroupName": "blue", "status": "ACTIVE", "resources": {"autoScalingGroups": [{"name": "managed"}]},
        "taints": [{"key": "team", "effect": "NO_SCHEDULE"}],
    }  # fmt: skip
    spot = {
        "InstanceType": "m5.large", "AvailabilityZone": "us-east-1a", "SpotPrice": "0.04", "Timestamp": NOW,
        "ProductDescription": "Linux/UNIX",
    }  # fmt: skip
    reservation = {
        "CapacityReservationId": "cr-1", "InstanceType": "m5.large", "AvailabilityZone": "us-east-1a",
        "TotalInstanceCount": 3, "AvailableInstanceCount": 1, "State": "active",
    }  # fmt: skip
    policy = {"AutoScalingGroupName": "plain", "PolicyName": "cpu", "PolicyType": "TargetTrackingScaling", "Enabled": True}
    ours = {"Identifier": {"ResourceArn": "arn:aws:ec2:us-east-1:123456789012:capacity-reservation/cr-1"}}
    refresh = {"InstanceRefreshId": "r", "AutoScalingGroupName": "plain", "Status": "Successful"}
    refused = activity("We currently do not have sufficient m5.large capacity", AutoScalingGroupName="plain")
    machine = {"InstanceId": "i-a", "InstanceType": "m5.large", "LaunchTime": NOW, "State": {"Name": "running"}}
    return {
        "describe_auto_scaling_groups": {"AutoScalingGroups": _groups()},
        "describe_scaling_activities": {"Activities": [refused]},
        "describe_instances": {"Reservations": [{"Instances": [machine]}]},
        "describe_launch_template_versions": _versions,
        "describe_launch_configurations": {
            "LaunchConfigurations": [{"LaunchConfigurationName": "lc", "InstanceType": "m5.large", "ImageId": "ami-1"}]
        },
        "describe_nodegroup": {"nodegroup": managed},
        "describe_warm_pool": {"Instances": [member("w", "Warmed:Stopped")]},
        "describe_instance_refreshes": {"InstanceRefreshes": [refresh]},
        "describe_policies": {"ScalingPolicies": [policy]},
        "describe_scheduled_actions": {
            "ScheduledUpdateGroupActions": [{"AutoScalingGroupName": "plain", "ScheduledActionName": "night", "MinSize": 1}]
        },
        "list_service_quotas": {"Quotas": [quota, {**quota, "QuotaCode": "L-34B43A08", "QuotaName": "Spot Standard"}]},
        "get_metric_data": {"MetricDataResults": [{"Id": "l_1216c47a", "Timestamps": [NOW], "Values": [10.0]}]},
        "describe_images": {"Images": [{"ImageId": "ami-1", "Name": "amazon-eks-node-al2023", "Architecture": "x86_64"}]},
        "get_instance_types_from_instance_requirements": {"InstanceTypes": [{"InstanceType": "m5.large"}]},
        "describe_instance_types": {"InstanceTypes": [instance_type()]},
        "describe_spot_price_history": {"SpotPriceHistory": [spot]},
        "get_products": {"PriceList": [price("0.096")]},
        "describe_capacity_reservations": {"CapacityReservations": [reservation]},
        "list_group_resources": {"Resources": [ours]},
    }


def nothing() -> dict[str, Told]:
    """By operation: a region in which there is nothing of what is asked for."""
    return {
        operation: {key: [] if isinstance(value, list) else value for key, value in answer.items()}
        for operation, answer in answers().items()
        if isinstance(answer, dict)
    }


@contextmanager
def told(regions: Mapping[str, Mapping[str, Told]], asked: set[str] | None = None) -> Iterator[Account]:
    """An account whose regions answer so; `asked` is filled with the operations that were. The table is moto's."""
    real_pages, real_ask = clients.pages, clients.ask

    def answer(region: str, operation: str, request: Mapping[str, Any]) -> Any:
        if asked is not None:
            asked.add(operation)
        found = regions[region][operation]
        return found(request) if callable(found) else copy.deepcopy(found)

    def pages(service: str, region: str, operation: str, **request: Any) -> Iterator[Any]:
        if service == "dynamodb":
            yield from real_pages(service, region, operation, **request)
        else:
            yield answer(region, operation, request)

    def ask(service: str, region: str, operation: str, **request: Any) -> Any:
        if service == "dynamodb":
            return real_ask(service, region, operation, **request)
        return answer(region, operation, request)

    with open_account() as account, pytest.MonkeyPatch.context() as patch:
        patch.setattr(clients, "pages", pages)
        patch.setattr(clients, "ask", ask)
        yield account


@contextmanager
def spoilt(spoil: Callable[[dict[str, Any]], object]) -> Iterator[Account]:
    """WEST, or what is asked at home for it, answers as `spoil` has changed it."""
    west = answers()
    spoil(west)
    home = answers()
    home["get_products"] = west["get_products"]
    with told({HOME: home, WEST: west}) as account:
        yield account
