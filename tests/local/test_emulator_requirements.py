"""Types by attributes, which stock moto does not answer: our addition answers as the EC2 API documents, through boto3."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from spillway_local.emulator.patching import added
from spillway_local.emulator.requirements import instance_requirements

OPERATION = "get_instance_types_from_instance_requirements"
SMALL = {"VCpuCount": {"Min": 2, "Max": 2}, "MemoryMiB": {"Min": 8192, "Max": 8192}}


@pytest.fixture
def ec2(aws_credentials: None) -> Iterator[Any]:
    with mock_aws(config={"core": {"reset_boto3_session": False}}):
        yield boto3.client("ec2", "us-east-1")


def types(ec2: Any, architecture: str = "x86_64", **wanted: Any) -> set[str]:
    with added([instance_requirements()]):
        pages = ec2.get_paginator(OPERATION).paginate(
            ArchitectureTypes=[architecture], VirtualizationTypes=["hvm"], InstanceRequirements={**SMALL, **wanted}
        )
        return {item["InstanceType"] for page in pages for item in page["InstanceTypes"]}


def test_stock_moto_does_not_know_the_operation(ec2: Any) -> None:
    with pytest.raises(NotImplementedError):
        ec2.get_instance_types_from_instance_requirements(
            ArchitectureTypes=["x86_64"], VirtualizationTypes=["hvm"], InstanceRequirements=SMALL
        )


def test_types_have_the_cores_memory_and_architecture_and_no_more_than_the_request_allows(ec2: Any) -> None:
    assert {"m5.large", "m6i.large", "m5d.large"} <= types(ec2)
    assert not {"m5.xlarge", "c5.large", "r5.large", "m7g.large", "t3.large"} & types(ec2), "nor burstable ones"
    assert "m7g.large" in types(ec2, "arm64")


@pytest.mark.parametrize(
    ("wanted", "has", "lacks"),
    [
        ({"BurstablePerformance": "required"}, "t3.large", "m5.large"),
        ({"LocalStorage": "excluded"}, "m5.large", "m5d.large"),
        ({"ExcludedInstanceTypes": ["m5*"]}, "m6i.large", "m5.large"),
        ({"AllowedInstanceTypes": ["m5.*"]}, "m5.large", "m6i.large"),
        ({"CpuManufacturers": ["amd"]}, "m5a.large", "m5.large"),
        ({"VCpuCount": {"Min": 4}, "MemoryMiB": {"Min": 1}, "AcceleratorTypes": ["gpu"]}, "g5.xlarge", "m5.xlarge"),
        ({"MemoryMiB": {"Min": 1}, "MemoryGiBPerVCpu": {"Min": 8}}, "r5.large", "m5.large"),
    ],
)
def test_each_attribute_sieves(ec2: Any, wanted: dict[str, Any], has: str, lacks: str) -> None:
    found = types(ec2, **wanted)

    assert has in found
    assert lacks not in found
