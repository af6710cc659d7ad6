"""Lots whose pods wait for free volumes, split so that each part has volumes of its own, where it can reach them.

As rooms and groups have place for them, in queue order, those with few volumes to choose from first. What was tried and did
not get its place is a cap on what is dealt there again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from spillway.model.cluster import PodSet
from spillway.model.volumes import VolumeNeed
from spillway.planner.amounts import UNLIMITED, Need, most, subtract
from spillway.planner.demand import Lot
from spillway.planner.free_volumes.reach import Reach, Reached, Terms
from spillway.planner.free_volumes.stock import Stock, Taken, places, wanting
from spillway.planner.problem import Problem
from spillway.planner.rooms import Room
from spillway.planner.rules.base import Host

Where = tuple[tuple[Terms | None, ...], ...]
"""The terms of what a pod takes, by claim: pods of one lot with the same may go to the same nodes."""

NONE_LEFT = "waits for a free PersistentVolume, and those that its node could reach go to others"


@dataclass
class _Site:
    """A room, or a group that may be asked for `nodes`, each with as much that is free."""

    host: int
    free: list[int]
    nodes: int
    is_room: bool


@dataclass
class Deal:
    """`lots` are numbered as they are listed; `parts` are those that have volumes, by number: the lot before, and where."""

    lots: list[Lot]
    parts: dict[int, tuple[int, Where]] = field(default_factory=dict)


class Dealing:
    """`lots` as they wait. `nothing`: none of them takes a free volume."""

    def __init__(self, problem: Problem, lots: Sequence[Lot], rooms: Sequence[Room]) -> None:
        topology, first = problem.topology, problem.dimensions.first_neighbour
        self._view, self._lots, self._fit = problem.view, lots, problem.fit
        self._wanting = {n: needs for n, lot in enumerate(lots) if lot.is_judged and (needs := wanting(lot.shape))}
        self.nothing = not self._wanting
        self._places = places(problem.view.cluster.free_volumes, (lots[number].shape for number in self._wanting))
        self._reach = Reach(self._places)
        self._reached: dict[int, Reached] = {}
        self._sites = [_Site(room.host, room.free, 1, True) for room in rooms]
        sources = sorted(problem.supply.sources.values(), key=lambda source: source.price)
        self._groups = [_Site(source.host, list(source.have), source.room, False) for source in sources]
        self._hosts = {site.host for site in (*self._sites, *self._groups)}
        self._evenly = {
            lot.shape.id for lot in lots if topology.rules.spreads.get(lot.shape.id) or topology.rules.avoids.get(lot.shape.id)
        }
        boundless = {first + one.dimension for one in topology.hosts.spreads}
        self._needs = {number: _alone(lots[number].need, boundless) for number in self._wanting}
        self._spread = {number for number in self._wanting if any(d in boundless for d, _ in lots[number].need.each)}

    def deal(self, caps: Mapping[tuple[int, Where], int]) -> Deal:
        """`caps` say how many pods of a lot found a place with such volumes."""
        self._stock = Stock(self._view.cluster.free_volumes, self._places)
        self._hold_there()
        self._left_of = {id(site): list(site.free) for site in (*self._sites, *self._groups)}
        dealt: dict[int, Counter[Where]] = {}
        for number in sorted(self._wanting, key=self._turn):
            dealt[number] = self._deal(number, caps)
        found = Deal([])
        for number, lot in enumerate(self._lots):
            if number in dealt:
                self._split(number, dealt[number], found)
            else:
                found.lots.append(lot)
        renumber(found.lots)
        return found

    def _turn(self, number: int) -> tuple[int, int, int]:
        lot = self._lots[number]
        near = frozenset().union(
            *(reach for host in self._hosts if self._admits(number, host) for reach in self._reach_of(host))
        )
        choices = min(sum(self._stock.left[one] for one in need.free if one in near) for need in self._wanting[number])
        return -lot.shape.priority, choices, number

    def _admits(self, number: int, host: int) -> bool:
        return self._fit.refusal(self._lots[number].kind, host) is None

    def _reach_of(self, host: int) -> Reached:
        if host not in self._reached:
            self._reached[host] = self._reach.of(self._fit.host(host))
        return self._reached[host]

    def _hold_there(self) -> None:
        """Who has a node, or is nominated for it, has a volume there, too, though its claim may not show it yet."""
        for live in self._view.nodes:
            for pods in live.pods:
                if needs := wanting(self._view.shapes[pods.shape]):
                    reached = self._reach.of(Host(live.node.name, live.node.labels))
                    list(self._take(needs, reached, len(pods.names)))

    def _take(self, needs: Sequence[VolumeNeed], reached: Reached, pods: int) -> Iterator[tuple[Where, int]]:
        while pods and (taken := self._stock.next(needs, reached, pods)):
            self._stock.take(needs, taken)
            pods -= taken.pods
            yield self._where(taken), taken.pods

    def _where(self, taken: Taken) -> Where:
        return tuple(tuple(self._places[one] for one in mine) for mine in taken.volumes)

    def _deal(self, number: int, caps: Mapping[tuple[int, Where], int]) -> Counter[Where]:
        dealt: Counter[Where] = Counter()
        left = self._lots[number].asked
        for sites in self._turns(number):
            step = 1 if len(sites) > 1 else UNLIMITED
            moved = True
            while left and moved:
                moved = False
                for site in sites:
                    pods = self._deal_to(number, site, min(left, step), caps, dealt)
                    left -= pods
                    moved = moved or pods > 0
        return dealt

    def _turns(self, number: int) -> Iterator[list[_Site]]:
        """Sites that get pods in turn: one after the other, or one pod each where the pods are to keep apart."""
        able = [
            site for site in (*self._sites, *self._groups) if self._has_room(number, site) and self._admits(number, site.host)
        ]
        if number in self._spread or self._lots[number].shape.id in self._evenly:
            yield able
        else:
            yield from ([site] for site in able)

    def _has_room(self, number: int, site: _Site) -> bool:
        return most(self._left_of[id(site)], self._needs[number], 1) > 0

    def _deal_to(
        self, number: int, site: _Site, wanted: int, caps: Mapping[tuple[int, Where], int], dealt: Counter[Where]
    ) -> int:
        free, need, found = self._left_of[id(site)], self._needs[number], 0
        reached, full = self._reach_of(site.host), set[str]()
        while found < wanted:
            able = most(free, need, wanted) * site.nodes - (0 if site.is_room else found)
            fits = min(wanted - found, able)
            taken = self._stock.next(self._wanting[number], reached, fits, full) if fits > 0 else None
            if taken is None:
                break
            where = self._where(taken)
            pods = min(taken.pods, caps.get((number, where), UNLIMITED) - dealt[where])
            if pods <= 0:
                full |= {one for mine in taken.volumes for one in mine}
                continue
            self._stock.take(self._wanting[number], taken._replace(pods=pods))
            dealt[where] += pods
            found += pods
            if site.is_room:
                subtract(free, need, pods)
        return found

    def _split(self, number: int, dealt: Counter[Where], found: Deal) -> None:
        lot, start = self._lots[number], 0
        for where, pods in dealt.items():
            found.parts[len(found.lots)] = number, where
            found.lots.append(_part(lot, start, pods, kind=self._kind(number, where)))
            start += pods
        if start < lot.count:
            left = [self._left(need) for need in self._wanting[number]]
            why = lot.refused or ("" if all(left) else NONE_LEFT)
            found.lots.append(_part(lot, start, lot.count - start, limit=0, refused=why, kind=self._kind(number, tuple(left))))

    def _left(self, need: VolumeNeed) -> tuple[Terms | None, ...]:
        return tuple(dict.fromkeys(self._places[one] for one in self._stock.choices(need) if self._stock.left[one] > 0))

    def _kind(self, number: int, where: Where) -> int:
        """Of pods that take volumes of these places."""
        shape, kept = self._lots[number].shape, dict(zip(self._wanting[number], where, strict=True))
        volumes = tuple(
            msgspec.structs.replace(need, terms=_together(kept[need])) if need in kept else need for need in shape.volumes
        )
        return self._fit.shape_kind(msgspec.structs.replace(shape, volumes=volumes))


def renumber(lots: Iterable[Lot]) -> None:
    for number, lot in enumerate(lots):
        lot.number = number


def _together(places: Iterable[Terms | None]) -> Terms | None:
    found: list[Terms] = []
    for terms in places:
        if terms is None:
            return None
        found.append(terms)
    return tuple(dict.fromkeys(term for terms in found for term in terms))


def _part(lot: Lot, start: int, pods: int, *, kind: int, limit: int = UNLIMITED, refused: str = "") -> Lot:
    names, created = lot.pods.names[start : start + pods], lot.pods.created[start : start + pods]
    mine: PodSet = msgspec.structs.replace(lot.pods, names=names, created=created)
    return replace(lot, pods=mine, count=pods, offset=lot.offset + start, kind=kind, limit=limit, refused=refused)


def _alone(need: Need, boundless: set[int]) -> Need:
    """Without what depends on who else comes."""
    return Need(tuple(one for one in need.each if one[0] not in boundless), need.once)
