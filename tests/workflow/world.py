"""A mocked AWS account with the table in it, and a clock that stands still until a test moves it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from moto import mock_aws

from spillway import clock
from spillway.aws import clients
from spillway.aws.table import Table
from spillway.env import env

HOME = "us-east-1"
CLUSTER = "prod"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TABLE = "spillway"
ENVIRONMENT = {
    "SPILLWAY_CLUSTER": CLUSTER,
    "SPILLWAY_HOME_REGION": HOME,
    "SPILLWAY_REGIONS": "us-east-1,us-west-2",
    "SPILLWAY_TABLE": TABLE,
    "SPILLWAY_STATE_MACHINE_ARN": "arn:aws:states:us-east-1:123456789012:stateMachine:execute-plan",
    "AWS_DEFAULT_REGION": HOME,
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
}


@dataclass
class Clock:
    now: datetime = field(default=NOW)

    def __call__(self) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class World:
    table: Table
    clock: Clock


@contextmanager
def open_world() -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch, mock_aws(config={"core": {"reset_boto3_session": False}}):
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        now = Clock()
        patch.setattr(clock, "utcnow", now)
        env.cache_clear()
        clients.client("dynamodb", HOME).create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        )
        yield World(Table(TABLE, CLUSTER), now)
    env.cache_clear()
