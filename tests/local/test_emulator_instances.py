"""DescribeInstances answers what stock moto answers, in the fields that it keeps."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from spillway_local.emulator.instances import short_instances
from spillway_local.emulator.patching import patched


@pytest.fixture
def ec2(aws_credentials: None) -> Iterator[Any]:
    with mock_aws(config={"core": {"reset_boto3_session": False}}):
        client = boto3.client("ec2", "us-east-1")
        client.run_instances(ImageId="ami-00000001", InstanceType="m5.large", MinCount=2, MaxCount=2)
        client.run_instances(ImageId="ami-00000001", InstanceType="c5.large", MinCount=1, MaxCount=1)
        yield client


def by_id(answer: Any) -> dict[str, Any]:
    return {instance["InstanceId"]: instance for group in answer["Reservations"] for instance in group["Instances"]}


@pytest.mark.parametrize(
    "asked",
    [{}, {"Filters": [{"Name": "instance-type", "Values": ["c5.large"]}]}, {"MaxResults": 5}],
    ids=["all", "some", "a page"],
)
def test_every_field_that_is_kept_is_stock_motos(ec2: Any, asked: Any) -> None:
    stock = by_id(ec2.describe_instances(**asked))
    with patched([short_instances()]):
        ours = by_id(ec2.describe_instances(**asked))
    assert ours.keys() == stock.keys()
    for name, instance in ours.items():
        full = stock[name] | {"Placement": {"AvailabilityZone": stock[name]["Placement"]["AvailabilityZone"]}}
        assert instance == {key: full[key] for key in instance}
        assert {"InstanceId", "InstanceType", "LaunchTime", "State"} <= instance.keys()


def test_an_unknown_id_is_the_same_error(ec2: Any) -> None:
    with patched([short_instances()]), pytest.raises(ClientError, match=r"InvalidInstanceID\.NotFound"):
        ec2.describe_instances(InstanceIds=["i-00000000000000000"])
