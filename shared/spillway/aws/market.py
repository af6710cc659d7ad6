"""What AWS charges, asked: spot from EC2's history, on-demand from the Pricing API."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec

from spillway import clock
from spillway.aws import clients, parallel
from spillway.aws.documented import ODD, odd
from spillway.aws.kept import Kept
from spillway.aws.memo import Memo
from spillway.aws.prices import price_of
from spillway.errors import AwsUnavailable
from spillway.telemetry import logger

PRICING_REGION = "us-east-1"  # the Pricing API answers for all regions, in three of them only
LISTED_FROM = 20
"""Types of which the whole list of a region is read instead, a hundred a page: some nine hundred types."""


V = TypeVar("V")
Item = Mapping[str, Any]
Told = Mapping[str, tuple[datetime, float | None]]
"""USD an hour by type, None where AWS has no price of it, with the time of the answer."""
SpotTold = Mapping[str, tuple[datetime, list[Item]]]
"""Items of SpotPriceHistory by type, with the time of the answer."""


class Shelf(Protocol):
    """Where prices of a region outlive the process. Raises AwsForbidden or AwsUnavailable."""

    def on_demand(self, region: str) -> Told: ...

    def put_on_demand(self, region: str, prices: Told) -> None: ...

    def spot(self, region: str) -> SpotTold: ...

    def put_spot(self, region: str, prices: SpotTold) -> None: ...


_Key = tuple[str, str]  # region and type
_on_demand: Memo[_Key, float | None] = Memo(timedelta(hours=12))
_spot: Memo[_Key, list[Item]] = Memo(timedelta(minutes=5))
_ASK_AGAIN = timedelta(hours=1)  # for a type that has no price, perhaps since it is new
WITHIN_S = 30.0


def on_demand_prices(
    region: str, types: Iterable[str], shelf: Shelf | None = None, within_s: float = WITHIN_S
) -> dict[str, float] | Kept:
    """USD an hour by type: Linux, shared tenancy, nothing preinstalled. Old prices stand in where AWS fails, or does not answer
    within so many seconds.

    Raises AwsForbidden or AwsUnavailable where there is not even an old one.
    """
    keys = [(region, name) for name in types]
    if shelf and len(_on_demand.known(keys)) < len(keys):
        _on_demand.learn(_of(region, shelf.on_demand(region)))
    told = _on_demand.known(keys)
    again = {key for key, (at, price) in told.items() if price is None and clock.utcnow() - at >= _ASK_AGAIN}

    def ask(wanted: list[_Key]) -> dict[_Key, float | None]:
        return dict.fromkeys(wanted) | (_listed(region) if len(wanted) >= LISTED_FROM else _one_by_one(wanted))

    def fetch(wanted: list[_Key]) -> dict[_Key, float | None]:
        return _in_time(within_s, partial(ask, wanted), region, "pricing:GetProducts")

    found, failure = _on_demand.get_kept(keys, fetch, again)
    if shelf and _on_demand.known(keys) != told:
        shelf.put_on_demand(region, _named(_on_demand.known(keys)))
    prices = {name: price for (_, name), price in found.items() if price is not None}
    return Kept(prices, *failure) if failure else prices


def spot_prices(region: str, types: Iterable[str], shelf: Shelf | None = None, within_s: float = WITHIN_S) -> list[Item] | Kept:
    """The newest SpotPriceHistory item of each type and zone. Old ones stand in where AWS fails, or does not answer within so
    many seconds.

    Raises AwsForbidden or AwsUnavailable where there is not even an old one.
    """
    keys = [(region, name) for name in types]
    if shelf and len(_spot.known(keys)) < len(keys):
        _spot.learn(_of(region, shelf.spot(region)))
    told = _spot.known(keys)

    def ask(wanted: list[_Key]) -> dict[_Key, list[Item]]:
        found: dict[_Key, list[Item]] = {key: [] for key in wanted}
        request = {
            "InstanceTypes": [name for _, name in wanted],
            "ProductDescriptions": ["Linux/UNIX"],
            "StartTime": clock.utcnow(),  # gives the price of now, however old it is
        }
        for page in clients.pages("ec2", region, "describe_spot_price_history", **request):
            for item in page["SpotPriceHistory"]:
                found.setdefault((region, item["InstanceType"]), []).append(item)
        return found

    def fetch(wanted: list[_Key]) -> dict[_Key, list[Item]]:
        return _in_time(within_s, partial(ask, wanted), region, "ec2:DescribeSpotPriceHistory")

    found, failure = _spot.get_kept(keys, fetch)
    if shelf and _spot.known(keys) != told:
        shelf.put_spot(region, _named(_spot.known(keys)))
    items = [item for mine in found.values() for item in mine]
    return Kept(items, *failure) if failure else items


def _in_time(within_s: float, call: Callable[[], V], region: str, action: str) -> V:
    """Raises AwsUnavailable where there is no answer, or an odd one: to the memo that is a failure like any other."""
    try:
        return parallel.within(within_s, call)
    except TimeoutError:
        raise AwsUnavailable(region, action, f"no answer within {within_s:.1f} s") from None
    except ODD as error:
        raise odd(region, action, error) from error


def _of(region: str, told: Mapping[str, V]) -> dict[_Key, V]:
    return {(region, name): value for name, value in told.items()}


def _named(known: Mapping[_Key, V]) -> dict[str, V]:
    return {name: value for (_, name), value in known.items()}


class _PriceDimension(msgspec.Struct, rename="camel"):
    price_per_unit: dict[str, str]


class _Term(msgspec.Struct, rename="camel"):
    price_dimensions: dict[str, _PriceDimension]


class _Terms(msgspec.Struct):
    on_demand: dict[str, _Term] = msgspec.field(name="OnDemand", default_factory=dict)


class _Attributes(msgspec.Struct, rename="camel"):
    instance_type: str = ""


class _Product(msgspec.Struct):
    attributes: _Attributes = msgspec.field(default_factory=_Attributes)


class _Priced(msgspec.Struct):
    """An item of the price list, which comes as JSON within a string."""

    terms: _Terms
    product: _Product = msgspec.field(default_factory=_Product)

    @property
    def usd_h(self) -> float | None:
        """The dearest; None where it has no price in USD, or one that is none."""
        texts = [
            dimension.price_per_unit["USD"]
            for term in self.terms.on_demand.values()
            for dimension in term.price_dimensions.values()
            if "USD" in dimension.price_per_unit
        ]
        prices = [price for text in texts if (price := price_of(text)) is not None]
        if len(prices) < len(texts):
            logger.warning(f"the price list has no number from 0 up for {self.product.attributes.instance_type}: {texts}")
            return None
        return max(prices, default=None)


_ITEM = msgspec.json.Decoder(_Priced)  # here, since threads that are first at once crash msgspec


def _listed(region: str) -> dict[_Key, float | None]:
    """Of every type that the region has."""
    return {(region, one.product.attributes.instance_type): one.usd_h for one in _priced(region)}


def _one_by_one(keys: list[_Key]) -> dict[_Key, float | None]:
    def price(key: _Key) -> float | None:
        region, name = key
        return max((one.usd_h for one in _priced(region, instanceType=name) if one.usd_h is not None), default=None)

    first = price(keys[0])  # alone: where it is refused, the others would be refused as well
    return dict(zip(keys, [first, *parallel.each(price, keys[1:])], strict=True))


def _priced(region: str, **narrower: str) -> Iterator[_Priced]:
    wanted = {
        "regionCode": region,
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",  # without it capacity blocks are listed too, at other prices
        **narrower,
    }
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
    for page in clients.pages("pricing", PRICING_REGION, "get_products", ServiceCode="AmazonEC2", Filters=filters):
        for text in page["PriceList"]:
            try:
                yield _ITEM.decode(text)
            except msgspec.DecodeError as error:  # of one type, which then has the price that comes with Spillway
                logger.warning(f"an item of the price list of {region} is not as AWS documents it: {error}: {text[:200]}")
