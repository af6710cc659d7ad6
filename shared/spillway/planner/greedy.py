"""One greedy run over the offers: the node with the most packed value per dollar is opened, again and again."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spillway.planner.amounts import Size, most, subtract
from spillway.planner.stock import Offer, Shelf, Stock, least_amounts

Pattern = tuple[tuple[int, int], ...]
"""(item, pods) on one node."""


@dataclass(frozen=True)
class Batch:
    """`times` equal nodes of an offer, each with so many pods of these items."""

    offer: int
    times: int
    pattern: Pattern


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


class _Line(NamedTuple):
    """A class where it comes in the order in which a node is filled."""

    number: int
    value: float
    size: Size
    shelves: list[Shelf]


_Orders = tuple[list[_Line], list[_Line]]


class _Node(NamedTuple):
    """The best node of an offer: the one that sorts first spends most of its price well. `lines` are the pattern's."""

    score: float
    offer: int
    pattern: Pattern
    lines: list[_Line]
    value: float


class Run:
    """A pattern is made anew when its offer comes to the top and there are too few pods for it: scores fall as pods go."""

    def __init__(
        self, stock: Stock, counts: Sequence[int], offers: Sequence[Offer], values: Sequence[float], limiter: Limiter
    ) -> None:
        self.work = 0
        self._stock, self._offers, self._limiter = stock, offers, limiter
        self._left, self._values = list(counts), values
        self._worth = sum(values[number] * count for number, count in zip(stock.class_of, counts, strict=True))
        self._room = [offer.room for offer in offers]
        self._shelves = stock.shelves(counts)
        sizes = zip(stock.size_of, self._shelves, strict=True)
        self._least = least_amounts({size for size, shelves in sizes if shelves})
        self._lines = [
            _Line(number, values[number], stock.size_of[number], shelves) for number, shelves in enumerate(self._shelves)
        ]
        self._by_have: dict[tuple[int, ...], _Orders] = {}
        self._orders: dict[tuple[tuple[int, ...], frozenset[int]], tuple[int, _Orders]] = {}
        self._gone = 0  # classes that are sold out: the orders that were made before are too long

    def packing(self) -> Packing:
        found = Packing()
        heap = [entry for index in range(len(self._offers)) if (entry := self._best(index))]
        heapq.heapify(heap)
        while heap:
            top = heap[0]
            if not self._room[top.offer]:
                heapq.heappop(heap)
            elif self._is_whole(top.pattern):
                self._open(found, top)
            elif len(heap) > 1 and (bound := -self._worth / self._offers[top.offer].price) > min(heap[1:3]).score:
                heapq.heapreplace(heap, top._replace(score=bound))
            elif fresh := self._again(top):
                heapq.heapreplace(heap, fresh)
            else:
                heapq.heappop(heap)
        found.left = self._left
        return found

    def _is_whole(self, pattern: Pattern) -> bool:
        left = self._left
        for item, number in pattern:  # noqa: SIM110  a generator takes twice as long
            if left[item] < number:
                return False
        return True

    def _open(self, found: Packing, node: _Node) -> None:
        index = node.offer
        times = min([self._left[item] // number for item, number in node.pattern])
        times = self._limiter.most(index, min(times, self._room[index]))
        if not times:
            self._room[index] = 0
            return
        self._limiter.take(index, times)
        self._room[index] -= times
        for item, number in node.pattern:
            self._worth -= self._values[self._stock.class_of[item]] * number * times
            self._left[item] -= number * times
            if not self._left[item]:
                self._sold_out(item)
        found.batches.append(Batch(index, times, node.pattern))
        found.price += times * self._offers[index].price

    def _sold_out(self, item: int) -> None:
        shelves = self._shelves[self._stock.class_of[item]]
        for number, shelf in enumerate(shelves):
            if shelf.number == self._stock.manner_of[item]:
                shelf.items.remove(item)
                if not shelf.items:
                    del shelves[number]
                    self._gone += not shelves
                return

    def _again(self, node: _Node) -> _Node | None:
        """Other pods of the same classes, where as good a node can be made of them."""
        pattern, value, lines = self._fill(self._offers[node.offer].have, node.lines)
        if value >= node.value - 1e-9:
            return _Node(node.score, node.offer, tuple(pattern), lines, node.value)
        return self._best(node.offer)

    def _best(self, index: int) -> _Node | None:
        offer, best, best_value = self._offers[index], None, 0.0
        for order in self._fill_orders(index):
            pattern, value, lines = self._fill(offer.have, order)
            if value > best_value:
                best, best_value = (tuple(pattern), lines), value
        return _Node(-best_value / offer.price, index, *best, best_value) if best else None

    def _fill(self, have: Sequence[int], order: Sequence[_Line]) -> tuple[list[tuple[int, int]], float, list[_Line]]:
        free, value = list(have), 0.0
        pattern: list[tuple[int, int]] = []
        used: list[_Line] = []
        too_large: Size | None = None
        refused: set[int] = set()
        self.work += len(order)
        for line in order:
            _, worth, size, shelves = line
            if not shelves or size is too_large:
                continue
            for dimension, amount in size:
                if free[dimension] < amount:
                    too_large = size
                    break
            else:
                if pods := self._take(free, line, pattern, refused):
                    value += worth * pods
                    used.append(line)
                    if not _fits(free, self._least):
                        break
        return pattern, value, used

    def _take(self, free: list[int], line: _Line, pattern: list[tuple[int, int]], refused: set[int]) -> int:
        """As many pods of the class as will go; `refused` are manners for which the node is spoilt."""
        left, size = self._left, line.size
        room = wanted = min([free[dimension] // amount for dimension, amount in size])
        for number, manner, asks, takes, brings, items in line.shelves:
            if number in refused:
                continue
            for item in items:
                self.work += 1
                pods = left[item] if left[item] < room else room
                if asks and not (pods := most(free, manner, pods)):
                    refused.add(number)
                    break
                if takes:
                    subtract(free, manner, pods)
                    if brings:
                        refused.clear()
                pattern.append((item, pods))
                room -= pods
                if not room:
                    break
            if not room:
                break
        taken = wanted - room
        for dimension, amount in size if taken else ():
            free[dimension] -= amount * taken
        return taken

    def _fill_orders(self, index: int) -> _Orders:
        """Best paid for its share first, and largest first, [] where that is the same; the better node of the two is taken."""
        key = self._offers[index].have, self._stock.taken(index)
        known = self._orders.get(key)
        if known is None or known[0] != self._gone:
            orders = known[1] if known else self._all_orders(key[0])
            dense, large = ([line for line in order if line.shelves and line.number in key[1]] for order in orders)
            known = self._orders[key] = self._gone, (dense, [] if large == dense else large)
        return known[1]

    def _all_orders(self, have: tuple[int, ...]) -> _Orders:
        """Of all classes that fit the node by size."""
        if have not in self._by_have:
            shares = [(self._stock.share(line.number, have), line) for line in self._lines if line.shelves]
            fit = [(share, line) for share, line in shares if share <= 1]
            dense = sorted(fit, key=lambda one: (-one[1].value / one[0], -one[0], one[1].number))
            large = sorted(fit, key=lambda one: (-one[0], one[1].number))
            self._by_have[have] = [line for _, line in dense], [line for _, line in large]
        return self._by_have[have]


def _fits(free: Sequence[int], size: Size) -> bool:
    for dimension, amount in size:  # noqa: SIM110  a generator takes twice as long
        if free[dimension] < amount:
            return False
    return True
