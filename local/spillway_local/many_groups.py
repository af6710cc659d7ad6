"""Fleets of any size, in the form of a dump: what a tick takes is counted and timed on them."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from spillway.aws.groups import discovery_tags
from spillway_local.world_dump import RawDump

CLUSTER = "large"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = tuple(f"{family}.{size}" for family in ("c5", "c6i", "m5", "m6i", "r5") for size in ("large", "2xlarge"))
_PRICES = {name: 0.1 * (number + 1) for number, name in enumerate(TYPES)}


def fleet(regions: Sequence[str], groups: int) -> RawDump:
    """`groups` in each region, each with one node and a launch template of its own, `$Latest`; every fifth launches spot
    instances of three types."""
    return RawDump(CLUSTER, regions[0], NOW, (), {region: _answers(region, groups) for region in regions})


def name_of(number: int) -> str:
    return f"group-{number:04}"


def _answers(region: str, groups: int) -> dict[str, Any]:
    return {
        "AutoScalingGroups": [_group(region, number) for number in range(groups)],
        "LaunchTemplateVersions": [_version(number) for number in range(groups)],
        "Reservations": list(_machines(region, groups)),
        "OnDemandPrices": _PRICES,
    }


def _kind(number: int) -> str:
    return TYPES[number % len(TYPES)]


def _template(number: int) -> dict[str, str]:
    return {"LaunchTemplateName": f"{name_of(number)}-nodes", "Version": "$Latest"}


def _version(number: int) -> dict[str, Any]:
    name = _template(number)["LaunchTemplateName"]
    data = {"InstanceType": _kind(number)}
    return {"LaunchTemplateName": name, "LaunchTemplateId": f"lt-{number:017x}", "VersionNumber": 1, "DefaultVersion": True,
            "LaunchTemplateData": data}  # fmt: skip


def _group(region: str, number: int) -> dict[str, Any]:
    tags = [{"Key": key, "Value": "owned", "PropagateAtLaunch": True} for key in discovery_tags(CLUSTER)]
    member = {
        "InstanceId": _instance_id(number), "InstanceType": _kind(number), "AvailabilityZone": f"{region}a",
        "LifecycleState": "InService", "HealthStatus": "Healthy", "ProtectedFromScaleIn": False,
    }  # fmt: skip
    return {
        "AutoScalingGroupName": name_of(number), "MinSize": 0, "MaxSize": 50, "DesiredCapacity": 1,
        "AvailabilityZones": [f"{region}a"], "Instances": [member], "Tags": tags, **_launch(number),
    }  # fmt: skip


def _launch(number: int) -> dict[str, Any]:
    if number % 5:
        return {"LaunchTemplate": _template(number)}
    overrides = [{"InstanceType": _kind(number + more)} for more in range(3)]
    template = {"LaunchTemplateSpecification": _template(number), "Overrides": overrides}
    return {
        "MixedInstancesPolicy": {
            "LaunchTemplate": template,
            "InstancesDistribution": {"OnDemandBaseCapacity": 0, "OnDemandPercentageAboveBaseCapacity": 0},
        }
    }


def _machines(region: str, groups: int) -> Iterator[dict[str, Any]]:
    for number in range(groups):
        machine = {
            "InstanceId": _instance_id(number), "InstanceType": _kind(number), "LaunchTime": "2025-12-31T00:00:00+00:00",
            "Placement": {"AvailabilityZone": f"{region}a"}, "State": {"Code": 16, "Name": "running"},
        }  # fmt: skip
        yield {"Instances": [machine]}


def _instance_id(number: int) -> str:
    return f"i-{number:017x}"
