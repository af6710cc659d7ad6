"""New nodes for what waits, for the least price: by shape and in batches of equal nodes, never pod by pod.

Again and again the node with the most packed value per dollar is opened, as many equal ones at once as the pods
allow. A shape's value is what a pod of it must cost at least: over all offers, its dominant share of the node
times the node's price. So the score of a node is the part of its price that is well spent, 1 at best. Several
runs weigh the shapes anew by what their nodes came to cost in the run before; the cheapest run is taken.

No clock and no randomness: ties end by index, and the work is bounded by counts.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

from spillway.planner.amounts import Need, most, subtract

ROUNDS = 30
WORK = 300_000  # looks at one shape for one node, over all rounds: about half a second


@dataclass(frozen=True)
class Offer:
    """Equal groups as one. `items` are the indices of the needs that may go there and fit an empty node."""

    have: tuple[int, ...]
    price: float
    room: int
    items: tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """`times` equal nodes of an offer, each with so many pods of these items."""

    offer: int
    times: int
    pattern: tuple[tuple[int, int], ...]


@dataclass
class Packing:
    batches: list[Batch] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    price: float = 0.0


class Limiter:
    """How many nodes of an offer the policy allows; without limits all of them."""

    def most(self, offer: int, wanted: int) -> int:
        return wanted

    def take(self, offer: int, nodes: int) -> None:
        return None


def pack(
    needs: Sequence[Need], counts: Sequence[int], offers: Sequence[Offer], limiter: Callable[[], Limiter] = Limiter
) -> Packing:
    """The cheapest of several runs among those that leave the fewest pods. `limiter` is made anew for each run.

    An offer without a price, above 0 and finite, cannot be compared with another: it is not opened.
    """
    offers = [offer if 0 < offer.price < inf else replace(offer, items=()) for offer in offers]
    shares = _Shares(needs)
    values = _least_cost(needs, offers, shares)
    best, spent = Packing(left=list(counts)), 0
    for number in range(ROUNDS):
        run = _Run(needs, counts, offers, values, shares, limiter())
        found = run.packing()
        if number == 0 or (sum(found.left), found.price) < (sum(best.left), best.price - 1e-9):
            best = found
        spent += run.work
        if spent * (number + 2) > WORK * (number + 1):
            break  # one more round like these would be more work than allowed
        values = _paid(needs, counts, offers, values, found)
    return best


class _Alike(NamedTuple):
    """Items that take the same `amounts` of a node and are worth the same: where one finds too little, all do."""

    number: int
    value: float
    amounts: Need
    items: list[int]


class _Shares:
    """The dominant share of a node that a pod takes. `number` is equal for items that take the same amounts."""

    def __init__(self, needs: Sequence[Need]) -> None:
        numbers: dict[tuple[tuple[int, int], ...], int] = {}
        self.number = [numbers.setdefault(need.each, len(numbers)) for need in needs]
        self._amounts = list(numbers)
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def share(self, number: int, offer: Offer) -> float:
        known = number, offer.have
        if known not in self._known:
            self._known[known] = max(amount / offer.have[dimension] for dimension, amount in self._amounts[number])
        return self._known[known]


def least(needs: Sequence[Need]) -> Need:
    """What all of them ask for at least."""
    found = dict(needs[0].each) if needs else {}
    for need in needs:
        asked = dict(need.each)
        found = {dimension: min(amount, asked[dimension]) for dimension, amount in found.items() if dimension in asked}
    return Need(tuple(sorted(found.items())))


def _least_cost(needs: Sequence[Need], offers: Sequence[Offer], shares: _Shares) -> list[float]:
    values = [0.0] * len(needs)
    for offer in offers:
        cost_of: dict[int, float] = {}
        for item in offer.items:
            number = shares.number[item]
            if number not in cost_of:
                cost_of[number] = offer.price * shares.share(number, offer)
            cost = cost_of[number]
            if not values[item] or cost < values[item]:
                values[item] = cost
    return values


def _paid(
    needs: Sequence[Need], counts: Sequence[int], offers: Sequence[Offer], values: list[float], packing: Packing
) -> list[float]:
    """Values half way to what a pod of each shape paid: a node's price is divided by the values packed on it."""
    paid, pods = [0.0] * len(needs), [0] * len(needs)
    for batch in packing.batches:
        packed = sum(values[item] * number for item, number in batch.pattern)
        dear = offers[batch.offer].price / packed if packed else 1.0
        for item, number in batch.pattern:
            paid[item] += dear * values[item] * number * batch.times
            pods[item] += number * batch.times
    return [(value + paid[i] / pods[i]) / 2 if pods[i] else value for i, value in enumerate(values)]


