"""How many pods a domain can take: what is free there, and what its groups can still bring."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from spillway.planner.amounts import Need, most
from spillway.planner.fit import OUTSIDE, Fit
from spillway.planner.rooms import Room
from spillway.planner.supply import Source


class Taken(NamedTuple):
    """Pods that a domain takes: on nodes that are there or come, and on new ones, of which one costs so much a pod at least."""

    now: int = 0
    new: int = 0
    price: float = 0.0

    @property
    def pods(self) -> int:
        return self.now + self.new


class Reach:
    """Nobody else's demand is looked at: who comes too late learns it in the next round. Counts end at `enough`."""

    def __init__(self, rooms: Sequence[Room], sources: Iterable[Source], fit: Fit, keys: Sequence[str], enough: int) -> None:
        self._fit, self._enough = fit, enough
        self._rooms: dict[tuple[str, str], list[Room]] = defaultdict(list)
        self._sources: dict[tuple[str, str], list[Source]] = defaultdict(list)
        self.values: dict[str, list[str]] = {}
        offers = list(sources)
        for key in keys:
            for room in rooms:
                self._rooms[key, fit.host(room.host).labels.get(key) or OUTSIDE].append(room)
            for source in offers:
                self._sources[key, fit.host(source.host).labels.get(key) or OUTSIDE].append(source)
            self.values[key] = sorted({value for one, value in (*self._rooms, *self._sources) if one == key and value})
        self._hosts = sorted({room.host for room in rooms} | {source.host for source in offers})
        self._admitted: dict[int, frozenset[int]] = {}
        self._known: dict[tuple[frozenset[int], Need, str, str], Taken] = {}

    def of(self, kind: int, need: Need, key: str, value: str) -> Taken:
        if kind not in self._admitted:
            self._admitted[kind] = frozenset(host for host in self._hosts if self._fit.refusal(kind, host) is None)
        known = (self._admitted[kind], need._replace(drains=()), key, value)  # what a pod takes from others matters to them
        if known not in self._known:
            self._known[known] = self._count(*known)
        return self._known[known]

    def _count(self, hosts: frozenset[int], need: Need, key: str, value: str) -> Taken:
        now = new = 0
        price = float("inf")
        for room in self._rooms.get((key, value), ()):
            if now < self._enough and room.host in hosts:
                now += most(room.free, need, self._enough)
        for source in self._sources.get((key, value), ()):
            fits = most(list(source.have), need, self._enough) if source.host in hosts else 0
            if fits:
                new += fits * source.room
                price = min(price, source.price / fits)
        return Taken(now, new, price if new else 0.0)
