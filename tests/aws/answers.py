"""AWS answers for tests, each held against botocore's model of it: a field that AWS does not know fails the test."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.aws.botocore_shapes import checked

CLUSTER = "prod"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
OURS = {"k8s.io/cluster-autoscaler/enabled": "true", f"k8s.io/cluster-autoscaler/{CLUSTER}": "owned"}
NODE_TEMPLATE = "k8s.io/cluster-autoscaler/node-template/"


def group(name: str = "g", *, tags: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """A group of the cluster with launch template `lt-<name>`, alias `<name>-nodes`, version 1; a field of None is left out."""
    item = {
        "AutoScalingGroupName": name, "MinSize": 0, "MaxSize": 10, "DesiredCapacity": 0, "DefaultCooldown": 300,
        "AvailabilityZones": ["us-east-1a"], "HealthCheckType": "EC2", "CreatedTime": NOW, "Instances": [],
        "SuspendedProcesses": [], "LaunchTemplate": reference(name),
        "Tags": [{"Key": key, "Value": value} for key, value in (OURS | (tags or {})).items()],
    }  # fmt: skip
    item |= fields
    return checked("autoscaling", "AutoScalingGroup", {key: value for key, value in item.items() if value is not None})


def reference(name: str, version: str = "1") -> dict[str, str]:
    return {"LaunchTemplateId": f"lt-{name}", "LaunchTemplateName": f"{name}-nodes", "Version": version}


def mixed(name: str, types: list[str], on_demand_percent: int = 100, **distribution: Any) -> dict[str, Any]:
    """Fields of a mixed group, for `group`."""
    return {
        "LaunchTemplate": None,
        "MixedInstancesPolicy": {
            "LaunchTemplate": {
                "LaunchTemplateSpecification": reference(name),
                "Overrides": [{"InstanceType": kind} for kind in types],
            },
            "InstancesDistribution": {
                "OnDemandBaseCapacity": 0, "OnDemandPercentageAboveBaseCapacity": on_demand_percent, **distribution
            },
        },
    }  # fmt: skip


def version(name: str = "g", kind: str = "m5.large", number: int = 1, default: bool = True, **data: Any) -> dict[str, Any]:
    item = {
        "LaunchTemplateId": f"lt-{name}", "LaunchTemplateName": f"{name}-nodes", "VersionNumber": number,
        "DefaultVersion": default, "LaunchTemplateData": {"InstanceType": kind, **data},
    }  # fmt: skip
    return checked("ec2", "LaunchTemplateVersion", item)


def member(name: str, state: str = "InService", **fields: Any) -> dict[str, Any]:
    item = {
        "InstanceId": f"i-{name}", "InstanceType": "m5.large", "AvailabilityZone": "us-east-1a", "LifecycleState": state,
        "HealthStatus": "Healthy", "ProtectedFromScaleIn": False, **fields,
    }  # fmt: skip
    return checked("autoscaling", "Instance", item)


def instance_type(name: str = "m5.large", cpu: int = 2, mib: int = 8192, **fields: Any) -> dict[str, Any]:
    item = {
        "InstanceType": name, "VCpuInfo": {"DefaultVCpus": cpu}, "MemoryInfo": {"SizeInMiB": mib},
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        "NetworkInfo": {"MaximumNetworkInterfaces": 3, "Ipv4AddressesPerInterface": 10}, **fields,
    }  # fmt: skip
    return checked("ec2", "InstanceTypeInfo", item)


def activity(text: str = "", status: str = "Failed", age_s: float = 60, took_s: float = 1, **fields: Any) -> dict[str, Any]:
    """A launch of group g that began `age_s` before NOW."""
    start = NOW - timedelta(seconds=age_s)
    item: dict[str, Any] = {
        "ActivityId": f"a-{status}-{age_s}", "AutoScalingGroupName": "g", "Description": "Launching a new EC2 instance",
        "Cause": "At 2026-01-01T11:00:00Z an instance was started in response to a difference between desired and actual "
        "capacity, increasing the capacity from 0 to 1.",
        "StartTime": start, "StatusCode": status, "Progress": 100,
        "Details": json.dumps({"Subnet ID": "subnet-1", "Availability Zone": "us-east-1a"}),
    }  # fmt: skip
    if text:
        item |= {"StatusMessage": text, "Description": f"Launching a new EC2 instance.  Status Reason: {text}"}
    if status in ("Failed", "Successful", "Cancelled"):
        item["EndTime"] = start + timedelta(seconds=took_s)
    return checked("autoscaling", "Activity", item | fields)


def region(*groups: dict[str, Any], **answers: Any) -> dict[str, Any]:
    """A region's answers: each group's template launches m5.large, which is known and costs 0.096 USD an hour."""
    return {
        "AutoScalingGroups": list(groups),
        "LaunchTemplateVersions": [version(one["AutoScalingGroupName"]) for one in groups],
        "InstanceTypes": [instance_type()],
        "OnDemandPrices": {"m5.large": 0.096},
        **answers,
    }
