"""A mocked AWS account with the table in it, and a clock that stands still until a test moves it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from moto import mock_aws

from spillway import clock
from spillway.aws import clients, memo
from spillway.aws.table import Table
from spillway.env import env
from spillway_local.emulator.ceilings import Fleet, ceilings
from spillway_local.emulator.goings_on import goings_on
from tests.aws.answers import CLUSTER, NOW

HOME, WEST = "us-east-1", "us-west-2"
TABLE = "spillway"
VCPUS = {"m5.large": 2, "m5.xlarge": 4}
ENVIRONMENT = {
    "SPILLWAY_CLUSTER": CLUSTER, "SPILLWAY_HOME_REGION": HOME, "SPILLWAY_REGIONS": f"{HOME},{WEST}", "SPILLWAY_TABLE": TABLE,
    "AWS_DEFAULT_REGION": HOME, "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_EC2_METADATA_DISABLED": "true",
}  # fmt: skip


@dataclass
class Account:
    table: Table
    now: datetime = NOW

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@contextmanager
def open_account(bounds: Fleet | None = None) -> Iterator[Account]:
    """`bounds` are what moto does not keep of its regions, as a dump has it: quotas, capacity reservations, what goes on with
    groups; without it there are none."""
    account = Account(Table(TABLE, CLUSTER))
    with (
        pytest.MonkeyPatch.context() as patch,
        mock_aws(config={"core": {"reset_boto3_session": False}}),
        ceilings(bounds or {}, VCPUS),
        goings_on(bounds or {}),
    ):
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.setattr(clock, "utcnow", lambda: account.now)
        env.cache_clear()
        memo.clear()
        clients.client("dynamodb", HOME).create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        )
        yield account
    memo.clear()
    env.cache_clear()
