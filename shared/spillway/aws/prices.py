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

    def of(self, launch: Launch, zones: Iterable[str]) -> float | None:
        """The expected price of one instance of the group, None where a price that it needs is unknown.

        Spot is the mean over types and zones, since Auto Scaling picks among all of them. On-demand follows the
        group's strategy: the first type (prioritized) or the cheapest (lowest-price). A mixed group counts by its
        shares above the base, and as all on-demand while spot is unknown.
        """
        share, on_demand = launch.on_demand_share, self._of_on_demand(launch)
        spot = self._of_spot(launch, tuple(zones)) if share < 1 else None
        if launch.capacity_type is CapacityType.SPOT:
            return spot
        if spot is None or on_demand is None:
            return on_demand
        return share * on_demand + (1 - share) * spot

    def _of_on_demand(self, launch: Launch) -> float | None:
        known = [self.on_demand.get(name, shipped().get(name)) for name in launch.types]
        if launch.takes_cheapest:
            return min((price for price in known if price is not None), default=None)
        return known[0] if known else None

    def _of_spot(self, launch: Launch, zones: tuple[str, ...]) -> float | None:
        prices: list[float] = []
        for name in launch.types:
            here = [self.spot[name, zone] for zone in zones if (name, zone) in self.spot]
            if not here:
                return None
            prices.append(sum(here) / len(here))
        return sum(prices) / len(prices) if prices else None


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
        try:
            found[key] = float(value)
        except (TypeError, ValueError):
            problems.append(f"{what}: the price of {key} is no number: {value!r}")
    return found
