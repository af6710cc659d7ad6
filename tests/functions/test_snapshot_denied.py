"""Each call that IAM does not allow is named as IAM names it, and costs what that call alone tells."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from functions.snapshot_fleet import app
from spillway.aws import clients
from spillway.aws.table import snapshots
from spillway.model.fleet import FleetSnapshot
from spillway.model.reason import Code
from spillway_local import iam
from tests.aws.account import HOME, WEST
from tests.aws.every_answer import GROUPS, answers, told

pytestmark = pytest.mark.feature("FS-01")

GROUPS_ARE_LISTED = "autoscaling:DescribeAutoScalingGroups"
NOT_OF_THE_FLEET = ("dynamodb", "logs", "sts", "xray")
ACTIONS = sorted(action for action in iam.granted("snapshot_fleet") if not action.startswith(NOT_OF_THE_FLEET))
REFUSED = {"autoscaling": "AccessDenied", "cloudwatch": "AccessDenied", "ec2": "UnauthorizedOperation"}


def operation_of(action: str) -> str:
    return str(xform_name(action.partition(":")[2]))


@contextmanager
def refusing(action: str) -> Iterator[None]:
    """From now on IAM does not allow it in WEST; prices of all regions are asked for in one."""

    def guarded(call: Callable[..., Any]) -> Callable[..., Any]:
        def asked(service: str, region: str, operation: str, **request: Any) -> Any:
            if operation != operation_of(action) or (region != WEST and service != "pricing"):
                return call(service, region, operation, **request)
            refused = {"Error": {"Code": REFUSED.get(service, "AccessDeniedException"), "Message": "no"}}
            with clients.asking(region, clients.action_of(service, region, operation)):
                raise ClientError(refused, operation)  # type: ignore[arg-type]

        return asked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clients, "pages", guarded(clients.pages))
        patch.setattr(clients, "ask", guarded(clients.ask))
        yield


def seen_without(action: str) -> FleetSnapshot:
    with told({HOME: answers(), WEST: answers()}) as account, refusing(action):
        app.handler({}, None)
        return snapshots.latest_fleet(account.table)


def test_all_that_the_role_allows_is_judged_here() -> None:
    assert {operation_of(action) for action in ACTIONS} == answers().keys()


@pytest.mark.parametrize("action", [action for action in ACTIONS if action != GROUPS_ARE_LISTED])
def test_a_call_that_is_not_allowed_is_named_and_the_rest_is_read(action: str) -> None:
    found = seen_without(action)

    assert [view.known for view in found.regions] == [True, True]
    assert [group.key for group in found.groups] == [f"{region}/{name}" for region in (HOME, WEST) for name in GROUPS]
    named = [warning.text for warning in found.warnings if warning.code is Code.PERMISSION]
    assert named
    assert all(f"IAM does not allow {action}" in text for text in named)
    assert any(text.startswith(f"region {WEST}: ") for text in named)


def test_a_region_whose_groups_may_not_be_listed_says_so() -> None:
    found = seen_without(GROUPS_ARE_LISTED)

    assert [view.known for view in found.regions] == [True, False]
    assert f"IAM does not allow {GROUPS_ARE_LISTED}" in found.regions[1].problem
    assert [group.key for group in found.groups] == [f"{HOME}/{name}" for name in GROUPS]
