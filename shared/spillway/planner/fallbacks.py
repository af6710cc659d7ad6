"""Where a step's demand goes next when AWS refuses: other groups of the region by price, of equal ones those with warm
instances first, then the other regions.

A fallback holds all the pods of the step, each of them; its count is what serves them all, as far as the policy's
limits allow. Groups without room are left out; one with less room than its count takes what it can, and the rest goes on
to the next.
"""

from collections.abc import Mapping, Sequence

from spillway.model.plan import Fallback
from spillway.planner.amounts import Need
from spillway.planner.greedy import Limiter, Run
from spillway.planner.limits import Ledger
from spillway.planner.market import Market
from spillway.planner.stock import Offer, Stock
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
    totals, nodes = _totals(pods), _Nodes(pods, market.resources)
    found = []
    for region in (taken.group.region, *(region for region in regions if region != taken.group.region)):
        here = [source for source in sources if source.group.region == region and source is not taken]
        takes = {items: items.issuperset(served) for items in {market.takes(source) for source in here}}
        able = [
            (_least(totals, source) * source.price, source.group.key, source)
            for source in here
            if takes[market.takes(source)] and limits.most(source.group, 1)
        ]
        nearest = [source for _, _, source in sorted(able, key=lambda entry: entry[:2])[:PER_REGION]]
        priced = [(count * source.price, source, count) for source in nearest if (count := nodes.of(source.have))]
        for _, source, count in sorted(priced, key=lambda one: (one[0], -min(one[1].warm, one[2]), one[1].group.key)):
            found.append(Fallback(region=region, group=source.group.name, nodes=limits.most(source.group, count)))
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


class _Nodes:
    """How many nodes hold the pods, the largest share first, equal nodes at once. Asked once for equal nodes."""

    def __init__(self, pods: Sequence[tuple[Need, int]], resources: int) -> None:
        self._needs, self._counts = [need for need, _ in pods], [count for _, count in pods]
        self._resources = resources
        self._known: dict[tuple[int, ...], int] = {}

    def of(self, have: tuple[int, ...]) -> int:
        if have not in self._known:
            offer = Offer(have, 1.0, sum(self._counts), frozenset(range(len(self._needs))))
            stock = Stock(self._needs, [offer], self._resources)
            shares = [stock.share(number, have) for number in range(len(stock.size_of))]
            packing = Run(stock, self._counts, [offer], shares, Limiter()).packing()
            self._known[have] = sum(batch.times for batch in packing.batches)
        return self._known[have]
