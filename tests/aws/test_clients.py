"""Clients are made once, and their errors name the region, the permission and the remedy."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from spillway.aws import clients
from spillway.errors import AwsForbidden, AwsUnavailable

pytestmark = pytest.mark.usefixtures("aws_credentials")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    clients.clear()
    yield
    clients.clear()


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "DescribeInstances")


def test_makes_one_client_for_each_service_and_region() -> None:
    assert clients.client("ec2", "us-east-1") is clients.client("ec2", "us-east-1")
    assert clients.client("ec2", "us-west-2") is not clients.client("ec2", "us-east-1")


def test_retries_gives_up_in_time_and_says_who_it_is() -> None:
    config = clients.client("ec2", "us-east-1").meta.config

    assert config.retries == {"mode": "standard", "total_max_attempts": 5}
    assert (config.connect_timeout, config.read_timeout) == (5, 20)
    assert f"spillway/{clients.VERSION}" in config.user_agent


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]

    assert project["version"] == clients.VERSION


@pytest.mark.parametrize("code", sorted(clients.DENIED))
def test_names_the_permission_that_is_missing(code: str) -> None:
    with (
        pytest.raises(AwsForbidden, match="us-west-2: IAM does not allow ec2:DescribeInstances"),
        clients.asking("us-west-2", "ec2:DescribeInstances"),
    ):
        raise refusal(code)


@pytest.mark.parametrize("error", [refusal("RequestLimitExceeded"), EndpointConnectionError(endpoint_url="https://x")])
def test_any_other_error_is_no_answer(error: Exception) -> None:
    with (
        pytest.raises(AwsUnavailable, match="us-west-2: ec2:DescribeInstances failed"),
        clients.asking("us-west-2", "ec2:DescribeInstances"),
    ):
        raise error


def test_knows_the_permission_of_a_method() -> None:
    assert (
        clients.action_of("autoscaling", "us-east-1", "describe_scaling_activities") == "autoscaling:DescribeScalingActivities"
    )
