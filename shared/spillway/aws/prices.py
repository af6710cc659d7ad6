"""What an instance costs: on-demand from the answers or the shipped table, spot from the price history."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, TypeVar

import msgspec

from spillway.aws import shapes
from spillway.aws.launch import Launch
from spillway.model.fleet import CapacityType
from spillway.model.market import Offering
from spillway.planner.prices import expected


def price_of(value: object) -> float | None:
    """USD, from a number or its text; None for what is no price: no number, one without end, or below 0."""
    try:
        return msgspec.convert(value, shapes.Amount, strict=False)
    except msgspec.ValidationError:
        return None


class _Table(msgspec.Struct, frozen=True):
    prices: dict[str, float]


@cache
def shipped() -> Mapping[str, float]:
    """On-demand prices of us-east-1 by type (data/on_demand_prices.json says where from). Other regions cost about
    as much: a last resort that still puts types in the right order."""
    raw = resources.files("spillway.aws").joinpath("data/on_demand_prices.json").read_bytes()
    return msgspec.json.decode(raw, type=_Table).prices


@dataclass(frozen=True)
class Prices:
    """USD an hour: `on_demand` by type, `spot` by (type, zone), the latest of each."""

    on_demand: Mapping[str, float]
    spot: Mapping[tuple[str, str], float]

    def offerings(self, launch: Launch, zones: Iterable[str], types: Mapping[str, shapes.InstanceType]) -> tuple[Offering, ...]:
        """What the group may launch, in its order; a type whose on-demand price AWS did not tell has the shipped one."""
        return tuple(
            Offering(
                instance_type=name,
                vcpus=types[name].v_cpu_info.default_v_cpus if name in types else 0,
                on_demand_usd_h=self.on_demand.get(name, shipped().get(name)),
                spot_usd_h={zone: self.spot[name, zone] for zone in zones if (name, zone) in self.spot},
                shipped=name not in self.on_demand and name in shipped(),
            )
            for name in launch.types
        )

    def of(self, launch: Launch, zones: Iterable[str]) -> float | None:
        """The expected price of one instance of the group, None where a price that it needs is unknown."""
        where, spot = tuple(zones), launch.capacity_type is CapacityType.SPOT
        return expected(self.offerings(launch, where, {}), where, spot, launch.on_demand_share, launch.takes_cheapest)


def read(on_demand: Mapping[str, Any], history: Iterable[Any]) -> tuple[Prices, list[str]]:
    """Prices of a region's `OnDemandPrices` and `SpotPriceHistory`, and a sentence for each item that cannot be read."""
    items, problems = shapes.read_all(history, shapes.SpotPrice, "SpotPriceHistory")
    latest: dict[tuple[str, str], shapes.SpotPrice] = {}
    for item in items:
        key = item.instance_type, item.availability_zone
        if item.product_description.startswith("Linux/UNIX") and (key not in latest or latest[key].timestamp < item.timestamp):
            latest[key] = item
    fixed = _numbers(on_demand, "OnDemandPrices", problems)
    spot = _numbers({key: item.spot_price for key, item in latest.items()}, "SpotPriceHistory", problems)
    return Prices(fixed, spot), problems


K = TypeVar("K")


def _numbers(values: Mapping[K, Any], what: str, problems: list[str]) -> dict[K, float]:
    found: dict[K, float] = {}
    for key, value in values.items():
        if (price := price_of(value)) is None:
            problems.append(f"{what}: the price of {key} is no number from 0 up: {value!r}")
        else:
            found[key] = price
    return found
