"""Who goes where when pods have something to say of each other: split, place, buy, look, and again where it fell short.

Where no pod says anything of another, it is placed and bought for once, as ever.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from spillway.model.cluster import PodShape
from spillway.model.plan import Placement
from spillway.planner.amounts import Dimensions, Need
from spillway.planner.buy import Purchase
from spillway.planner.demand import Lot
from spillway.planner.fit import Fit
from spillway.planner.market import Market
from spillway.planner.parcel import Parcel, items, whole
from spillway.planner.place import Move, place
from spillway.planner.rooms import Room
from spillway.planner.rules.base import Host
from spillway.planner.supply import Supply
from spillway.planner.topology.bundles import Bundles
from spillway.planner.topology.census import Census, all_there
from spillway.planner.topology.domains import Domains, Splitting, rules_of
from spillway.planner.topology.evenness import BOUNDLESS, Evenness, Grant
from spillway.planner.topology.hosts import Hosts
from spillway.planner.topology.reach import Reach
from spillway.planner.topology.reasons import Reasons
from spillway.planner.topology.terms import Shapes, Terms
from spillway.planner.view import View

ROUNDS = 4


class _Turn(IntEnum):
    """When the scheduler had better take a pod."""

    COUNTS_OTHERS = 0
    COUNTS_ITS_KIND = 1
    COUNTED = 2
    LOOKS_FOR_OTHERS = 3


def _turn(shape: PodShape, terms: Terms) -> _Turn:
    if terms.near(shape):
        return _Turn.LOOKS_FOR_OTHERS
    spreads = terms.spreads(shape)
    if not spreads:
        return _Turn.COUNTED
    return _Turn.COUNTS_ITS_KIND if all(spread.pods.include(shape) for spread in spreads) else _Turn.COUNTS_OTHERS


class Topology:
    """What the pods of one plan say of each other; `hosts` makes dimensions of it, `keys` are read of nodes."""

    def __init__(self, view: View, lots: Sequence[Lot]) -> None:
        waiting = list({lot.shape.id: lot.shape for lot in lots}.values())
        everyone = list(view.shapes.values())
        terms = Terms({one.name: one.labels for one in view.cluster.namespaces})
        self.terms, self.shapes = terms, Shapes(everyone)
        self.hosts = Hosts(waiting, everyone, terms, self.shapes)
        self.rules = rules_of(waiting, everyone, terms, self.shapes)
        self.keys = self.rules.keys
        self.waiting = waiting
        self._turns = {shape.id: _turn(shape, terms) for shape in waiting}

    def in_order(self, placements: Iterable[Placement]) -> list[Placement]:
        """As the scheduler could take them: who counts others before those who are only counted, who looks for others last."""
        return sorted(placements, key=lambda placement: self._turns.get(placement.shape, _Turn.COUNTED))

    @property
    def is_silent(self) -> bool:
        return not self.hosts.names and not self.keys


@dataclass(frozen=True)
class Settled:
    """`moves` into room that is there or comes, and the `purchase` of the rest on the `market`."""

    parcels: Sequence[Parcel]
    moves: Sequence[Move]
    rooms: Sequence[Room]
    market: Market
    purchase: Purchase
    splitting: Splitting | None = None


def settle(
    view: View,
    topology: Topology,
    lots: Sequence[Lot],
    rooms: Sequence[Room],
    supply: Supply,
    fit: Fit,
    dimensions: Dimensions,
    buy: Callable[[Market], Purchase],
) -> Settled:
    """`buy` is how what finds no room is bought."""

    def attempt(parcels: Sequence[Parcel], rooms: Sequence[Room], supply: Supply) -> Settled:
        moves = place(parcels, rooms, fit, dimensions)
        market = Market(view, items(parcels), supply, fit, dimensions)
        return Settled(parcels, moves, rooms, market, buy(market))

    if topology.is_silent:
        return attempt([whole(lot) for lot in lots], rooms, supply)
    trial = _Trial(view, topology, lots, rooms, supply, fit, dimensions)
    best: tuple[tuple[bool, int], Settled] | None = None
    for _ in range(ROUNDS):
        parcels, mine, theirs = trial.begin()
        found = replace(attempt(parcels, mine, theirs), splitting=trial.splitting)
        score = trial.judge(found)
        if best is None or score < best[0]:
            best = score, found
        if not trial.has_more:
            break
    return best[1]  # type: ignore[index]  # there is one round at least


def reasons(topology: Topology, settled: Settled) -> Reasons | None:
    """None where no pod says anything of another."""
    return Reasons(topology.rules, topology.terms, settled.splitting) if settled.splitting else None


class _Trial:
    """What one round teaches the next. `has_more`: another one may do better."""

    def __init__(
        self,
        view: View,
        topology: Topology,
        lots: Sequence[Lot],
        rooms: Sequence[Room],
        supply: Supply,
        fit: Fit,
        dimensions: Dimensions,
    ) -> None:
        first = dimensions.first_neighbour
        hosts = topology.hosts
        self._rooms, self._supply, self._fit, self._first = rooms, supply, fit, first
        self._census = Census(view, rooms, fit, topology.waiting, topology.keys)
        spreads = {first + spread.dimension for spread in hosts.spreads}
        self._near = frozenset(first + dimension for dimension in hosts.near.values())
        open_rooms = [replace(room, free=_boundless(room.free, spreads | self._near)) for room in rooms]
        open_sources = [replace(s, have=tuple(_boundless(s.have, spreads | self._near))) for s in supply.sources.values()]
        reach = Reach(open_rooms, open_sources, fit, topology.keys, sum(lot.asked for lot in lots))
        self._domains = Domains(topology.rules, lots, topology.shapes, self._census, reach, fit)
        self._evenness = Evenness(hosts.spreads, first, rooms, supply.sources.values(), fit, self._census)
        self._spreads = {first + spread.dimension: spread for spread in hosts.spreads}
        there = {shape for one in self._census.classes for shape, pods in all_there(one).items() if pods}
        self._taken = frozenset(
            first + dimension
            for near, dimension in hosts.near.items()
            if not there.isdisjoint(topology.shapes.included(*near.pods))
        )
        self._cuts: dict[tuple[int, str, str], int] = {}
        self._born: list[Host] = []
        self._modest = False
        self.has_more = True

    def begin(self) -> tuple[list[Parcel], list[Room], Supply]:
        self.splitting = Splitting(self._domains, self._cuts, self._born)
        parcels = self.splitting.parcels()
        self._grants = self._evenness.grants(parcels, self._modest)
        rooms = [replace(room, free=list(room.free)) for room in self._rooms]
        sources = dict(self._supply.sources)
        for grant in self._grants:
            for room in rooms:
                room.free[grant.dimension] += grant.rooms.get(room.target, grant.others)
        if self._grants:
            new = {grant.dimension: grant.new for grant in self._grants}
            for key, source in sources.items():
                have = [amount + new.get(dimension, 0) for dimension, amount in enumerate(source.have)]
                sources[key] = replace(source, have=tuple(have))
        supply = replace(self._supply, sources=sources)
        bundles = Bundles(self._near, self._taken, rooms, sources.values(), self._fit)
        return bundles.of(parcels), rooms, supply

    def judge(self, found: Settled) -> tuple[bool, int]:
        """(whether it breaks a rule, pods without a place): the least is best."""
        left = _left(found)
        taken: Counter[tuple[int, str, str]] = Counter()
        short = set()
        for parcel in found.parcels:
            for lot, pods in parcel.parts:
                for key, value in parcel.domains:
                    taken[lot.number, key, value] += pods * (parcel.count - left[id(parcel)])
                    if left[id(parcel)]:
                        short.add((lot.number, key, value))
        hopes = [grant for grant in self._grants if grant.hopes]
        uneven = any(not self._holds(grant, found) for grant in hopes)
        born = [self._fit.host(host) for host in sorted({node.source.host for node in found.purchase.nodes})]
        holds = self.splitting.holds(taken, born)
        broken = uneven or not holds
        cuts = {where: taken[where] for where in short}
        lost = any(left[id(p)] and any(_asks(p, grant.dimension) for grant in hopes) for p in found.parcels)
        changed = any(self._cuts.get(where) != pods for where, pods in cuts.items())
        again = (uneven or lost) and not self._modest
        self.has_more = changed or again or (not holds and self.splitting.lacks(born))
        self._born = self._born if holds else born
        self._cuts |= cuts
        self._modest = self._modest or uneven or lost
        return broken, sum(lot.asked for lot in self._domains.lots) - sum(
            parcel.pods * (parcel.count - left[id(parcel)]) for parcel in found.parcels
        )

    def _holds(self, grant: Grant, found: Settled) -> bool:
        """Whether no node got more than the skew above the one that has the least."""
        one, dimension = self._spreads[grant.dimension], grant.dimension
        eligible = {name for group in self._census.eligible(one.spread, one.owner) for name in group.nodes}
        count = dict.fromkeys(eligible, 0)
        got = set()
        for move in found.moves:
            if _asks(move.parcel, dimension):
                got.add(move.room.target)
        for room in found.rooms:
            if room.target in eligible:
                count[room.target] = grant.rooms.get(room.target, grant.others) - room.free[dimension]
        for index, node in enumerate(found.purchase.nodes):
            if self._census.would_count(one.spread, one.owner, self._fit.host(node.source.host)):
                name = f"{node.source.group.key}#new{index}"
                needs = [(found.market.items[item].need, units) for item, units in node.pods]
                count[name] = sum(units * _counted(need, dimension) for need, units in needs)
                if any(dimension in dict(need.each) for need, _ in needs):
                    got.add(name)
        least = min(count.values(), default=0)
        return all(count[name] - least <= one.spread.max_skew for name in got if name in count)


def _left(found: Settled) -> dict[int, int]:
    """Units of each parcel, by its id, that have no place."""
    left = {id(parcel): parcel.left for parcel in found.parcels}
    for item, number in zip(found.market.items, found.purchase.left, strict=True):
        for parcel in reversed(item.parcels):
            left[id(parcel)] = min(parcel.left, number)
            number -= left[id(parcel)]
    return left


def _boundless(free: Sequence[int], dimensions: set[int]) -> list[int]:
    return [BOUNDLESS if dimension in dimensions else amount for dimension, amount in enumerate(free)]


def _asks(parcel: Parcel, dimension: int) -> bool:
    return any(dimension == one for one, _ in parcel.need.each)


def _counted(need: Need, dimension: int) -> int:
    return dict(need.each).get(dimension, 0) + dict(need.drains).get(dimension, 0)
