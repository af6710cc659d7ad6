"""Real answers of AWS, 2016 to 2024, judge the fleet snapshot from its handler on: see tests/data/aws-recorded/README.md."""

import gzip
import json
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import moto
import pytest

from functions.snapshot_fleet import app
from spillway.aws.table import snapshots
from spillway.env import env
from spillway.model.fleet import CapacityType, FleetSnapshot
from spillway.model.market import CeilingKind
from spillway.model.quotas import CODES
from spillway.model.reason import Code
from spillway_local.emulator.requirements import meets
from tests.aws.account import HOME
from tests.aws.answers import group as made_up
from tests.aws.answers import version
from tests.aws.every_answer import Told, nothing, told

RECORDED = Path(__file__).parents[1] / "data" / "aws-recorded"


@cache
def recorded(kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((RECORDED / f"{kind}.json").read_text())[kind]
    return found


@cache
def catalogue() -> dict[str, dict[str, Any]]:
    """moto's copy of DescribeInstanceTypes, by name."""
    packed = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"
    found: dict[str, dict[str, Any]] = json.loads(gzip.decompress(packed.read_bytes()))
    return found


def types(request: Mapping[str, Any]) -> dict[str, Any]:
    """Of the names in its filter."""
    (wanted,) = request["Filters"]
    return {"InstanceTypes": [catalogue()[name] for name in wanted["Values"] if name in catalogue()]}


def types_with(request: Mapping[str, Any]) -> dict[str, Any]:
    """Those that have its attributes."""
    found = [name for name, kind in catalogue().items() if meets(kind, request["InstanceRequirements"])]
    return {"InstanceTypes": [{"InstanceType": name} for name in found]}


def named(kind: str, key: str, names: Collection[str]) -> dict[str, Any]:
    """What AWS would answer to these names."""
    return {kind: [item for item in recorded(kind) if item[key] in names]}


def versions(request: Mapping[str, Any]) -> dict[str, Any]:
    """Of one template by id or name, and one version."""
    (key,) = {"LaunchTemplateId", "LaunchTemplateName"} & request.keys()
    (wanted,) = request["Versions"]
    mine = [item for item in recorded("LaunchTemplateVersions") if item[key] == request[key]]
    newest = max((item["VersionNumber"] for item in mine), default=0)
    is_meant = {
        "$Latest": lambda item: item["VersionNumber"] == newest,
        "$Default": lambda item: item["DefaultVersion"],
    }.get(wanted, lambda item: str(item["VersionNumber"]) == wanted)
    return {"LaunchTemplateVersions": [item for item in mine if is_meant(item)]}


def answers(group: Mapping[str, Any]) -> dict[str, Told]:
    """A region that has this group, and of all else what was recorded."""
    return {
        **nothing(),
        "describe_auto_scaling_groups": lambda request: {
            "AutoScalingGroups": [
                item for item in [group] if item["AutoScalingGroupName"] in request.get("AutoScalingGroupNames", ())
            ]
        },
        "describe_launch_configurations": lambda request: named(
            "LaunchConfigurations", "LaunchConfigurationName", request["LaunchConfigurationNames"]
        ),
        "describe_launch_template_versions": versions,
        "list_service_quotas": {"Quotas": [{"QuotaCode": code, "Value": 1000.0} for code in sorted(CODES)]},
        "describe_instance_types": types,
        "get_instance_types_from_instance_requirements": types_with,
        "describe_capacity_reservations": {"CapacityReservations": recorded("CapacityReservations")},
    }


def snapshot(group: Mapping[str, Any], **other: Told) -> FleetSnapshot:
    """Stored by the handler; `other` answers by operation.

    Each group alone, since the recordings are of several accounts and name some groups twice.
    """
    region = group["AvailabilityZones"][0][:-1]
    with told({HOME: nothing(), region: answers(group) | other}) as account, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPILLWAY_REGIONS", ",".join({HOME, region}))
        patch.setenv("SPILLWAY_GROUP_NAMES", f"{region}/{group['AutoScalingGroupName']}")
        env.cache_clear()
        app.handler({}, None)
        return snapshots.latest_fleet(account.table)


@pytest.mark.feature("FS-02")
@pytest.mark.parametrize("number", range(40))
def test_every_group_is_read_or_says_why_not(number: int) -> None:
    raw = recorded("AutoScalingGroups")[number]

    found = snapshot(raw)

    (group,) = found.groups
    assert (group.name, group.desired, len(group.instances)) == (
        raw["AutoScalingGroupName"],
        raw["DesiredCapacity"],
        len(raw["Instances"]),
    )
    assert len(group.suspended) == len(raw["SuspendedProcesses"])
    if group.template:
        assert not found.warnings
        assert group.template.allocatable["cpu"] > 0
        assert group.template.allocatable["memory"] > 0
    else:
        assert [warning.code for warning in found.warnings] == [Code.GROUP_UNREADABLE]
        assert group.problem in found.warnings[0].text


@pytest.mark.feature("FS-02")
def test_there_are_forty_and_a_dozen_of_them_have_their_template() -> None:
    """What the others lack is not in the recording; were it the decoder's fault, it would be a lot more."""
    found = [snapshot(group).groups[0] for group in recorded("AutoScalingGroups")]
    lacking = [group.problem for group in found if not group.template]

    assert len(found) == 40
    assert sum(group.template is not None for group in found) >= 10
    assert all("does not list it" in problem for problem in lacking), lacking


@pytest.mark.feature("FS-11")
def test_the_recorded_reservation_bounds_a_group_that_launches_into_nothing_else() -> None:
    """It is full: one of one instance is taken."""
    reserving = made_up(
        AvailabilityZones=["ap-southeast-1c"],
        CapacityReservationSpecification={"CapacityReservationPreference": "capacity-reservations-only"},
    )

    found = snapshot(reserving, describe_launch_template_versions={"LaunchTemplateVersions": [version(kind="c5.4xlarge")]})

    (group,) = found.groups
    (bound,) = found.ceilings
    assert (group.problem, group.capacity_type) == ("", CapacityType.RESERVED)
    assert [dict(draw) for draw in group.draws] == [{"cr-0004ba84180b29fa3": 1000}]
    assert (bound.kind, bound.limit, bound.used, bound.open) == (CeilingKind.RESERVATION, 1, 1, True)
    assert bound.name == "cr-0004ba84180b29fa3 (c5.4xlarge in ap-southeast-1c)"
