"""vCPU quotas and capacity reservations of a region, from AWS's answers to the stored snapshot."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from functions.snapshot_fleet import app
from spillway.aws import clients, market, memo
from spillway.aws.table import snapshots
from spillway.model.fleet import CapacityType, FleetSnapshot
from spillway.model.market import Ceiling, CeilingKind
from spillway.model.reason import Code
from tests.aws import botocore_shapes
from tests.aws.account import HOME, WEST, Account, open_account
from tests.aws.answers import NOW, OURS
from tests.functions.test_snapshot_fleet import create, fail

STANDARD, SPOT, G_AND_VT = "L-1216C47A", "L-34B43A08", "L-DB2E81BA"
NAME = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
ARN = "arn:aws:resource-groups:us-east-1:123456789012:group/blocks"


def quota(code: str = STANDARD, value: float = 64.0, kind: str = "Standard/OnDemand", name: str = NAME) -> dict[str, Any]:
    """An item of ListServiceQuotas, with where CloudWatch has its use."""
    dimensions = {"Class": kind, "Resource": "vCPU", "Service": "EC2", "Type": "Resource"}
    metric = {"MetricNamespace": "AWS/Usage", "MetricName": "ResourceCount", "MetricDimensions": dimensions}
    return {"ServiceCode": "ec2", "QuotaCode": code, "QuotaName": name, "Value": value, "UsageMetric": metric}


def reservation(number: int = 1, total: int = 3, free: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "CapacityReservationId": f"cr-{number}", "InstanceType": "m5.large", "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": "us-east-1a", "Tenancy": "default", "TotalInstanceCount": total, "AvailableInstanceCount": free,
        "State": "active", "EndDateType": "unlimited", "InstanceMatchCriteria": "open", **fields,
    }  # fmt: skip


@contextmanager
def account_with(monkeypatch: pytest.MonkeyPatch, *groups: dict[str, Any], **bounds: Any) -> Iterator[Account]:
    """Home has these groups, `name` and fields, of m5.large (2 vCPUs), and these bounds by their keys in a dump."""
    monkeypatch.setattr(market, "on_demand_prices", lambda region, types, *_: dict.fromkeys(types, 0.096))
    with open_account({HOME: botocore_shapes.region(bounds)}) as opened:
        for given in groups:
            fields = dict(given)
            name, data = fields.pop("name"), {"InstanceType": "m5.large", "ImageId": "ami-12c6146b", **fields.pop("data", {})}
            clients.client("ec2", HOME).create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
            create(HOME, name, LaunchTemplate={"LaunchTemplateName": name, "Version": "$Latest"}, **fields)
        yield opened


def run(account: Account) -> FleetSnapshot:
    app.handler({}, None)
    return snapshots.latest_fleet(account.table)


def draws(found: FleetSnapshot) -> dict[str, list[dict[str, int]]]:
    """What a node of each group takes, in thousandths."""
    return {group.name: [dict(draw) for draw in group.draws] for group in found.groups}


@pytest.mark.feature("FS-11")
class TestQuotas:
    def test_a_quota_is_read_with_its_use_and_each_node_takes_its_types_vcpus(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with account_with(
            monkeypatch, {"name": "nodes", "DesiredCapacity": 3}, Quotas=[quota(), quota(G_AND_VT, 8, "G/OnDemand")]
        ) as account:
            found = run(account)

        (only,) = found.ceilings
        assert only == Ceiling(region=HOME, key=STANDARD, kind=CeilingKind.QUOTA, name=NAME, limit=64, used=6, as_of=NOW), (
            "of the classes that no group is of nothing is kept"
        )
        assert draws(found) == {"nodes": [{STANDARD: 2000}]}

    def test_on_demand_and_spot_have_a_quota_each_and_a_mixed_group_draws_by_its_shares(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        both = [quota(), quota(SPOT, 32, "Standard/Spot")]
        distribution = {"OnDemandBaseCapacity": 0, "OnDemandPercentageAboveBaseCapacity": 25}
        with account_with(monkeypatch, {"name": "nodes"}, Quotas=both) as account:
            specification = {"LaunchTemplateName": "nodes", "Version": "$Latest"}
            template = {"LaunchTemplateSpecification": specification, "Overrides": [{"InstanceType": "m5.xlarge"}]}
            clients.client("autoscaling", HOME).create_auto_scaling_group(
                AutoScalingGroupName="mixed", MinSize=0, MaxSize=5, AvailabilityZones=["us-east-1a"],
                MixedInstancesPolicy={"LaunchTemplate": template, "InstancesDistribution": distribution},
                Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in OURS.items()],
            )  # fmt: skip

            found = run(account)

        assert draws(found) == {"nodes": [{STANDARD: 2000}], "mixed": [{STANDARD: 1000}, {SPOT: 3000}]}
        assert {one.key: one.limit for one in found.ceilings} == {STANDARD: 64, SPOT: 32}

    def test_a_quota_that_groups_count_against_and_that_is_not_listed_is_no_ceiling_and_named_by_its_code(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gpu = {"name": "gpu", "data": {"InstanceType": "g4dn.xlarge"}}
        with account_with(monkeypatch, {"name": "nodes"}, gpu, Quotas=[quota()]) as account:
            found = run(account)

        assert draws(found) == {"nodes": [{STANDARD: 2000}], "gpu": []}
        assert [one.text for one in found.warnings if "ListServiceQuotas" in one.text] == [
            f"region us-east-1: ListServiceQuotas does not list {G_AND_VT}, "
            "a vCPU quota that launches of groups count against: it is no ceiling"
        ]

    def test_the_quota_is_asked_for_once_an_hour_and_its_use_every_five_minutes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with account_with(monkeypatch, {"name": "nodes"}, Quotas=[quota()]) as account:
            asked = count(monkeypatch)
            for wait, expected in ((0, (1, 1)), (299, (1, 1)), (1, (1, 2)), (3300, (2, 3))):
                account.pass_s(wait)
                run(account)
                assert (asked["list_service_quotas"], asked["get_metric_data"]) == expected

    @pytest.mark.parametrize("operation", ["list_service_quotas", "get_metric_data"])
    def test_where_aws_fails_a_new_process_goes_by_the_last_snapshot_and_says_so(
        self, monkeypatch: pytest.MonkeyPatch, operation: str
    ) -> None:
        with account_with(monkeypatch, {"name": "nodes"}, Quotas=[quota()]) as account:
            run(account)
            memo.clear()
            account.pass_s(600)
            fail(monkeypatch, "AccessDenied", operation, HOME)

            found = run(account)

        (kept,) = found.ceilings
        assert (kept.limit, kept.used) == (64, 0)
        assert kept.as_of == NOW
        action = {"list_service_quotas": "servicequotas:ListServiceQuotas", "get_metric_data": "cloudwatch:GetMetricData"}
        (text,) = [one.text for one in found.warnings if one.code is Code.PERMISSION]
        assert f"IAM does not allow {action[operation]}" in text

    def test_a_quota_that_aws_no_longer_lists_is_not_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        listed = [quota()]
        with account_with(monkeypatch, {"name": "nodes"}, Quotas=listed) as account:
            run(account)
            memo.clear()
            listed.clear()
            assert run(account).ceilings == ()

    def test_without_any_use_it_is_not_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        silent = {key: value for key, value in quota().items() if key != "UsageMetric"}
        with account_with(monkeypatch, {"name": "nodes"}, Quotas=[silent]) as account:
            assert [(one.limit, one.used) for one in run(account).ceilings] == [(64, None)]

    def test_a_region_without_groups_is_asked_for_no_quota(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with account_with(monkeypatch, {"name": "nodes"}, Quotas=[quota()]) as account:
            asked = count(monkeypatch)
            run(account)
            assert asked["list_service_quotas"] == 1, f"{WEST} has no groups"


@pytest.mark.feature("FS-11")
class TestReservations:
    def test_a_template_that_targets_one_is_bounded_by_what_is_free_in_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        target = {"CapacityReservationTarget": {"CapacityReservationId": "cr-1"}}
        group = {"name": "nodes", "data": {"CapacityReservationSpecification": target}}
        with account_with(monkeypatch, group, CapacityReservations=[reservation(1), reservation(2)]) as account:
            found = run(account)

        (only,) = found.ceilings
        assert (only.key, only.kind, only.limit, only.used) == ("cr-1", CeilingKind.RESERVATION, 3, 2)
        assert only.name == "cr-1 (m5.large in us-east-1a)"
        assert draws(found) == {"nodes": [{"cr-1": 1000}]}
        assert found.groups[0].capacity_type is CapacityType.RESERVED

    def test_a_group_of_reservations_only_takes_open_ones_of_its_type_and_zone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        others = [
            reservation(2, InstanceType="m5.xlarge"),
            reservation(3, AvailabilityZone="us-east-1b"),
            reservation(4, InstanceMatchCriteria="targeted"),
        ]
        with reserving(monkeypatch, {}, CapacityReservations=[reservation(1), *others]) as account:
            assert draws(run(account)) == {"nodes": [{"cr-1": 1000}]}

    def test_where_there_is_none_for_it_nothing_can_come(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with reserving(monkeypatch, {"CapacityReservationIds": ["cr-9"]}, CapacityReservations=[reservation(1)]) as account:
            found = run(account)

        (only,) = found.ceilings
        assert (only.limit, only.open, only.name) == (0, False, "for the type and zones of nodes (cr-9)")

    def test_a_resource_group_stands_for_its_members(self, monkeypatch: pytest.MonkeyPatch) -> None:
        bounds = {
            "CapacityReservations": [reservation(1), reservation(2), reservation(3)],
            "CapacityReservationGroups": {ARN: ["cr-2", "cr-3"]},
        }
        with reserving(monkeypatch, {"CapacityReservationResourceGroupArns": [ARN]}, **bounds) as account:
            assert draws(run(account)) == {"nodes": [{"cr-2": 1000, "cr-3": 1000}]}

    def test_where_nobody_tells_who_is_in_a_resource_group_nothing_is_bounded_and_the_permission_is_named(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bounds = {"CapacityReservations": [reservation(1)], "CapacityReservationGroups": {ARN: ["cr-1"]}}
        with reserving(monkeypatch, {"CapacityReservationResourceGroupArns": [ARN]}, **bounds) as account:
            fail(monkeypatch, "AccessDenied", "list_group_resources")
            found = run(account)

        assert (found.ceilings, draws(found)) == ((), {"nodes": []})
        (text,) = [one.text for one in found.warnings if one.code is Code.PERMISSION]
        assert "IAM does not allow resource-groups:ListGroupResources" in text

    def test_a_block_has_its_times(self, monkeypatch: pytest.MonkeyPatch) -> None:
        times = {"StartDate": NOW - timedelta(days=1), "EndDate": NOW + timedelta(days=1)}
        block = reservation(1, ReservationType="capacity-block", InstanceMatchCriteria="targeted", **times)
        data = {
            "InstanceMarketOptions": {"MarketType": "capacity-block"},
            "CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": "cr-1"}},
        }
        with account_with(monkeypatch, {"name": "nodes", "data": data}, CapacityReservations=[block]) as account:
            (only,) = run(account).ceilings

        assert (only.kind, only.starts, only.ends) == (CeilingKind.BLOCK, times["StartDate"], times["EndDate"])

    @pytest.mark.parametrize("state", ["scheduled", "expired", "cancelled", "pending", "payment-pending"])
    def test_one_that_is_not_active_takes_no_launch(self, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
        with reserving(monkeypatch, {}, CapacityReservations=[reservation(1, State=state)]) as account:
            assert [one.open for one in run(account).ceilings] == [False]

    def test_reservations_are_asked_for_only_where_a_group_launches_into_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with account_with(monkeypatch, {"name": "nodes"}, CapacityReservations=[reservation()], Quotas=[]) as account:
            asked = count(monkeypatch)
            assert run(account).ceilings == ()
            assert "describe_capacity_reservations" not in asked

    def test_where_they_may_not_be_read_nothing_is_bounded_and_the_permission_is_named(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with reserving(monkeypatch, {}, CapacityReservations=[reservation()]) as account:
            fail(monkeypatch, "UnauthorizedOperation", "describe_capacity_reservations")
            found = run(account)

        assert (found.ceilings, draws(found)) == ((), {"nodes": []})
        (text,) = [one.text for one in found.warnings if one.code is Code.PERMISSION]
        assert "IAM does not allow ec2:DescribeCapacityReservations" in text


@contextmanager
def reserving(monkeypatch: pytest.MonkeyPatch, target: dict[str, Any], **bounds: Any) -> Iterator[Account]:
    """Home has a group that launches into capacity reservations only; moto keeps no such thing of a group."""
    pages = clients.pages
    specification: dict[str, Any] = {"CapacityReservationPreference": "capacity-reservations-only"}
    if target:
        specification["CapacityReservationTarget"] = target

    def told(service: str, region: str, name: str, **request: Any) -> Any:
        for page in pages(service, region, name, **request):
            if name == "describe_auto_scaling_groups":
                for item in page["AutoScalingGroups"]:
                    item["CapacityReservationSpecification"] = specification
                botocore_shapes.region({"AutoScalingGroups": page["AutoScalingGroups"]})
            yield page

    with account_with(monkeypatch, {"name": "nodes"}, **bounds) as account:
        monkeypatch.setattr(clients, "pages", told)
        yield account


def count(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Calls by operation, from now on."""
    pages, asked = clients.pages, dict[str, int]()

    def counted(service: str, region: str, name: str, **request: Any) -> Any:
        asked[name] = asked.get(name, 0) + 1
        return pages(service, region, name, **request)

    monkeypatch.setattr(clients, "pages", counted)
    return asked
