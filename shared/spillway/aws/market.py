"""What AWS charges, asked: spot from EC2's history, on-demand from the Pricing API."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import msgspec

from spillway import clock
from spillway.aws import clients
from spillway.aws.memo import Memo

PRICING_REGION = "us-east-1"  # the Pricing API answers for all regions, in three of them only
_CALLS_AT_ONCE = 8

_on_demand: Memo[tuple[str, str], float] = Memo(timedelta(hours=12))
_spot: Memo[tuple[str, str], list[Mapping[str, Any]]] = Memo(timedelta(minutes=5))


def on_demand_prices(region: str, types: Iterable[str]) -> dict[str, float]:
    """USD an hour by type: Linux, shared tenancy, nothing preinstalled. Raises AwsForbidden or AwsUnavailable."""

    def fetch(keys: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
        first = _on_demand_price(keys[0])  # alone: where it is refused, the others would be refused as well
        with ThreadPoolExecutor(_CALLS_AT_ONCE) as pool:
            prices = [first, *pool.map(_on_demand_price, keys[1:])]
        return {key: price for key, price in zip(keys, prices, strict=True) if price is not None}

    found = _on_demand.get(((region, name) for name in types), fetch)
    return {name: price for (_, name), price in found.items()}


def spot_prices(region: str, types: Iterable[str]) -> list[Mapping[str, Any]]:
    """The newest SpotPriceHistory item of each type and zone. Raises AwsForbidden or AwsUnavailable."""

    def fetch(keys: list[tuple[str, str]]) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
        found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        request = {
            "InstanceTypes": [name for _, name in keys],
            "ProductDescriptions": ["Linux/UNIX"],
            "StartTime": clock.utcnow(),  # gives the price of now, however old it is
        }
        for page in clients.pages("ec2", region, "describe_spot_price_history", **request):
            for item in page["SpotPriceHistory"]:
                found.setdefault((region, item["InstanceType"]), []).append(item)
        return found

    return [item for items in _spot.get(((region, name) for name in types), fetch).values() for item in items]


class _PriceDimension(msgspec.Struct, rename="camel"):
    price_per_unit: dict[str, str]


class _Term(msgspec.Struct, rename="camel"):
    price_dimensions: dict[str, _PriceDimension]


class _Terms(msgspec.Struct):
    on_demand: dict[str, _Term] = msgspec.field(name="OnDemand", default_factory=dict)


class _Product(msgspec.Struct):
    terms: _Terms


def _on_demand_price(key: tuple[str, str]) -> float | None:
    region, name = key
    wanted = {
        "regionCode": region,
        "instanceType": name,
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",  # without it capacity blocks are listed too, at other prices
    }
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
    answer = clients.ask("pricing", PRICING_REGION, "get_products", ServiceCode="AmazonEC2", Filters=filters)
    prices = [
        float(dimension.price_per_unit["USD"])
        for text in answer["PriceList"]
        for term in msgspec.json.decode(text, type=_Product).terms.on_demand.values()
        for dimension in term.price_dimensions.values()
        if "USD" in dimension.price_per_unit
    ]
    return max(prices, default=None)