class _Run:
    """One greedy run. A stale score is recomputed when its offer comes to the top: scores fall as pods are taken."""

    def __init__(
        self,
        needs: Sequence[Need],
        counts: Sequence[int],
        offers: Sequence[Offer],
        values: list[float],
        shares: _Shares,
        limiter: Limiter,
    ) -> None:
        self.work = 0
        self._needs, self._offers, self._values, self._limiter = needs, offers, values, limiter
        self._left = list(counts)
        self._room = [offer.room for offer in offers]
        self._shares = shares
        self._grouped: dict[tuple[int, ...], list[_Alike]] = {}
        self._orders = [self._fill_orders(offer) for offer in offers]
        self._least = least(needs)

    def packing(self) -> Packing:
        found = Packing()
        heap = [entry for index in range(len(self._offers)) if (entry := self._scored(index))]
        heapq.heapify(heap)
        while heap:
            fresh = self._scored(heap[0][1])
            if fresh is None:
                heapq.heappop(heap)
                continue
            heapq.heapreplace(heap, fresh)
            if heap[0] is fresh:
                self._open(found, fresh[1], fresh[2])
        found.left = self._left
        return found

    def _open(self, found: Packing, index: int, pattern: tuple[tuple[int, int], ...]) -> None:
        times = min(self._left[item] // number for item, number in pattern)
        times = self._limiter.most(index, min(times, self._room[index]))
        if not times:
            self._room[index] = 0
            return
        self._limiter.take(index, times)
        self._room[index] -= times
        for item, number in pattern:
            self._left[item] -= number * times
        found.batches.append(Batch(index, times, pattern))
        found.price += times * self._offers[index].price

    def _scored(self, index: int) -> tuple[float, int, tuple[tuple[int, int], ...]] | None:
        """(minus the part of the price that is well spent, offer, pattern) of the best node of this offer now."""
        if not self._room[index]:
            return None
        offer, best, best_value = self._offers[index], None, 0.0
        for order in self._orders[index]:
            pattern, value = self._fill(offer, order)
            if pattern and value > best_value:
                best, best_value = pattern, value
        return (-best_value / offer.price, index, tuple(best)) if best else None

    def _fill(self, offer: Offer, order: Sequence[_Alike]) -> tuple[list[tuple[int, int]], float]:
        free, pattern, value = list(offer.have), [], 0.0
        left, needs, least = self._left, self._needs, self._least
        for _, worth, amounts, items in order:
            self.work += 1
            if len(items) > 1 and not most(free, amounts, 1):
                continue
            for item in items:
                if left[item]:
                    self.work += 1
                    number = most(free, needs[item], left[item])
                    if number:
                        subtract(free, needs[item], number)
                        pattern.append((item, number))
                        value += worth * number
                        if not most(free, amounts, 1):
                            break
            if not most(free, least, 1):
                break
        return pattern, value

    def _fill_orders(self, offer: Offer) -> tuple[list[_Alike], ...]:
        """Best paid for its share first, and largest first; the better node of the two is taken."""
        shares = [(self._shares.share(alike.number, offer), alike) for alike in self._groups(offer.items)]
        dense = sorted(shares, key=lambda one: (-one[1].value / one[0], -one[0], one[1].items))
        large = sorted(shares, key=lambda one: (-one[0], one[1].items))
        return [alike for _, alike in dense], [alike for _, alike in large]

    def _groups(self, items: tuple[int, ...]) -> list[_Alike]:
        if items not in self._grouped:
            found: dict[tuple[int, float], list[int]] = {}
            for item in items:
                found.setdefault((self._shares.number[item], self._values[item]), []).append(item)
            self._grouped[items] = [
                _Alike(number, value, Need(self._needs[alike[0]].each), alike) for (number, value), alike in found.items()
            ]
        return self._grouped[items]
