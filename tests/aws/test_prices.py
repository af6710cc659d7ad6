"""What one more node of a group costs an hour."""

from datetime import timedelta
from typing import Any

import pytest

from spillway.aws import fleet, prices
from tests.aws.answers import CLUSTER, NOW, group, instance_type, mixed, region, version
from tests.aws.botocore_shapes import checked

TYPES = [instance_type("m5.large"), instance_type("m6i.large")]
ON_DEMAND = {"m5.large": 0.10, "m6i.large": 0.08}


def price(answer: dict[str, Any]) -> float | None:
    (found,) = fleet.reduce(CLUSTER, "us-east-1", NOW, {"us-east-1": answer}).groups
    assert found.template is not None, found.problem
    return found.template.price_usd_h


def spot(kind: str, usd: str, zone: str = "us-east-1a", age_s: int = 60, what: str = "Linux/UNIX") -> dict[str, Any]:
    item = {"InstanceType": kind, "AvailabilityZone": zone, "SpotPrice": usd, "Timestamp": NOW - timedelta(seconds=age_s)}
    return checked("ec2", "SpotPrice", {**item, "ProductDescription": what})


def answers(percent: int = 100, history: tuple[dict[str, Any], ...] = (), **distribution: Any) -> dict[str, Any]:
    fields = mixed("g", ["m5.large", "m6i.large"], percent, **distribution)
    return region(group(**fields), InstanceTypes=TYPES, OnDemandPrices=ON_DEMAND, SpotPriceHistory=list(history))


def test_a_group_of_one_type_costs_what_the_type_costs() -> None:
    assert price(region(group())) == 0.096


def test_the_shipped_table_is_the_last_resort() -> None:
    assert price(region(group(), OnDemandPrices={})) == prices.shipped()["m5.large"] == 0.096


def test_a_type_that_no_list_knows_has_no_price() -> None:
    odd = {"LaunchTemplateVersions": [version(kind="x9.large")], "InstanceTypes": [instance_type("x9.large")]}

    assert price(region(group(), **odd)) is None


def test_on_demand_follows_the_groups_strategy() -> None:
    assert price(answers()) == 0.10, "prioritized: the first"
    assert price(answers(OnDemandAllocationStrategy="lowest-price")) == 0.08


def test_spot_is_the_mean_of_the_newest_price_of_each_type_and_zone() -> None:
    history = (spot("m5.large", "0.04"), spot("m5.large", "0.09", age_s=600), spot("m6i.large", "0.02"))

    assert price(answers(0, history)) == pytest.approx(0.03)


@pytest.mark.feature("FS-09")
def test_prices_of_windows_and_of_zones_that_the_group_has_not_do_not_count() -> None:
    history = (
        spot("m5.large", "0.04"),
        spot("m6i.large", "0.04"),
        spot("m5.large", "9", zone="us-east-1f"),
        spot("m5.large", "9", age_s=1, what="Windows"),
    )

    assert price(answers(0, history)) == pytest.approx(0.04)


def test_a_spot_group_without_a_spot_price_has_none() -> None:
    assert price(answers(0, (spot("m5.large", "0.04"),))) is None, "m6i.large has none"


def test_a_mixed_market_counts_by_its_shares() -> None:
    history = (spot("m5.large", "0.02"), spot("m6i.large", "0.02"))

    assert price(answers(25, history)) == pytest.approx(0.25 * 0.10 + 0.75 * 0.02)
    assert price(answers(25)) == 0.10, "without a spot price as if all were on-demand"
    assert price(answers(0, OnDemandBaseCapacity=1)) == 0.10


@pytest.mark.feature("FS-09")
@pytest.mark.parametrize("text", ["dear", "NaN", "inf", "1e400", "-1"])
def test_a_price_that_is_no_number_from_0_up_is_named_and_the_shipped_one_stands_in(text: str) -> None:
    odd = answers(0, (spot("m5.large", text), spot("m6i.large", "0.04"))) | {"OnDemandPrices": {"m5.large": text}}

    snapshot = fleet.reduce(CLUSTER, "us-east-1", NOW, {"us-east-1": odd})

    assert [warning.text for warning in snapshot.warnings] == [
        f"region us-east-1: OnDemandPrices: the price of m5.large is no number from 0 up: {text!r}",
        f"region us-east-1: SpotPriceHistory: the price of ('m5.large', 'us-east-1a') is no number from 0 up: {text!r}",
    ]
    first, second = snapshot.groups[0].offerings
    assert (first.on_demand_usd_h, first.spot_usd_h, first.shipped) == (prices.shipped()["m5.large"], {}, True)
    assert second.spot_usd_h == {"us-east-1a": 0.04}


def test_the_shipped_table_names_its_source() -> None:
    assert len(prices.shipped()) > 50
    assert all(0 < usd < 100 for usd in prices.shipped().values())
