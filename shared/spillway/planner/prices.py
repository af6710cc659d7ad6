"""What a node of a group costs an hour: by AWS's prices or the policy's own; estimated by its size where none is known."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

import msgspec

from spillway.model.base import Resources
from spillway.model.fleet import CapacityType, NodeGroup
from spillway.model.market import Offering
from spillway.model.policy import Prices
from spillway.model.reason import Code, Reason
from spillway.planner.amounts import ACCELERATORS
from spillway.planner.view import View

# On-demand prices of the m5, c5, r5 and g4dn families in us-east-1 (2026-07), solved for core, GiB and device.
USD_H_PER_CORE = 0.036
USD_H_PER_GIB = 0.003
USD_H_PER_ACCELERATOR = 0.33

_NAMED = 5  # groups and types in a warning

V = TypeVar("V")


def estimate(allocatable: Resources) -> float:
    devices = sum(allocatable.get(name, 0) for name in ACCELERATORS)
    return (
        allocatable.get("cpu", 0) / 1000 * USD_H_PER_CORE
        + allocatable.get("memory", 0) / 2**30 * USD_H_PER_GIB
        + devices * USD_H_PER_ACCELERATOR
    )


def expected(
    offerings: Sequence[Offering], zones: Iterable[str], spot: bool, on_demand_share: float, takes_cheapest: bool
) -> float | None:
    """Of one node of a group that launches any of the offerings, None where a price that it needs is unknown.

    Which zone, and which spot offering, is AWS's choice: spot is the mean over the zones, among which Auto Scaling keeps
    groups even, and over the types. On-demand follows the group's strategy: the first type (prioritized) or the cheapest
    (lowest-price). A mixed group counts by its shares above the base, and as all on-demand while spot is unknown.
    """
    on_demand = _on_demand(offerings, takes_cheapest)
    mean = _spot(offerings, tuple(zones)) if on_demand_share < 1 else None
    if spot:
        return mean
    if mean is None or on_demand is None:
        return on_demand
    return on_demand_share * on_demand + (1 - on_demand_share) * mean


def of(group: NodeGroup, own: Prices) -> float | None:
    """What the next node of the group costs, were none paid already; None where no price is known."""
    if not (own.on_demand or own.discount_percent) or not group.offerings:
        return group.template.price_usd_h if group.template else None
    offerings = [_repriced(one, group.region, own) for one in group.offerings]
    spot = group.capacity_type is CapacityType.SPOT
    return expected(offerings, group.zones, spot, group.on_demand_share, group.takes_cheapest)


def weight(view: View, group: NodeGroup) -> float:
    """What the choice of groups compares: the price, or the estimate. Above 0; raises ValueError without a template."""
    if group.template is None:
        raise ValueError(f"group {group.key} has no template")
    price = of(group, view.policy.prices)
    return max(price if price is not None else estimate(group.template.allocatable), 1e-6)


def known(view: View, group: NodeGroup) -> float:
    """For sums: 0 where no price is known."""
    return of(group, view.policy.prices) or 0.0


def warnings(view: View) -> Iterable[Reason]:
    """Groups without any price, and types whose price is a guess."""
    own = view.policy.prices
    unpriced = sorted(g.key for g in view.groups.values() if g.template is not None and of(g, own) is None)
    if unpriced:
        yield Reason(code=Code.PRICE_UNKNOWN, text=f"no price is known for {_list(unpriced)}: their size is compared instead")
    shipped: dict[str, set[str]] = {}
    for group in view.groups.values():
        if group.on_demand_share > 0:
            names = (one.instance_type for one in group.offerings if one.shipped)
            shipped.setdefault(group.region, set()).update(
                name for name in names if _matching(own.on_demand, group.region, name) is None
            )
    for region, types in sorted(shipped.items()):
        if types:
            text = (
                f"the on-demand price of {_list(sorted(types))} in {region} is a guess: AWS told none, so that of us-east-1 "
                "in the table that comes with Spillway is taken"
            )
            yield Reason(code=Code.PRICE_SHIPPED, text=text)


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _on_demand(offerings: Sequence[Offering], takes_cheapest: bool) -> float | None:
    prices = [one.on_demand_usd_h for one in offerings]
    if takes_cheapest:
        return min((price for price in prices if price is not None), default=None)
    return prices[0] if prices else None


def _spot(offerings: Sequence[Offering], zones: Sequence[str]) -> float | None:
    means = []
    for offering in offerings:
        here = [offering.spot_usd_h[zone] for zone in zones if zone in offering.spot_usd_h]
        if not here:
            return None
        means.append(sum(here) / len(here))
    return sum(means) / len(means) if means else None


def _repriced(offering: Offering, region: str, own: Prices) -> Offering:
    price = _matching(own.on_demand, region, offering.instance_type)
    percent = _matching(own.discount_percent, region, offering.instance_type)
    if price is None and percent is not None and offering.on_demand_usd_h is not None:
        price = offering.on_demand_usd_h * (1 - percent / 100)
    return offering if price is None else msgspec.structs.replace(offering, on_demand_usd_h=price)


def _matching(listed: Mapping[str, V], region: str, instance_type: str) -> V | None:
    """An exact key, else the first glob that matches; with or without the region before."""
    names = (f"{region}/{instance_type}", instance_type)
    exact = (listed[name] for name in names if name in listed)
    globs = (value for key, value in listed.items() if any(fnmatchcase(name, key) for name in names))
    return next(exact, next(globs, None))
