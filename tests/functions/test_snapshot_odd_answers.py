"""What AWS answers otherwise than it documents is the fault of that one answer, and stops nothing else."""

from collections.abc import Callable
from typing import Any

import pytest

from functions.snapshot_fleet import app
from spillway.aws.table import snapshots
from spillway.model.fleet import FleetSnapshot
from tests.aws.account import HOME, WEST, Account
from tests.aws.answers import NODE_TEMPLATE
from tests.aws.every_answer import GROUPS, answers, price, spoilt, told

pytestmark = pytest.mark.feature("FS-01")

Spoil = Callable[[dict[str, Any]], object]
NAN = float("nan")


def run(account: Account) -> FleetSnapshot:
    app.handler({}, None)
    return snapshots.latest_fleet(account.table)


def names(found: FleetSnapshot, region: str) -> list[str]:
    return [group.name for group in found.groups if group.region == region]


def plain(answers: dict[str, Any]) -> Any:
    return next(g for g in answers["describe_auto_scaling_groups"]["AutoScalingGroups"] if g["AutoScalingGroupName"] == "plain")


def first(operation: str, key: str, **fields: Any) -> Spoil:
    """The first item of an answer has these fields instead, or lacks those of None."""

    def spoil(answers: dict[str, Any]) -> None:
        item = answers[operation][key][0]
        item.update(fields)
        for name in [name for name, value in fields.items() if value is None]:
            del item[name]

    return spoil


def items(operation: str, key: str, *odd: Any) -> Spoil:
    """An answer holds these items."""
    return lambda answers: answers.update({operation: {key: list(odd)}})


def of_plain(**fields: Any) -> Spoil:
    return lambda answers: plain(answers).update(fields)


def fails(operation: str) -> Spoil:
    def raises(_: object) -> Any:
        raise ValueError("no such endpoint")

    return lambda answers: answers.update({operation: raises})


def test_the_region_of_these_tests_is_asked_everything() -> None:
    asked = set[str]()
    with told({HOME: answers(), WEST: answers()}, asked) as account:
        found = run(account)

    assert asked == answers().keys()
    assert found.warnings == ()
    assert all(group.template and not group.problem for group in found.groups)


@pytest.mark.parametrize("answer", [{}, [], "gone"], ids=repr)
@pytest.mark.parametrize("operation", [name for name in answers() if name != "describe_auto_scaling_groups"])
def test_an_answer_without_its_list_is_not_known_and_all_groups_are(operation: str, answer: Any) -> None:
    with spoilt(lambda west: west.update({operation: answer})) as account:
        found = run(account)

    assert [view.known for view in found.regions] == [True, True]
    assert names(found, WEST) == list(GROUPS)
    assert [one.text for one in found.warnings if "is not as AWS documents it" in one.text or "cannot be read" in one.text]


@pytest.mark.parametrize("answer", [{}, [], "gone"], ids=repr)
def test_a_region_without_the_list_of_its_groups_is_unknown_and_the_others_are_read(answer: Any) -> None:
    with spoilt(lambda west: west.update(describe_auto_scaling_groups=answer)) as account:
        found = run(account)

    assert [view.known for view in found.regions] == [True, False]
    assert "AutoScalingGroups failed: the answer is not as AWS documents it: " in found.regions[1].problem
    assert names(found, HOME) == list(GROUPS)


