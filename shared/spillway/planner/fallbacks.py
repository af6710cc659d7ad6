"""Where a step's demand goes next when AWS refuses: other groups of the region by price, then the other regions.

A fallback holds all the pods of the step, each of them; its count is what serves them all, as far as the policy's
limits allow. Groups without room are left out; one with less room than its count takes what it can, and the rest goes on
to the next.
"""

from collections.abc import Mapping, Sequence

from spillway.model.plan import Fallback
from spillway.planner.amounts import Need, most, subtract
from spillway.planner.limits import Ledger
from spillway.planner.market import Market
from spillway.planner.supply import Source

PER_REGION = 5


def fallbacks(
    taken: Source, served: Mapping[int, int], market: Market, sources: Sequence[Source], regions: Sequence[str], limits: Ledger
) -> tuple[Fallback, ...]:
    """`served` counts pods by item; `sources` are the groups with room left after the plan.

    `limits` have booked the plan without the step's own nodes: in their stead the fallback's come.
    """
    pods = [(market.items[item].need, count) for item, count in sorted(served.items())]
    if not pods:
        return ()
    totals = _totals(pods)
    found = []
    for region in (taken.group.region, *(region for region in regions if region != taken.group.region)):
        able = [
            (_least(totals, source) * source.price, source.group.key, source)
            for source in sources
            if source.group.region == region and source is not taken and all(map(market.takes(source).__getitem__, served))
            if limits.most(source.group, 1)
        ]
        nearest = [source for _, _, source in sorted(able, key=lambda entry: entry[:2])[:PER_REGION]]
        priced = [(count * source.price, source.group, count) for source in nearest if (count := _nodes(pods, source))]
        for _, group, count in sorted(priced, key=lambda one: (one[0], one[1].key)):
            found.append(Fallback(region=region, group=group.name, nodes=limits.most(group, count)))
    return tuple(found)


def _totals(pods: Sequence[tuple[Need, int]]) -> dict[int, int]:
    totals: dict[int, int] = {}
    for need, count in pods:
        for dimension, amount in need.each:
            totals[dimension] = totals.get(dimension, 0) + amount * count
    return totals


def _least(totals: Mapping[int, int], source: Source) -> float:
    """Nodes by amounts alone: never more than it takes."""
    return max(amount / source.have[dimension] for dimension, amount in totals.items())


def _nodes(pods: Sequence[tuple[Need, int]], source: Source) -> int:
    """How many nodes hold the pods, the largest share first, equal nodes at once."""
    largest = sorted(
        pods, key=lambda pod: max(amount / source.have[dimension] for dimension, amount in pod[0].each), reverse=True
    )
    needs, left, nodes = [need for need, _ in largest], [count for _, count in largest], 0
    while any(left):
        free, packed = list(source.have), []
        for item, need in enumerate(needs):
            if left[item] and (number := most(free, need, left[item])):
                subtract(free, need, number)
                packed.append((item, number))
        times = min(left[item] // number for item, number in packed)
        for item, number in packed:
            left[item] -= number * times
        nodes += times
    return nodes
