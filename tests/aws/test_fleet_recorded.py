"""Real answers of AWS, 2016 to 2024, judge the decoder: see tests/data/aws-recorded/README.md."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import moto
import pytest

from spillway.aws import fleet
from spillway.model.fleet import FleetSnapshot
from spillway.model.reason import Code
from tests.aws.answers import CLUSTER, NOW

RECORDED = Path(__file__).parents[1] / "data" / "aws-recorded"
TYPES = ("t1.micro", "t2.micro", "t2.small", "t2.medium", "t3a.micro", "m3.medium")


@cache
def recorded(kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((RECORDED / f"{kind}.json").read_text())[kind]
    return found


@cache
def catalogue() -> list[dict[str, Any]]:
    """moto's copy of DescribeInstanceTypes, as far as the groups name the types."""
    packed = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"
    known = json.loads(gzip.decompress(packed.read_bytes()))
    return [known[name] for name in TYPES if name in known]


def snapshot(group: dict[str, Any]) -> FleetSnapshot:
    """Each alone, since the recordings are of several accounts and name some groups twice."""
    region = group["AvailabilityZones"][0][:-1]
    answers = {
        "AutoScalingGroups": [group],
        "LaunchConfigurations": recorded("LaunchConfigurations"),
        "LaunchTemplateVersions": recorded("LaunchTemplateVersions"),
        "InstanceTypes": catalogue(),
    }
    return fleet.reduce(CLUSTER, region, NOW, {region: answers}, [f"{region}/{group['AutoScalingGroupName']}"])


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
    lacking = [group.problem for group in found if not group.template and "does not list it" not in group.problem]

    assert len(found) == 40
    assert sum(group.template is not None for group in found) >= 10
    assert all("requirements" in problem for problem in lacking), lacking
