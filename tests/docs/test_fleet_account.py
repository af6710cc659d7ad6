"""docs/fleet-account.md: the role that it tells people to make may do what the functions do, and no more."""

import json
import re
from typing import Any

import pytest

from spillway.aws import clients
from spillway_local import iam
from spillway_local.cloudformation import ROOT, load

PAGE = (ROOT / "docs" / "fleet-account.md").read_text(encoding="utf-8")
TRUST, ROLE = (json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
FUNCTIONS = ("snapshot_fleet", "scale_out", "verify_instances", "scale_in")


def of_the_fleet(action: str) -> bool:
    """`service-quotas` is `servicequotas` to IAM."""
    return action.partition(":")[0] in {service.replace("service-quotas", "servicequotas") for service in clients.FLEET}


@pytest.mark.feature("FS-01")
def test_the_role_may_do_what_is_asked_of_the_fleet_and_nothing_else() -> None:
    needed = {action for function in FUNCTIONS for action in iam.needed(function) if of_the_fleet(action)}
    granted = [action for statement in ROLE["Statement"] for action in iam.actions(statement)]
    assert sorted(granted) == sorted(needed)


@pytest.mark.feature("FS-01")
def test_what_is_not_asked_of_the_fleet_is_the_stacks_own_or_the_same_everywhere() -> None:
    """A service that is new to these functions belongs into `clients.FLEET` or here."""
    own = {"dynamodb", "states", "sts", "logs", "xray"}
    services = {action.partition(":")[0] for name in FUNCTIONS for action in iam.needed(name) if not of_the_fleet(action)}
    assert services == own | {"pricing"}


@pytest.mark.feature("FS-01")
def test_it_changes_groups_of_the_cluster_only() -> None:
    """As the stack's own roles do."""
    (changes,) = [one for one in ROLE["Statement"] if one["Resource"] != "*"]
    own = [one for one in iam.statements(iam.role("scale_in")) if one.get("Sid") == "Groups"]
    assert changes["Condition"] == json.loads(json.dumps(own[0]["Condition"]).replace("${ClusterName}", "prod"))
    assert not any(is_change(action) for one in ROLE["Statement"] if one["Resource"] == "*" for action in iam.actions(one))


def is_change(action: str) -> bool:
    return not action.partition(":")[2].startswith(("Describe", "Get", "List"))


@pytest.mark.feature("FS-01")
def test_it_trusts_our_functions_and_the_stack_takes_its_name() -> None:
    (statement,) = TRUST["Statement"]
    assert statement["Action"] == "sts:AssumeRole"
    assert "arn:aws:iam::123456789012:role/spillway-*" in statement["Condition"]["ArnLike"].values()
    parameters: dict[str, Any] = load()["Parameters"]
    named = re.search(r"`FleetRoleArn=(\S+)`", PAGE)
    assert named is not None
    assert re.fullmatch(parameters["FleetRoleArn"]["AllowedPattern"], named[1])
    assert "HomeAccount" in load("template-region.yaml")["Parameters"]
