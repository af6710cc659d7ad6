"""Quotas, capacity reservations and an own price list, as a dump has them, in what `spillway plan` says."""

import json
from typing import Any

import pytest

from tests.aws import botocore_shapes
from tests.cli.dumps import Dumps, desired, group, pod

NOW = "2026-01-01T00:00:00+00:00"  # of the dumps
QUOTA = {"ServiceCode": "ec2", "QuotaCode": "L-1216C47A", "QuotaName": "Running On-Demand Standard instances", "Value": 64.0}


def bounded(dumps: Dumps, cluster: list[Any], groups: list[Any], **answers: Any) -> dict[str, Any]:
    """The plan of a dump with one region, whose further answers lie beside its groups; `policy` is the dump's."""
    policy = answers.pop("policy", {})
    folder = dumps.write(cluster, {"us-east-1": groups}, policy=policy)
    for key, value in answers.items():
        (folder / "fleet" / "us-east-1" / f"more-{key}.json").write_text(json.dumps({key: value}))
    return dumps.plan(folder)


def used(vcpus: float, at: str = NOW) -> list[dict[str, Any]]:
    return [{"Id": "l_1216c47a", "Label": "Standard/OnDemand", "Timestamps": [at], "Values": [vcpus], "StatusCode": "Complete"}]


@pytest.mark.feature("FS-11")
def test_the_quota_of_a_dump_bounds_the_plan_by_its_use(dumps: Dumps) -> None:
    waiting = [pod("p", count=5, cpu="3")]

    plan = bounded(dumps, waiting, [group("g"), group("gpu", "g4dn.xlarge")], Quotas=[QUOTA], MetricDataResults=used(56))

    assert desired(plan)["us-east-1/g"] == (0, 2)
    assert "the quota Running On-Demand Standard instances (L-1216C47A) of 64 vCPUs" in plan["scale_out"][0]["reason"]["text"]


@pytest.mark.feature("FS-11")
@pytest.mark.parametrize("usage", [[], used(64, "2025-12-31T23:00:00Z")], ids=["none", "an hour old"])
def test_a_quota_without_a_use_of_now_bounds_nothing_and_warns(dumps: Dumps, usage: list[Any]) -> None:
    plan = bounded(dumps, [pod("p", count=20, cpu="3")], [group("g")], Quotas=[QUOTA], MetricDataResults=usage)

    assert desired(plan) == {"us-east-1/g": (0, 20)}
    assert [one["code"] for one in plan["warnings"]] == ["quota_use_unknown"]


@pytest.mark.feature("FS-11")
def test_a_group_that_launches_into_a_reservation_grows_by_what_is_free_in_it(dumps: Dumps) -> None:
    reservation = {
        "CapacityReservationId": "cr-1", "InstanceType": "m5.xlarge", "AvailabilityZone": "us-east-1a", "State": "active",
        "TotalInstanceCount": 3, "AvailableInstanceCount": 1, "InstanceMatchCriteria": "open", "ReservationType": "default",
    }  # fmt: skip
    botocore_shapes.region({"CapacityReservations": [reservation], "Quotas": [QUOTA], "MetricDataResults": []})
    only = {"CapacityReservationPreference": "capacity-reservations-only"}
    reserved = group("a-reserved", zones=["us-east-1a"], CapacityReservationSpecification=only)

    plan = bounded(dumps, [pod("p", count=3, cpu="3")], [reserved, group("b-open")], CapacityReservations=[reservation])

    assert desired(plan) == {"us-east-1/a-reserved": (0, 1), "us-east-1/b-open": (0, 2)}


@pytest.mark.feature("FS-09")
def test_what_the_policy_says_is_paid_is_used_first_and_costs_nothing(dumps: Dumps) -> None:
    paid = {"prices": {"paid": [{"instance_type": "m5.4xlarge", "count": 1}]}}

    plan = bounded(dumps, [pod("p", count=1, cpu="3")], [group("small"), group("large", "m5.4xlarge")], policy=paid)

    assert desired(plan) == {"us-east-1/large": (0, 1)}
    assert plan["summary"]["price_usd_h_new"] == 0


@pytest.mark.feature("FS-09")
def test_without_prices_of_aws_the_plan_says_that_the_shipped_table_stands_in(dumps: Dumps) -> None:
    folder = dumps.write([pod("p", cpu="3")], {"us-east-1": [group("g")]})
    for file in (folder / "fleet" / "us-east-1").iterdir():
        answers = json.loads(file.read_text())
        answers.pop("OnDemandPrices", None)
        file.write_text(json.dumps(answers))

    plan = dumps.plan(folder)

    assert [(one["code"], "m5.xlarge in us-east-1" in one["text"]) for one in plan["warnings"]] == [("price_shipped", True)]
    assert plan["summary"]["price_usd_h_new"] == 0.192
