"""Prices in the stored snapshot: asked seldom, kept in the table with their age, and old ones rather than none."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from functions.snapshot_fleet import app
from spillway.aws import clients, memo, prices, reader
from spillway.aws.table import snapshots
from spillway.model.fleet import FleetSnapshot, NodeGroup
from spillway.model.reason import Code
from spillway_local.emulator.prices import price_list
from tests.aws.account import HOME, WEST, Account, open_account
from tests.aws.answers import NOW, OURS
from tests.functions.test_snapshot_fleet import create, fail

HOUR = 3600
LISTED = {HOME: {"m5.large": 0.101, "m5.xlarge": 0.202}, WEST: {"m5.large": 0.111}}


@pytest.fixture
def account() -> Iterator[Account]:
    """Home has a group of m5.large, and its prices."""
    with open_account() as opened, price_list(LISTED):
        launches(HOME, "m5.large", "nodes")
        yield opened


def launches(region: str, instance_type: str, name: str, **fields: Any) -> None:
    clients.client("ec2", region).create_launch_template(
        LaunchTemplateName=name, LaunchTemplateData={"InstanceType": instance_type, "ImageId": "ami-12c6146b"}
    )
    create(region, name, LaunchTemplate={"LaunchTemplateName": name, "Version": "$Latest"}, **fields)


def spot(*zones: str) -> None:
    template = {
        "LaunchTemplateSpecification": {"LaunchTemplateName": "nodes", "Version": "$Latest"},
        "Overrides": [{"InstanceType": "m5.large"}],
    }
    distribution = {"OnDemandBaseCapacity": 0, "OnDemandPercentageAboveBaseCapacity": 0}
    clients.client("autoscaling", HOME).create_auto_scaling_group(
        AutoScalingGroupName="spot", MinSize=0, MaxSize=5, AvailabilityZones=list(zones),
        MixedInstancesPolicy={"LaunchTemplate": template, "InstancesDistribution": distribution},
        Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in OURS.items()],
    )  # fmt: skip


def spot_history(monkeypatch: pytest.MonkeyPatch, **usd: str) -> None:
    """Spot prices of m5.large by the last letter of the zone, in place of moto's, which are all alike."""
    pages = clients.pages

    def told(service: str, region: str, name: str, **request: Any) -> Any:
        if name != "describe_spot_price_history":
            return pages(service, region, name, **request)
        assert request["StartTime"] >= NOW
        return iter([
            {
                "SpotPriceHistory": [
                    {
                        "InstanceType": "m5.large", "AvailabilityZone": region + zone, "SpotPrice": price, "Timestamp": NOW,
                        "ProductDescription": "Linux/UNIX",
                    }
                    for zone, price in usd.items()
                ]
            }
        ])  # fmt: skip

    monkeypatch.setattr(clients, "pages", told)


