"""New nodes for the pods that found no room: which groups are asked first, and what is packed on each node.

Regions are asked in the policy's order, the next one only for what the one before cannot serve. Groups with
accelerators are kept for the pods that ask for them while another group can serve the rest. When a limit leaves
somebody without a node, the choice is made again priority by priority.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from spillway.model.policy import RegionMode
from spillway.planner.amounts import ACCELERATORS, Dimensions, most, subtract
from spillway.planner.demand import Lot
from spillway.planner.fit import Fit
from spillway.planner.limits import Ledger
from spillway.planner.pack import Limiter, Offer, pack
from spillway.planner.supply import Source, Supply, region_order, region_ranks
from spillway.planner.view import View


@dataclass
class NewNode:
    """One node to come of a group, and the pods (index of the lot, count) it is for. `raised`: the group's min wants it."""

    source: Source
    pods: list[tuple[int, int]] = field(default_factory=list)
    free: list[int] | None = None
    raised: bool = False


@dataclass
class Purchase:
    nodes: list[NewNode]
    left: list[int]
    ledger: Ledger


class Market:
    """What may be bought for these lots. Attempts share nothing: each starts from the same room and limits."""

    def __init__(
        self, view: View, lots: Sequence[Lot], supply: Supply, fit: Fit, dimensions: Dimensions, ledger: Ledger
    ) -> None:
        self._view, self._lots, self._supply, self._fit = view, lots, supply, fit
        self._ledger = ledger
        self._wants = [self._wants_accelerator(lot, dimensions) for lot in lots]
        self._fits: dict[tuple[int, tuple[int, ...]], list[bool]] = {}

    def buy(self, raised: Sequence[Source], desired: dict[str, int]) -> Purchase:
        """`raised` are nodes that come anyway, to reach a min; `desired` is what each group has or expects."""
        all_at_once = _Attempt(self, raised, desired, self._ledger.copy())
        all_at_once.run(range(len(self._lots)))
        if not self._is_unfair(all_at_once):
            return all_at_once.purchase
        by_priority = _Attempt(self, raised, desired, self._ledger.copy())
        for priority in sorted({lot.shape.priority for lot in self._lots}, reverse=True):
            by_priority.run([i for i, lot in enumerate(self._lots) if lot.shape.priority == priority])
        return by_priority.purchase

    def _is_unfair(self, attempt: "_Attempt") -> bool:
        """Somebody is left without a node while a lower priority got one."""
        served = [self._lots[i].shape.priority for node in attempt.purchase.nodes for i, _ in node.pods]
        left = [lot.shape.priority for i, lot in enumerate(self._lots) if attempt.purchase.left[i] and self.possible(i)]
        return bool(served and left) and max(left) > min(served)

    def possible(self, lot: int) -> bool:
        return any(self.allows(source)[lot] for source in self._supply.sources.values())

    def allows(self, source: Source) -> list[bool]:
        """For each lot, whether a pod of it may go to an empty node of the group."""
        key = (source.host, source.have)
        if key not in self._fits:
            have = list(source.have)
            self._fits[key] = [
                most(have, lot.need, 1) == 1 and self._fit.refusal(lot.kind, source.host) is None for lot in self._lots
            ]
        return self._fits[key]

    def reserved(self) -> list[bool]:
        """Lots that another group than one with accelerators can serve, and that ask for none."""
        plain = [self.allows(source) for source in self._supply.sources.values() if not source.accelerated]
        return [not self._wants[i] and any(fits[i] for fits in plain) for i in range(len(self._lots))]

    def ranks(self) -> list[list[Source]]:
        """Groups that are asked together, in the order in which they are asked."""
        sources = self._supply.sources.values()
        if self._view.policy.scale_out.objective == "seed_order":
            order = region_order(self._view)
            keyed = [(order.index(s.group.region), len(s.group.zones) > 1, _market(s), s.group.name, s) for s in sources]
            return [[entry[-1]] for entry in sorted(keyed, key=lambda entry: entry[:-1])]
        ranks = [[s for s in sources if s.group.region in regions] for regions in region_ranks(self._view)]
        return [rank for rank in ranks if rank]

    def shares(self, rank: list[Source], ranks: list[list[Source]], left: list[int]) -> list[int]:
        """How many pods of each lot this rank is asked for: all, or its share where regions are to be even."""
        if self._view.policy.region_mode is not RegionMode.SPREAD:
            return list(left)
        rest = ranks[ranks.index(rank) :]
        able = [sum(any(self.allows(s)[i] for s in other) for other in rest) for i in range(len(left))]
        return [-(-count // max(1, able[i])) for i, count in enumerate(left)]

    @staticmethod
    def _wants_accelerator(lot: Lot, dimensions: Dimensions) -> bool:
        return any(dimensions.names[dimension] in ACCELERATORS for dimension, _ in lot.need)

    @property
    def lots(self) -> Sequence[Lot]:
        return self._lots


def _market(source: Source) -> str:
    """Spot before on-demand; "on-demand" < "reserved" < "spot", so spot gets what sorts first."""
    return "" if source.group.capacity_type == "spot" else str(source.group.capacity_type)


class _Attempt:
    def __init__(self, market: Market, raised: Sequence[Source], desired: dict[str, int], ledger: Ledger) -> None:
        self._market, self._desired = market, dict(desired)
        self.purchase = Purchase([], [lot.left for lot in market.lots], ledger)
        self._room = {key: source.room for key, source in market._supply.sources.items()}
        for source in raised:
            if self._room[source.group.key] and ledger.most(source.group, 1):
                self._add(source, (), raised=True)

    def run(self, lots: Sequence[int]) -> None:
        """Serves these lots, on nodes that are open already and on new ones."""
        reserved = self._market.reserved()
        self._fill_open(lots)
        self._buy(lots, reserved)
        second = [i for i in lots if self.purchase.left[i] and reserved[i]]
        if second:
            self._fill_open(second)
            self._buy(second, [False] * len(reserved))

    def _buy(self, lots: Sequence[int], reserved: list[bool]) -> None:
        ranks = self._market.ranks()
        for rank in ranks:
            self._pack(lots, rank, reserved, self._market.shares(rank, ranks, self.purchase.left))
        if self._market._view.policy.region_mode is RegionMode.SPREAD:
            self._pack(lots, [source for rank in ranks for source in rank], reserved, self.purchase.left)

    def _pack(self, lots: Sequence[int], rank: list[Source], reserved: list[bool], asked: list[int]) -> None:
        waiting = [i for i in lots if asked[i] and self.purchase.left[i]]
        if not waiting:
            return
        alike = self._alike(rank)
        offers = [self._offer(sources, waiting, reserved) for sources in alike]
        counts = [min(asked[i], self.purchase.left[i]) for i in waiting]
        groups = [sources[0] for sources in alike]
        packing = pack(
            [self._market.lots[i].need for i in waiting], counts, offers, lambda: _Limits(self.purchase.ledger.copy(), groups)
        )
        for batch in packing.batches:
            pattern = tuple((waiting[item], number) for item, number in batch.pattern)
            for source in self._evenly(alike[batch.offer], batch.times):
                self._add(source, pattern)
                for i, number in pattern:
                    self.purchase.left[i] -= number

    def _alike(self, rank: list[Source]) -> list[list[Source]]:
        """Groups that no pod, price or limit tells apart."""
        found: dict[tuple[object, ...], list[Source]] = defaultdict(list)
        for source in rank:
            if self._room[source.group.key]:
                signature = self.purchase.ledger.signature(source.group)
                found[source.host, source.have, source.price, source.accelerated, signature].append(source)
        return list(found.values())

    def _offer(self, sources: list[Source], waiting: list[int], reserved: list[bool]) -> Offer:
        one, fits = sources[0], self._market.allows(sources[0])
        items = tuple(item for item, i in enumerate(waiting) if fits[i] and not (one.accelerated and reserved[i]))
        return Offer(one.have, one.price, sum(self._room[source.group.key] for source in sources), items)

    def _evenly(self, sources: list[Source], nodes: int) -> list[Source]:
        """The group with the lowest desired gets the next node, so that equal groups and their zones stay even."""
        heap = [(self._desired[s.group.key], index) for index, s in enumerate(sources) if self._room[s.group.key]]
        heapify(heap)
        room = {index: self._room[sources[index].group.key] for _, index in heap}
        found = []
        for _ in range(nodes):
            desired, index = heappop(heap)
            found.append(index)
            room[index] -= 1
            if room[index]:
                heappush(heap, (desired + 1, index))
        return [sources[index] for index in sorted(found)]

    def _add(self, source: Source, pattern: tuple[tuple[int, int], ...], *, raised: bool = False) -> None:
        key = source.group.key
        self._room[key] -= 1
        self._desired[key] += 1
        self.purchase.ledger.take(source.group, 1)
        self.purchase.nodes.append(NewNode(source, list(pattern), raised=raised))

    def _fill_open(self, lots: Sequence[int]) -> None:
        for node in self.purchase.nodes:
            if node.free is None:
                node.free = list(node.source.have)
                for i, number in node.pods:
                    subtract(node.free, self._market.lots[i].need, number)
            fits = self._market.allows(node.source)
            for i in lots:
                number = most(node.free, self._market.lots[i].need, self.purchase.left[i]) if fits[i] else 0
                if number:
                    subtract(node.free, self._market.lots[i].need, number)
                    node.pods.append((i, number))
                    self.purchase.left[i] -= number


class _Limits(Limiter):
    """The policy's limits as `pack` asks for them: by offer."""

    def __init__(self, ledger: Ledger, groups: list[Source]) -> None:
        self._ledger, self._groups = ledger, groups

    def most(self, offer: int, wanted: int) -> int:
        return self._ledger.most(self._groups[offer].group, wanted)

    def take(self, offer: int, nodes: int) -> None:
        self._ledger.take(self._groups[offer].group, nodes)
