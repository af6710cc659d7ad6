"""The small stack of a further region, and the rules that its events meet at home."""

import json
from pathlib import Path
from typing import Any

import pytest

from functions.intake import app
from spillway.aws import notices
from spillway_local.cloudformation import ROOT, load, resources

REGION = "template-region.yaml"
BUS = [
    "arn:${AWS::Partition}:events:${HomeRegion}:${Account}:event-bus/default",
    {"Account": {"Fn::If": ["IsFarAccount", {"Ref": "HomeAccount"}, {"Ref": "AWS::AccountId"}]}},
]


def rules(template: str) -> dict[str, dict[str, Any]]:
    return {name: rule["EventPattern"] for name, rule in resources("AWS::Events::Rule", template).items()}


def matches(pattern: dict[str, Any], event: dict[str, Any]) -> bool:
    """EventBridge's rule for patterns of exact values."""
    return all(
        matches(wanted, event.get(key, {})) if isinstance(wanted, dict) else event.get(key) in wanted
        for key, wanted in pattern.items()
    )


@pytest.mark.feature("EV-05")
@pytest.mark.feature("EV-07")
def test_a_region_forwards_exactly_what_the_home_region_takes() -> None:
    assert rules(REGION) == rules("template.yaml")


def test_events_go_to_the_home_region_and_the_role_may_do_nothing_else() -> None:
    for rule in resources("AWS::Events::Rule", REGION).values():
        (target,) = rule["Targets"]
        assert target["Arn"] == {"Fn::Sub": BUS}
        assert target["RoleArn"] == {"Fn::GetAtt": ["ForwardRole", "Arn"]}
    role = resources("AWS::IAM::Role", REGION)["ForwardRole"]
    (statement,) = role["Policies"][0]["PolicyDocument"]["Statement"]
    assert statement == {"Effect": "Allow", "Action": ["events:PutEvents"], "Resource": {"Fn::Sub": BUS}}


def test_a_forwarder_in_the_home_region_is_refused() -> None:
    """Its own rules would match again what it forwards to its own bus, for ever."""
    (assertion,) = load(REGION)["Rules"]["NotAtHome"]["Assertions"]
    elsewhere = {"Fn::Not": [{"Fn::Equals": [{"Ref": "HomeRegion"}, {"Ref": "AWS::Region"}]}]}
    another_account = {"Fn::Not": [{"Fn::Equals": [{"Ref": "HomeAccount"}, ""]}]}
    assert assertion["Assert"] == {"Fn::Or": [elsewhere, another_account]}
    (own,) = load(REGION)["Rules"]["NotTheOwnAccount"]["Assertions"]
    assert own["Assert"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "HomeAccount"}, {"Ref": "AWS::AccountId"}]}]}


def test_the_account_of_the_groups_may_send_its_events_and_no_other() -> None:
    policy = resources("AWS::Events::EventBusPolicy")["FleetEvents"]
    account = {"Fn::Select": [4, {"Fn::Split": [":", {"Ref": "FleetRoleArn"}]}]}
    assert policy["Statement"]["Principal"]["AWS"]["Fn::Sub"][1] == {"Account": account}
    assert policy["Statement"]["Action"] == "events:PutEvents"
    assert load()["Resources"]["FleetEvents"]["Condition"] == "HasFleetRole"


@pytest.mark.feature("EV-05")
def test_the_handler_knows_every_kind_that_the_rules_let_through_and_no_other() -> None:
    """What it does not know fails and ends in the dead letters."""
    passed = {kind for pattern in rules("template.yaml").values() for kind in pattern["detail-type"]}
    assert passed == app._NO_USE | notices.KINDS | {app._REFUSED, app._LAUNCHED}


@pytest.mark.parametrize("path", sorted(ROOT.glob("events/intake.*.json")), ids=lambda path: path.stem)
def test_a_sample_event_comes_through_the_rules_if_the_handler_knows_it(path: Path) -> None:
    for record in json.loads(path.read_text(encoding="utf-8"))["Records"]:
        event = json.loads(record["body"])
        comes = any(matches(pattern, event) for pattern in rules("template.yaml").values())
        assert comes == (path.stem != "intake.unknown"), event["detail-type"]
