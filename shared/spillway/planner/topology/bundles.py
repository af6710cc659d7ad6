"""Pods that must be on one node with others that wait, as parcels of one unit: the one looked for and those that look for it.

A pod that looks for its own kind may be the first of it, once, while none is anywhere: then all of the kind go to the node
that holds most of them, and the rest waits. Source: interpodaffinity/filtering.go, satisfyPodAffinity.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from spillway.planner.amounts import Need, most, subtract
from spillway.planner.fit import Fit
from spillway.planner.parcel import Parcel
from spillway.planner.rooms import Room
from spillway.planner.supply import Source


class _Node(NamedTuple):
    """A kind of node that could hold a bundle; `price` 0 for one that is there or comes."""

    price: float
    host: int
    free: tuple[int, ...]


_Unit = list[tuple[Parcel, int]]
"""A seed, and how many of each parcel go with it."""


class Bundles:
    """`near` are the dimensions of affinity on one node; `taken` those of which a pod runs somewhere, so that none is first."""

    def __init__(
        self, near: frozenset[int], taken: frozenset[int], rooms: Sequence[Room], sources: Iterable[Source], fit: Fit
    ) -> None:
        self._near, self._fit, self._rooms = near, fit, rooms
        self._opened = set(taken)
        nodes = [_Node(0.0, room.host, tuple(room.free)) for room in rooms]
        self._nodes = sorted(dict.fromkeys([*nodes, *(_Node(s.price, s.host, s.have) for s in sources)]))
        self._left: dict[int, int] = {}

    def of(self, parcels: Sequence[Parcel]) -> list[Parcel]:
        """The same pods: bundles, and those who look for somebody last. Who finds nobody stays as it is."""
        followers = [parcel for parcel in parcels if self._wanted(parcel)]
        if not followers:
            return list(parcels)
        others = [parcel for parcel in parcels if not self._wanted(parcel)]
        served = {id(parcel): self._beside(parcel) for parcel in followers}
        self._left = {id(parcel): parcel.count - served.get(id(parcel), 0) for parcel in parcels}
        bundles = []
        for dimension in sorted({dimension for parcel in followers for dimension in self._wanted(parcel)}):
            bundles += list(self._gather(dimension, others, followers))
        rest = [replace(parcel, count=self._left[id(parcel)]) for parcel in others]
        first = sorted([*bundles, *rest], key=lambda parcel: parcel.parts[0][0].number)
        last = [replace(parcel, count=self._left[id(parcel)] + served[id(parcel)]) for parcel in followers]
        return [parcel for parcel in (*first, *last) if parcel.count]

    def _wanted(self, parcel: Parcel) -> frozenset[int]:
        return self._near.intersection(parcel.need.wants)

    def _brought(self, parcel: Parcel) -> frozenset[int]:
        return brought(parcel.need, self._near)

    def _beside(self, parcel: Parcel) -> int:
        """How many find somebody on a node that is there."""
        found = 0
        for room in self._rooms:
            if found < parcel.count and (fits := most(room.free, parcel.need, parcel.count - found)):
                found += fits if self._fit.refusal(parcel.kind, room.host) is None else 0
        return found

    def _gather(self, dimension: int, others: Sequence[Parcel], followers: Sequence[Parcel]) -> Iterator[Parcel]:
        while True:
            looking = [parcel for parcel in followers if self._left[id(parcel)] > 0]
            if not any(dimension in self._wanted(parcel) for parcel in looking):
                return
            sought = [one for one in others if self._left[id(one)] > 0 and dimension in self._brought(one)]
            first = [] if sought or dimension in self._opened else [one for one in looking if self._may_be_first(one)][:1]
            units = (self._best(seed, looking) for seed in (*sought, *first))
            unit = next((one for one in units if one and (len(one) > 1 or first)), None)
            if unit is None:
                return
            times = 1 if first else min(self._left[id(parcel)] // pods for parcel, pods in unit)
            for parcel, pods in unit:
                self._left[id(parcel)] -= pods * times
                self._opened |= self._brought(parcel)
            yield together(unit, times, self._near, self._fit)

    def _may_be_first(self, parcel: Parcel) -> bool:
        return self._wanted(parcel) <= self._brought(parcel) and self._opened.isdisjoint(self._wanted(parcel))

    def _best(self, seed: Parcel, looking: Sequence[Parcel]) -> _Unit | None:
        """On the node that holds most of those who look, the cheapest of such nodes."""
        best: tuple[tuple[int, float], _Unit] | None = None
        for node in self._nodes:
            unit = self._fill(node, seed, looking)
            if unit:
                score = (-sum(pods for _, pods in unit), node.price)
                if best is None or score < best[0]:
                    best = score, unit
        return best[1] if best else None

    def _fill(self, node: _Node, seed: Parcel, looking: Sequence[Parcel]) -> _Unit | None:
        free, first = list(node.free), seed.need._replace(wants=tuple(set(seed.need.wants) - self._brought(seed)))
        if not most(free, first, 1) or self._fit.refusal(seed.kind, node.host) is not None:
            return None
        subtract(free, first, 1)
        pods = Counter({id(seed): 1})
        able = [parcel for parcel in looking if self._fit.refusal(parcel.kind, node.host) is None]
        grows = True
        while grows:
            grows = False
            for parcel in able:
                left = self._left[id(parcel)] - pods[id(parcel)]
                if left > 0 and (number := most(free, parcel.need, left)):
                    subtract(free, parcel.need, number)
                    pods[id(parcel)] += number
                    grows = True
        known = {id(parcel): parcel for parcel in (seed, *able)}
        return [(known[key], number) for key, number in pods.items() if number]


def brought(need: Need, near: frozenset[int]) -> frozenset[int]:
    """Dimensions of affinity of which such a pod is what others look for."""
    return near.intersection(dimension for dimension, amount in need.drains if amount < 0)


def together(unit: _Unit, times: int, near: frozenset[int], fit: Fit) -> Parcel:
    """One parcel of so many equal units."""
    found = frozenset[int]().union(*(brought(parcel.need, near) for parcel, _ in unit))
    each: Counter[int] = Counter()
    drains: Counter[int] = Counter()
    for parcel, pods in unit:
        each.update({dimension: amount * pods for dimension, amount in parcel.need.each})
        drains.update({dimension: amount * pods for dimension, amount in parcel.need.drains})
    need = Need(
        tuple(sorted(each.items())),
        tuple(sorted({one for parcel, _ in unit for one in parcel.need.once})),
        tuple(sorted({one for parcel, _ in unit for one in parcel.need.wants} - found)),
        tuple(sorted(drains.items())),
    )
    return Parcel(
        parts=tuple((lot, pods * number) for parcel, number in unit for lot, pods in parcel.parts),
        count=times,
        need=need,
        kind=fit.together(parcel.kind for parcel, _ in unit),
        domains=tuple(sorted({one for parcel, _ in unit for one in parcel.domains})),
    )