def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Operations that are asked for from now on."""
    pages, names = clients.pages, list[str]()

    def counted(service: str, region: str, name: str, **request: Any) -> Any:
        names.append(name)
        return pages(service, region, name, **request)

    monkeypatch.setattr(clients, "pages", counted)
    return names


def run(account: Account) -> FleetSnapshot:
    app.handler({}, None)
    return snapshots.latest_fleet(account.table)


def group(found: FleetSnapshot, name: str) -> NodeGroup:
    return next(one for one in found.groups if one.name == name)


def price(found: FleetSnapshot, name: str = "nodes") -> float | None:
    template = group(found, name).template
    return template.price_usd_h if template else None


def told(found: FleetSnapshot, code: Code) -> list[str]:
    return [one.text for one in found.warnings if one.code is code]


@pytest.mark.feature("FS-09")
def test_on_demand_prices_come_from_the_pricing_api_for_each_region(account: Account) -> None:
    launches(WEST, "m5.large", "west")

    found = run(account)

    assert (price(found), price(found, "west")) == (0.101, 0.111)
    (offering,) = group(found, "nodes").offerings
    assert (offering.instance_type, offering.vcpus, offering.on_demand_usd_h) == ("m5.large", 2, 0.101)


@pytest.mark.feature("FS-09")
def test_spot_prices_are_kept_by_zone_and_a_group_of_several_zones_costs_their_mean(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    spot_history(monkeypatch, a="0.02", b="0.06", c="0.5")
    spot("us-east-1a", "us-east-1b")

    found = run(account)

    assert group(found, "spot").offerings[0].spot_usd_h == {"us-east-1a": 0.02, "us-east-1b": 0.06}
    assert price(found, "spot") == pytest.approx(0.04)


@pytest.mark.feature("FS-09")
def test_a_new_process_asks_for_no_price_that_the_table_has(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    spot_history(monkeypatch, a="0.02")
    spot("us-east-1a")
    run(account)
    memo.clear()
    names = asked(monkeypatch)
    account.pass_s(299)

    found = run(account)

    assert not {"get_products", "describe_spot_price_history"} & set(names)
    assert (price(found), price(found, "spot")) == (0.101, 0.02)


@pytest.mark.feature("FS-09")
@pytest.mark.parametrize("new_process", [True, False], ids=["new process", "warm process"])
def test_on_demand_prices_are_asked_for_every_twelve_hours_and_spot_ones_every_five_minutes(
    account: Account, monkeypatch: pytest.MonkeyPatch, new_process: bool
) -> None:
    spot_history(monkeypatch, a="0.02")
    spot("us-east-1a")
    names = asked(monkeypatch)
    counts = []
    for wait in (0, 299, 1, 12 * HOUR - 300):
        if new_process:
            memo.clear()
        account.pass_s(wait)
        run(account)
        counts.append((names.count("get_products"), names.count("describe_spot_price_history")))

    assert counts == [(1, 1), (1, 1), (1, 2), (2, 3)]


@pytest.fixture(params=[True, False], ids=["new process", "warm process"])
def with_old_prices(account: Account, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Account:
    """Prices were read 13 hours ago, by this process or by one before it."""
    spot_history(monkeypatch, a="0.02")
    spot("us-east-1a")
    run(account)
    if request.param:
        memo.clear()
    account.pass_s(13 * HOUR)
    return account


@pytest.mark.feature("FS-09")
def test_where_aws_fails_old_prices_are_used_and_named_with_their_age(
    with_old_prices: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, "InternalErrorException", "get_products")
    fail(monkeypatch, "RequestLimitExceeded", "describe_spot_price_history")

    found = run(with_old_prices)

    assert (price(found), price(found, "spot")) == (0.101, 0.02)
    on_demand, old_spot = told(found, Code.PRICE_OLD)
    assert on_demand.startswith("region us-east-1: OnDemandPrices is of 2026-01-01 12:00 UTC, 13.0 h old: ")
    assert "pricing:GetProducts failed: InternalErrorException" in on_demand
    assert old_spot.startswith("region us-east-1: SpotPriceHistory is of 2026-01-01 12:00 UTC, 13.0 h old: ")


@pytest.mark.feature("FS-09")
def test_where_aws_hangs_old_prices_are_used_as_where_it_fails(
    with_old_prices: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, released, hanging = clients.pages, threading.Event(), list[threading.Thread]()

    def hang(service: str, region: str, name: str, **request: Any) -> Any:
        if name in ("get_products", "describe_spot_price_history"):
            hanging.append(threading.current_thread())
            released.wait()
        return pages(service, region, name, **request)

    monkeypatch.setattr(clients, "pages", hang)
    monkeypatch.setattr(reader, "_KEPT_S", reader.ANSWER_S - 0.5)
    found = run(with_old_prices)
    released.set()
    for thread in hanging:
        thread.join()

    assert len(hanging) == 2
    assert (price(found), price(found, "spot")) == (0.101, 0.02)
    on_demand, old_spot = told(found, Code.PRICE_OLD)
    assert "13.0 h old: region us-east-1: pricing:GetProducts failed: no answer within 0." in on_demand
    assert "13.0 h old: region us-east-1: ec2:DescribeSpotPriceHistory failed: no answer within 0." in old_spot


@pytest.mark.feature("FS-09")
def test_a_type_that_is_new_when_aws_fails_takes_no_old_price_from_the_others(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(account)
    launches(HOME, "m5.xlarge", "larger")
    fail(monkeypatch, "InternalErrorException", "get_products")

    found = run(account)

    assert price(found) == 0.101
    assert price(found, "larger") == prices.shipped()["m5.xlarge"]
    assert [one.shipped for name in ("nodes", "larger") for one in group(found, name).offerings] == [False, True]


@pytest.mark.feature("FS-09")
def test_the_shipped_table_is_the_last_resort_and_marked_as_such(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, "AccessDeniedException", "get_products")

    found = run(account)

    assert price(found) == prices.shipped()["m5.large"]
    assert [one.shipped for one in group(found, "nodes").offerings] == [True]
    (text,) = told(found, Code.PERMISSION)
    assert "IAM does not allow pricing:GetProducts" in text


@pytest.mark.feature("FS-09")
def test_a_type_that_nobody_knows_a_price_of_has_none(account: Account) -> None:
    launches(HOME, "u-6tb1.metal", "huge")

    found = run(account)

    assert (price(found, "huge"), group(found, "huge").offerings[0].shipped) == (None, False)
    assert price(found) == 0.101
