"""What is remembered for speed changes no answer: query, JSON and XML services answer as stock moto does."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from moto import mock_aws

from spillway_local.emulator.patching import patched
from spillway_local.emulator.sooner import sooner


def groups() -> Any:
    client = boto3.client("autoscaling", "us-east-1")
    if not client.describe_auto_scaling_groups()["AutoScalingGroups"]:
        client.create_launch_configuration(LaunchConfigurationName="lc", ImageId="ami-00000001", InstanceType="m5.large")
        for name in ("a", "b"):
            client.create_auto_scaling_group(
                AutoScalingGroupName=name, LaunchConfigurationName="lc", MinSize=1, MaxSize=3, AvailabilityZones=["us-east-1a"],
                Tags=[{"Key": "k8s.io/<odd>&key", "Value": "v", "PropagateAtLaunch": True}],
            )  # fmt: skip
    return client.describe_auto_scaling_groups()["AutoScalingGroups"]


def instances() -> Any:
    client = boto3.client("ec2", "us-east-1")
    if not client.describe_instances()["Reservations"]:
        client.run_instances(ImageId="ami-00000001", MinCount=2, MaxCount=2)
    return client.describe_instances()["Reservations"]


def table() -> Any:
    client = boto3.client("dynamodb", "us-east-1")
    if not client.list_tables()["TableNames"]:
        client.create_table(
            TableName="t", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        )  # fmt: skip
    return client.describe_table(TableName="t")["Table"]


@pytest.mark.parametrize("ask", [groups, instances, table])
def test_an_answer_is_stock_motos(aws_credentials: None, ask: Callable[[], Any]) -> None:
    with mock_aws(config={"core": {"reset_boto3_session": False}}):
        stock = ask()
        with patched(sooner()):
            assert ask() == stock
            assert ask() == stock  # also from what was remembered
