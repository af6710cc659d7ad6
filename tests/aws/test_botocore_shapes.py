"""The answers that tests and examples give are such as AWS could give."""

import json
from pathlib import Path
from typing import Any

import pytest

from spillway_local.dump import LISTS, MAPPINGS
from spillway_local.dump_files import files
from tests.aws import botocore_shapes

ROOT = Path(__file__).parents[2]
RECORDED = sorted((ROOT / "tests/data/aws-recorded").glob("*.json"))
REGIONS = sorted(path for path in ROOT.glob("examples/*/fleet/*") if path.is_dir())


@pytest.mark.parametrize("folder", REGIONS, ids=lambda path: f"{path.parents[1].name}-{path.name}")
def test_each_example_holds_answers_of_aws(folder: Path) -> None:
    for _, raw in files(folder):
        botocore_shapes.region(json.loads(raw))


@pytest.mark.parametrize("file", RECORDED, ids=lambda path: path.stem)
def test_what_aws_really_answered_passes(file: Path) -> None:
    botocore_shapes.region(json.loads(file.read_bytes()))


def test_a_field_that_aws_does_not_know_is_named() -> None:
    with pytest.raises(AssertionError, match=r"Unknown parameter in AutoScalingGroups\[0\]: .Desired"):
        botocore_shapes.region({"AutoScalingGroups": [_group(Desired=1)]})


def test_a_field_of_another_type_is_named() -> None:
    with pytest.raises(AssertionError, match=r"Invalid type for parameter AutoScalingGroups\[0\].MinSize"):
        botocore_shapes.region({"AutoScalingGroups": [_group(MinSize="0")]})


def test_every_key_that_is_judged_is_one_of_a_dump() -> None:
    assert {*botocore_shapes.OPERATIONS, "WarmPools", "Nodegroups"} <= LISTS | MAPPINGS


def _group(**fields: Any) -> dict[str, Any]:
    item = {
        "AutoScalingGroupName": "g", "MinSize": 0, "MaxSize": 1, "DesiredCapacity": 0, "DefaultCooldown": 300,
        "AvailabilityZones": ["us-east-1a"], "HealthCheckType": "EC2", "CreatedTime": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    return item | fields
