"""What AWS answers otherwise than it documents is the fault of that one answer, and stops nothing else."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from functions.snapshot_fleet import app
from spillway import planner
from spillway.aws.table import snapshots
from spillway.model.fleet import FleetSnapshot
from spillway.model.memory import Memory
from spillway.model.policy import Policy
from spillway.planner.ownership import change
from tests.aws.account import HOME, WEST, Account
from tests.aws.answers import NODE_TEMPLATE, NOW, group, mixed
from tests.aws.every_answer import GROUPS, answers, price, spoilt, told
from tests.builders import cluster

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


def test_of_a_reservation_of_ec2_only_the_instance_that_does_not_read_is_passed_over() -> None:
    odd = {"InstanceId": "i-b", "State": {"Name": "running"}, "LaunchTime": "yesterday"}
    with spoilt(lambda west: west["describe_instances"]["Reservations"][0]["Instances"].append(odd)) as account:
        found = run(account)

    (machine,) = next(group for group in found.groups if (group.region, group.name) == (WEST, "plain")).instances
    assert machine.state == "running"
    assert [one.text.partition(" is not ")[0] for one in found.warnings] == ["region us-west-2: Reservations[].Instances[1]"]


@pytest.mark.feature("FS-06")
def test_a_refresh_that_does_not_read_is_as_before_and_the_group_is_still_left_alone() -> None:
    going = {"InstanceRefreshId": "r", "AutoScalingGroupName": "plain", "Status": "InProgress"}
    with spoilt(items("describe_instance_refreshes", "InstanceRefreshes", going)) as account:
        run(account)
        going["InstanceRefreshId"] = 7  # type: ignore[assignment]
        found = run(account)

    refreshes = {group.name: group.refresh.status for group in found.groups if group.region == WEST and group.refresh}
    assert refreshes == {"plain": "InProgress"}
    assert any("InstanceRefreshes[0] is not as AWS documents it" in one.text for one in found.warnings)


@pytest.mark.feature("FS-06")
@pytest.mark.parametrize("status", ["UPDATING", "REPAIRING"])
def test_a_node_group_whose_status_is_none_of_rest_is_left_alone(status: str) -> None:
    with spoilt(lambda west: west["describe_nodegroup"]["nodegroup"].update(status=status)) as account:
        found = run(account)

    managed = next(group for group in found.groups if (group.region, group.name) == (WEST, "managed"))
    assert change(managed) == f"EKS node group blue is {status}"


@pytest.mark.feature("FS-02")
def test_a_group_that_counts_what_nobody_knows_says_so_and_gets_no_node() -> None:
    with spoilt(of_plain(DesiredCapacityType="accelerators")) as account:
        found = run(account)

    group = next(group for group in found.groups if (group.region, group.name) == (WEST, "plain"))
    assert "counts 'accelerators'" in group.problem
    assert not group.is_countable
    assert [one.text for one in found.warnings] == [f"group us-west-2/plain: {group.problem}"]


@pytest.mark.feature("FS-02")
def test_a_mixed_group_whose_own_template_cannot_be_read_says_so_though_its_overrides_name_their_types() -> None:
    gone = group("plain", **mixed("gone", ["m5.large"], 100))["MixedInstancesPolicy"]
    real = answers()["describe_launch_template_versions"]

    def versions(request: Mapping[str, Any]) -> Any:
        return {"LaunchTemplateVersions": []} if request["LaunchTemplateId"] == "lt-gone" else real(request)  # type: ignore[operator]

    def spoil(west: dict[str, Any]) -> None:
        plain(west).update(MixedInstancesPolicy=gone)
        plain(west).pop("LaunchTemplate", None)
        west["describe_launch_template_versions"] = versions

    with spoilt(spoil) as account:
        found = run(account)

    mine = next(group for group in found.groups if (group.region, group.name) == (WEST, "plain"))
    assert (mine.template, mine.problem) == (
        None,
        "launch template gone-nodes version 1 cannot be read: DescribeLaunchTemplateVersions does not list it",
    )


@pytest.mark.feature("FS-11")
def test_where_service_quotas_lists_nothing_each_quota_that_groups_count_against_is_named() -> None:
    with spoilt(items("list_service_quotas", "Quotas")) as account:
        found = run(account)

    assert {one.text for one in found.warnings} == {
        f"region us-west-2: ListServiceQuotas does not list {code}, "
        "a vCPU quota that launches of groups count against: it is no ceiling"
        for code in ("L-1216C47A", "L-34B43A08")
    }


@pytest.mark.feature("FS-11")
def test_a_quota_bounds_without_its_name_and_one_without_a_metric_takes_no_use_from_the_others() -> None:
    def spoil(west: dict[str, Any]) -> None:
        standard, spot = west["list_service_quotas"]["Quotas"]
        del standard["QuotaName"]
        spot["UsageMetric"] = {"MetricName": "ResourceCount"}

    with spoilt(spoil) as account:
        found = run(account)

    bounds = {one.key: (one.name, one.limit, one.used) for one in found.ceilings if one.region == WEST}
    assert bounds["L-1216C47A"] == ("L-1216C47A", 64, 10)
    assert bounds["L-34B43A08"] == ("Spot Standard", 64, None)
    plan = planner.plan(cluster(taken_at=NOW), found, Memory(), Policy(), NOW)
    assert any("L-34B43A08" in one.text and "its use is not known" in one.text for one in plan.warnings)


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
