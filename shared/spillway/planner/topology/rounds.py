"""How lots are split, rooms granted and nodes hoped for, and what one round teaches the next."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from spillway.planner.demand import Lot
from spillway.planner.parcel import Parcel
from spillway.planner.problem import Problem
from spillway.planner.rooms import Room
from spillway.planner.rules.base import Host
from spillway.planner.supply import Supply
from spillway.planner.topology.bundles import Bundles
from spillway.planner.topology.census import Census, all_there
from spillway.planner.topology.domains import Domains, Splitting
from spillway.planner.topology.draft import Draft
from spillway.planner.topology.evenness import BOUNDLESS, Evenness
from spillway.planner.topology.reach import Reach
from spillway.planner.topology.standing import Standing


class Rounds:
    """`begin` a round, `learn` from what came of it.

    `has_more`: another one may serve more. `has_cheaper`: it may serve as many for less, as nodes that were to hold some of a
    spread did not, and others were bought in their stead.
    """

    def __init__(self, problem: Problem, lots: Sequence[Lot], rooms: Sequence[Room]) -> None:
        topology, supply, fit, dimensions = problem.topology, problem.supply, problem.fit, problem.dimensions
        first = dimensions.first_neighbour
        hosts = topology.hosts
        self._rooms, self._supply, self._fit, self._lots = rooms, supply, fit, lots
        self._census = Census(problem.view, rooms, fit, topology.waiting, topology.keys)
        spreads = {first + spread.dimension for spread in hosts.spreads}
        self.near = frozenset(first + dimension for dimension in hosts.near.values())
        open_rooms = [replace(room, free=_boundless(room.free, spreads | self.near)) for room in rooms]
        open_sources = [replace(s, have=tuple(_boundless(s.have, spreads | self.near))) for s in supply.sources.values()]
        reach = Reach(open_rooms, open_sources, fit, topology.keys, sum(lot.asked for lot in lots))
        self.domains = Domains(topology.rules.over_domains(), lots, topology.shapes, self._census, reach, fit)
        self._evenness = Evenness(hosts.spreads, first, rooms, supply.sources.values(), fit, self._census)
        there = {shape for one in self._census.classes for shape, pods in all_there(one).items() if pods}
        self._taken = frozenset(
            first + dimension
            for near, dimension in hosts.near.items()
            if not there.isdisjoint(topology.shapes.included(*near.pods))
        )
        self._cuts: dict[tuple[int, str, str], int] = {}
        self._born: list[Host] = []
        self._modest = False
        self.has_more, self.has_cheaper = True, False

    def begin(self) -> tuple[list[Parcel], list[Room], Supply]:
        self._splitting = Splitting(self.domains, self._cuts, self._born)
        parcels = self._splitting.parcels()
        self._wanted = _by_domain(parcels)
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
        bundles = Bundles(self.near, self._taken, rooms, sources.values(), self._fit)
        return bundles.of(parcels), rooms, replace(self._supply, sources=sources)

    def learn(self, draft: Draft, standing: Standing) -> None:
        """From who came of the round's draft."""
        served = draft.served()
        short = {lot.number for lot in self._lots if served.get(lot.number, 0) < lot.asked}
        taken: Counter[tuple[int, str, str]] = Counter()
        for batch in draft.log:
            if batch.lot.number in short:
                for key, values in standing.where(batch.site):
                    if len(values) == 1 and values[0] is not None:
                        taken[batch.lot.number, key, values[0]] += batch.pods
        cuts = {where: taken[where] for where, pods in self._wanted.items() if where[0] in short and taken[where] < pods}
        born = [self._fit.host(host) for host in sorted({site.host for site in draft.nodes})]
        hopes = {grant.dimension for grant in self._grants if grant.hopes}
        lost = any(
            not hopes.isdisjoint(dimension for dimension, _ in lot.need.each) for lot in self._lots if lot.number in short
        )
        changed = any(self._cuts.get(where) != pods for where, pods in cuts.items())
        self.has_cheaper = lost and not self._modest
        self.has_more = bool(short) and (changed or self.has_cheaper or self._splitting.lacks(born))
        self._born = born
        self._cuts |= cuts
        self._modest = self._modest or lost


def _by_domain(parcels: Sequence[Parcel]) -> Mapping[tuple[int, str, str], int]:
    """Pods by lot's number, key and value."""
    found: Counter[tuple[int, str, str]] = Counter()
    for parcel in parcels:
        for lot, pods in parcel.parts:
            for key, value in parcel.domains:
                found[lot.number, key, value] += pods * parcel.count
    return found


def _boundless(free: Sequence[int], dimensions: set[int]) -> list[int]:
    return [BOUNDLESS if dimension in dimensions else amount for dimension, amount in enumerate(free)]
