"""New nodes for the pods that found no room: which groups are asked first, and what is packed on each node.

Regions are asked in the policy's order, the next one only for what the one before cannot serve. Groups with
accelerators are kept for the pods that ask for them while another group can serve the rest. When room is short, the
choice is made again in turns, and the way that leaves the fewest pods of the highest priority is taken.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import groupby

from spillway.planner.amounts import most, subtract
from spillway.planner.greedy import Limiter
from spillway.planner.limits import Ledger
from spillway.planner.market import Market
from spillway.planner.pack import pack
from spillway.planner.paid import Paid
from spillway.planner.stock import Offer
from spillway.planner.supply import Source


@dataclass
class NewNode:
    """One node to come of a group, and the pods (item, count) it is for. `raised`: the group's min wants it.

    `is_paid`: it costs nothing more, by the policy's list of what is paid already.
    """

    source: Source
    pods: list[tuple[int, int]] = field(default_factory=list)
    free: list[int] | None = None
    raised: bool = False
    is_paid: bool = False

    @property
    def price(self) -> float:
        return 0.0 if self.is_paid else self.source.price


@dataclass
class Purchase:
    """`left` counts the pods of each item that got no node; `ledger` and `paid` have booked all of `nodes`."""

    nodes: list[NewNode]
    left: list[int]
    ledger: Ledger
    paid: Paid

    def add(self, node: NewNode) -> None:
        self.ledger.take(node.source.group, 1)
        node.is_paid = bool(self.paid.take(node.source.group, 1))
        self.nodes.append(node)

    def drop(self, node: NewNode) -> None:
        self.ledger.take(node.source.group, -1)
        if node.is_paid:
            self.paid.take(node.source.group, -1)
        self.nodes.remove(node)


def buy(market: Market, ledger: Ledger, paid: Paid, raised: Sequence[Source], desired: Mapping[str, int]) -> Purchase:
    """`raised` are nodes that come anyway, to reach a min; `desired` is what each group has or expects.

    What is `paid` already is used before anything is bought.
    """
    found = []
    for turns in _turns(market):
        attempt = _Attempt(market, ledger.copy(), paid.copy(), raised, desired)
        for items in turns:
            attempt.serve(items)
        found.append(attempt.purchase)
        if not any(attempt.purchase.left[i] and market.options(i) for i in range(len(market.items))):
            break
    return min(found, key=lambda purchase: _worth(market, purchase))


def _turns(market: Market) -> Iterator[list[list[int]]]:
    """Ways to take turns: all at once is cheapest; when room is short, by priority, and those with few choices first."""
    every = range(len(market.items))
    yield [list(every)]
    yield _by(every, lambda i: (-market.items[i].priority,))
    yield _by(every, lambda i: (-market.items[i].priority, market.options(i)))


def _by(items: Iterable[int], key: Callable[[int], tuple[int, ...]]) -> list[list[int]]:
    return [list(same) for _, same in groupby(sorted(items, key=lambda i: (key(i), i)), key)]


def _worth(market: Market, purchase: Purchase) -> tuple[list[int], float]:
    """Pods left without a node, the highest priority first, and then the price."""
    left: dict[int, int] = {}
    for item, count in zip(market.items, purchase.left, strict=True):
        left[item.priority] = left.get(item.priority, 0) + count * item.pods
    return [left[priority] for priority in sorted(left, reverse=True)], sum(node.price for node in purchase.nodes)


@dataclass
class _Stall:
    """Equal groups, and how many nodes each may still be asked for."""

    sources: list[Source] = field(default_factory=list)
    room: list[int] = field(default_factory=list)

    def add(self, source: Source, room: int) -> None:
        if room > 0:
            self.sources.append(source)
            self.room.append(room)


class _Attempt:
    def __init__(
        self, market: Market, ledger: Ledger, paid: Paid, raised: Sequence[Source], desired: Mapping[str, int]
    ) -> None:
        self.purchase = Purchase([], [item.count for item in market.items], ledger, paid)
        self._market, self._desired = market, dict(desired)
        self._room = {key: source.room for key, source in market.sources.items()}
        self._warm = {key: source.warm for key, source in market.sources.items()}
        for source in raised:
            if self._room[source.group.key] and ledger.most(source.group, 1):
                self._add(NewNode(source, raised=True))

    def serve(self, items: Sequence[int]) -> None:
        """On nodes that are open already, then on new ones."""
        reserved = self._market.reserved()
        self._fill_open(items)
        self._buy(items, reserved)
        rest = [i for i in items if self.purchase.left[i] and i in reserved]
        if rest:
            self._fill_open(rest)
            self._buy(rest, frozenset())

    def _buy(self, items: Sequence[int], reserved: frozenset[int]) -> None:
        for number, rank in enumerate(self._market.ranks):
            self._pack_rank(items, rank, reserved, self._market.share(number, self.purchase.left))
        if self._market.spreads:
            rank = [source for rank in self._market.ranks for source in rank]
            self._pack_rank(items, rank, reserved, self.purchase.left)

    def _pack_rank(self, items: Sequence[int], rank: list[Source], reserved: frozenset[int], asked: Sequence[int]) -> None:
        """On what is paid already, then on what has its price."""
        before = list(self.purchase.left)
        if free := [source for source in rank if self.purchase.paid.free(source.group)]:
            self._pack(items, free, reserved, asked, self.purchase.paid)
        taken = [was - now for was, now in zip(before, self.purchase.left, strict=True)]
        self._pack(items, rank, reserved, [wanted - took for wanted, took in zip(asked, taken, strict=True)])

    def _pack(
        self, items: Sequence[int], rank: list[Source], reserved: frozenset[int], asked: Sequence[int], paid: Paid | None = None
    ) -> None:
        """`paid`: no more nodes than it has left."""
        waiting = [i for i in items if asked[i] > 0 and self.purchase.left[i]]
        if not waiting:
            return
        stalls, known = self._stalls(rank), dict[frozenset[int], frozenset[int]]()
        packing = pack(
            [self._market.items[i].need for i in waiting],
            [min(asked[i], self.purchase.left[i]) for i in waiting],
            [self._offer(stall, waiting, reserved, known) for stall in stalls],
            self._market.resources,
            lambda: _Limits(self.purchase.ledger.copy(), paid and paid.copy(), [stall.sources[0] for stall in stalls]),
        )
        for batch in packing.batches:
            pattern = [(waiting[item], number) for item, number in batch.pattern]
            for source in self._evenly(stalls[batch.offer], batch.times):
                self._add(NewNode(source, list(pattern)))

    def _stalls(self, rank: list[Source]) -> list[_Stall]:
        """Groups that no pod, price or limit tells apart, with what is warm of them; then with what they launch. So of nodes
        that are as good those of warm pools go first."""
        warm: dict[tuple[object, ...], _Stall] = defaultdict(_Stall)
        anew: dict[tuple[object, ...], _Stall] = defaultdict(_Stall)
        for source in rank:
            room, prepared = self._room[source.group.key], self._warm[source.group.key]
            if room:
                signature = self.purchase.ledger.signature(source.group), self.purchase.paid.signature(source.group)
                kind = source.host, source.have, source.price, source.accelerated, signature
                warm[kind].add(source, min(room, prepared))
                anew[kind].add(source, room - prepared)
        return [stall for stall in (*warm.values(), *anew.values()) if stall.sources]

    def _offer(
        self,
        stall: _Stall,
        waiting: list[int],
        reserved: frozenset[int],
        known: dict[frozenset[int], frozenset[int]],
    ) -> Offer:
        """`known` are the waiting of those items that an offer takes: most take the same."""
        one, takes = stall.sources[0], self._market.takes(stall.sources[0])
        if one.accelerated and reserved:
            takes = takes - reserved
        if takes not in known:
            known[takes] = frozenset(item for item, i in enumerate(waiting) if i in takes)
        return Offer(one.have, one.price, sum(stall.room), known[takes])

    def _evenly(self, stall: _Stall, nodes: int) -> list[Source]:
        """The group with the lowest desired gets the next node, so that equal groups and their zones stay even."""
        sources, room = stall.sources, stall.room
        heap = [(self._desired[s.group.key], index) for index, s in enumerate(sources) if room[index]]
        heapify(heap)
        found = []
        for _ in range(nodes):
            desired, index = heappop(heap)
            found.append(index)
            room[index] -= 1
            if room[index]:
                heappush(heap, (desired + 1, index))
        return [sources[index] for index in sorted(found)]

    def _add(self, node: NewNode) -> None:
        group = node.source.group
        self._room[group.key] -= 1
        self._warm[group.key] = max(0, self._warm[group.key] - 1)
        self._desired[group.key] += 1
        self.purchase.add(node)
        for i, number in node.pods:
            self.purchase.left[i] -= number

    def _fill_open(self, items: Sequence[int]) -> None:
        needs = self._market.items
        for node in self.purchase.nodes:
            if node.free is None:
                node.free = list(node.source.have)
                for i, number in node.pods:
                    subtract(node.free, needs[i].need, number)
            takes = self._market.takes(node.source)
            for i in items:
                number = most(node.free, needs[i].need, self.purchase.left[i]) if i in takes else 0
                if number:
                    subtract(node.free, needs[i].need, number)
                    node.pods.append((i, number))
                    self.purchase.left[i] -= number


class _Limits(Limiter):
    """The policy's limits, AWS's ceilings, and what is paid where nothing else is wanted, as `pack` asks: by offer."""

    def __init__(self, ledger: Ledger, paid: Paid | None, sources: list[Source]) -> None:
        self._ledger, self._paid, self._sources = ledger, paid, sources

    def most(self, offer: int, wanted: int) -> int:
        group = self._sources[offer].group
        allowed = self._ledger.most(group, wanted)
        return allowed if self._paid is None else min(allowed, self._paid.free(group))

    def take(self, offer: int, nodes: int) -> None:
        group = self._sources[offer].group
        self._ledger.take(group, nodes)
        if self._paid is not None:
            self._paid.take(group, nodes)
