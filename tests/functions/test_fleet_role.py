"""Groups in another account: whatever is asked of the fleet is asked as its role, and nothing else is."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient

from functions.snapshot_fleet import app
from spillway.aws import clients, market
from spillway.aws.table import snapshots
from spillway.env import env
from spillway.errors import AwsForbidden
from tests.aws.account import Account, open_account
from tests.aws.answers import NOW, OURS
from tests.workflow.world import HOME, World, grow, leave, open_world

ROLE = "arn:aws:iam::222222222222:role/fleet"

Asked = list[tuple[str, str]]
"""Service and access key of each call."""


@pytest.fixture(autouse=True)
def _role(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SPILLWAY_FLEET_ROLE_ARN", ROLE)
    monkeypatch.setattr(market, "on_demand_prices", lambda region, types, *_: dict.fromkeys(types, 0.096))
    clients.clear()
    yield
    clients.act_as("", lambda: pytest.fail("nobody takes a role on"))
    clients.clear()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    found: Asked = []
    stock = BaseClient._make_api_call

    def call(self: Any, operation: str, request: Any) -> Any:
        answer = stock(self, operation, request)
        found.append((self.meta.service_model.service_name, self._request_signer._credentials.access_key))
        return answer

    monkeypatch.setattr(BaseClient, "_make_api_call", call)
    return found


def others_than_the_fleets(asked: Asked) -> set[str]:
    """The services that were asked as ourselves, all of whose calls were; the fleet's were all asked as the role."""
    own = {key for service, key in asked if service == "dynamodb"}
    assert len(own) == 1
    for service, key in asked:
        assert (key in own) == (service not in clients.FLEET), service
    return {service for service, key in asked if key in own}


def as_role() -> dict[str, str]:
    """Credentials of the role, as nobody but a test takes them."""
    found = boto3.client("sts", HOME).assume_role(RoleArn=ROLE, RoleSessionName="test")["Credentials"]
    return {
        "aws_access_key_id": found["AccessKeyId"],
        "aws_secret_access_key": found["SecretAccessKey"],
        "aws_session_token": found["SessionToken"],
    }


def create(name: str, **credentials: str) -> None:
    ec2, autoscaling = (boto3.client(service, HOME, **credentials) for service in ("ec2", "autoscaling"))
    data = {"InstanceType": "m5.large", "ImageId": "ami-12c6146b"}
    ec2.create_launch_template(LaunchTemplateName=f"{name}-nodes", LaunchTemplateData=data)
    autoscaling.create_auto_scaling_group(
        AutoScalingGroupName=name, LaunchTemplate={"LaunchTemplateName": f"{name}-nodes", "Version": "$Latest"}, MinSize=0,
        MaxSize=5, DesiredCapacity=1, AvailabilityZones=[f"{HOME}a"],
        Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in OURS.items()],
    )  # fmt: skip


@pytest.fixture
def account() -> Iterator[Account]:
    """Own groups, and those of the role's account."""
    with open_account() as opened:
        create("own")
        create("theirs", **as_role())
        yield opened


@pytest.mark.feature("FS-01")
def test_the_fleet_is_that_of_the_roles_account_and_the_table_is_ours(account: Account, asked: Asked) -> None:
    app.handler({}, None)

    found = snapshots.latest_fleet(account.table)
    assert [group.name for group in found.groups] == ["theirs"]
    (theirs,) = found.groups
    assert theirs.template is not None
    assert [instance.state for instance in theirs.instances] == ["running"]
    assert others_than_the_fleets(asked) == {"dynamodb", "sts"}


@pytest.mark.feature("FS-01")
def test_the_role_is_taken_on_once_and_again_before_its_hour_ends(
    account: Account, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock = clients.ask

    def for_an_hour(service: str, region: str, operation: str, **request: Any) -> Any:
        answer = stock(service, region, operation, **request)
        if operation == "assume_role":
            answer["Credentials"]["Expiration"] = account.now + timedelta(hours=1)
        return answer

    monkeypatch.setattr(clients, "ask", for_an_hour)

    for wait_s, times in ((0, 1), (2600, 1), (500, 2)):
        account.pass_s(wait_s)
        app.handler({}, None)
        assert [service for service, _ in asked].count("sts") == times, f"at {account.now - NOW}"


@pytest.mark.feature("FS-01")
def test_a_role_that_may_not_be_assumed_is_named(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    stock = clients.ask

    def refused(service: str, region: str, operation: str, **request: Any) -> Any:
        if operation == "assume_role":
            raise AwsForbidden(region, "sts:AssumeRole", "not authorized")
        return stock(service, region, operation, **request)

    monkeypatch.setattr(clients, "ask", refused)

    with pytest.raises(AwsForbidden, match="region us-east-1: IAM does not allow sts:AssumeRole"):
        app.handler({}, None)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The role is one of our own account, so that its groups are the world's."""
    monkeypatch.setenv("SPILLWAY_FLEET_ROLE_ARN", ROLE.replace("222222222222", "123456789012"))
    with open_world() as opened:
        env.cache_clear()
        yield opened


@pytest.mark.feature("FS-01")
def test_groups_are_raised_watched_and_made_smaller_as_the_role(world: World, asked: Asked) -> None:
    world.group(desired=1)
    world.plan(grow(1), leave(2, world.members()[0]))
    asked.clear()

    assert world.call("scale_out", region=HOME, steps=[1])["raised"] == 2
    assert world.call("verify_instances", action="check", region=HOME)["unready"] == 2
    assert world.call("scale_in", action="terminate", region=HOME, step=2)["status"] == "ending"

    assert others_than_the_fleets(asked) == {"dynamodb", "sts"}