@pytest.mark.parametrize(
    "spoil",
    [
        items("describe_launch_template_versions", "LaunchTemplateVersions", {"VersionNumber": 1}),
        items("describe_launch_configurations", "LaunchConfigurations", {"InstanceType": "m5.large"}),
        items("describe_scaling_activities", "Activities", {"AutoScalingGroupName": "plain", "EndTime": 7}),
        first("describe_spot_price_history", "SpotPriceHistory", InstanceType=None),
        first("describe_spot_price_history", "SpotPriceHistory", SpotPrice=None),
        first("describe_spot_price_history", "SpotPriceHistory", SpotPrice="NaN"),
        first("list_service_quotas", "Quotas", QuotaCode=None),
        first("list_service_quotas", "Quotas", Value=NAN),
        first("list_service_quotas", "Quotas", UsageMetric={}),
        first("get_metric_data", "MetricDataResults", Timestamps=None),
        first("get_metric_data", "MetricDataResults", Values=[NAN]),
        items("list_group_resources", "Resources", {"Status": {"Name": "PENDING"}}),
        first("describe_capacity_reservations", "CapacityReservations", AvailableInstanceCount=None),
        items("describe_instance_types", "InstanceTypes", {"VCpuInfo": {}}),
        first("describe_instance_types", "InstanceTypes", MemoryInfo=None),
        items("describe_images", "Images", {"Name": "x"}),
        items("describe_instances", "Reservations", {"Instances": [{"State": {}}]}),
        items("describe_warm_pool", "Instances", {"LifecycleState": 7}),
        items("describe_instance_refreshes", "InstanceRefreshes", {"Status": "InProgress"}),
        items("describe_policies", "ScalingPolicies", {"PolicyName": "x"}),
        items("describe_scheduled_actions", "ScheduledUpdateGroupActions", {"MinSize": 0}),
        items("get_instance_types_from_instance_requirements", "InstanceTypes", {}),
        lambda west: west["describe_nodegroup"]["nodegroup"].update(taints=None, labels=None),
        fails("describe_images"),
        fails("describe_nodegroup"),
    ],
)
def test_an_odd_item_takes_no_group_with_it_and_is_named(spoil: Spoil) -> None:
    with spoilt(spoil) as account:
        found = run(account)

    assert [view.known for view in found.regions] == [True, True]
    assert (names(found, HOME), names(found, WEST)) == (list(GROUPS), list(GROUPS))
    assert found.warnings


@pytest.mark.parametrize("odd", [price("free"), price("NaN"), price("-1"), "{", '{"product": {}}'])
def test_an_odd_price_is_none(odd: str) -> None:
    with spoilt(items("get_products", "PriceList", odd)) as account:
        found = run(account)

    assert names(found, WEST) == list(GROUPS)
    assert all(offering.shipped for group in found.groups for offering in group.offerings)


@pytest.mark.parametrize(
    "spoil",
    [
        of_plain(DesiredCapacity=None),
        of_plain(Instances=None),
        of_plain(Instances=[{"InstanceId": "i-a"}]),
        of_plain(Tags=[*answers()["describe_auto_scaling_groups"]["AutoScalingGroups"][3]["Tags"], {"Key": 7}]),  # type: ignore[index]
        of_plain(MixedInstancesPolicy={"LaunchTemplate": {"LaunchTemplateSpecification": {}, "Overrides": None}}),
        lambda west: plain(west).pop("AutoScalingGroupName"),
        lambda west: plain(west).pop("DesiredCapacity"),
    ],
)
def test_an_odd_group_is_set_aside_by_name_and_the_others_are_read(spoil: Spoil) -> None:
    with spoilt(spoil) as account:
        found = run(account)

    assert (names(found, HOME), names(found, WEST)) == (list(GROUPS), [name for name in GROUPS if name != "plain"])
    (warning,) = found.warnings
    assert warning.text.startswith(
        ("group us-west-2/plain is not as AWS", "group us-west-2/AutoScalingGroups[0] is not as AWS")
    )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda west: plain(west).pop("Instances"),
        lambda west: plain(west)["Tags"].append({"Value": "x"}),
        of_plain(LaunchTemplate={"Version": "1"}),
        of_plain(MixedInstancesPolicy=None),
        lambda west: plain(west)["Tags"].append({"Key": NODE_TEMPLATE + "label/\ud800", "Value": "\udfff"}),
        first("describe_scaling_activities", "Activities", StatusMessage="it \ud800 failed"),
        first("describe_instance_types", "InstanceTypes", Hypervisor="\ud800"),
    ],
)
def test_what_a_group_can_do_without_costs_no_group(spoil: Spoil) -> None:
    with spoilt(spoil) as account:
        found = run(account)

    assert (names(found, HOME), names(found, WEST)) == (list(GROUPS), list(GROUPS))
