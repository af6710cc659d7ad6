"""Pods to places that they like better, after all have one: nobody loses it, and nothing costs more.

The plan is made as if nobody preferred anything. What then changes is changed only where all pods together like it better: the
one that moves, the one that makes room, and those that have wishes about either. The number of looks is bounded.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from spillway.planner.demand import Lot
from spillway.planner.market import Market
from spillway.planner.paid import Paid
from spillway.planner.parcel import Item
from spillway.planner.preferences.bins import Bins, NewBin
from spillway.planner.preferences.ground import Ground
from spillway.planner.preferences.liking import Liking
from spillway.planner.preferences.mix import Mix
from spillway.planner.preferences.outcome import Naming, settled
from spillway.planner.preferences.stand_in import StandIn
from spillway.planner.preferences.stuff import Hold
from spillway.planner.preferences.told import told
from spillway.planner.preferences.wishes import Preferences
from spillway.planner.problem import Problem
from spillway.planner.rooms import Room
from spillway.planner.supply import Supply
from spillway.planner.topology.settle import Settled

PASSES = 2


class Arranged(NamedTuple):
    """`told` says by group's key what its pods prefer, and whether it is kept."""

    settled: Settled
    told: Mapping[str, str]


class Arranger:
    """Of one plan. What it placed is off what `rooms` have free where pods say nothing of each other. `paid`, `desired` and
    `coming`, by group's key, are as before the purchase."""

    def __init__(
        self,
        problem: Problem,
        lots: Sequence[Lot],
        rooms: Sequence[Room],
        preferences: Preferences,
        paid: Paid,
        desired: Mapping[str, int],
        coming: Mapping[str, int],
    ) -> None:
        self._problem, self._lots, self._rooms, self._preferences = problem, lots, rooms, preferences
        self._paid, self._desired = paid, desired
        self._naming = Naming(coming)

    def arrange(self, was: Settled, rooms_stay: bool = False) -> Arranged:
        """`rooms_stay`: only new nodes change."""
        if self._preferences.is_silent:
            return Arranged(was, {})
        ground, liking = self._begin(was)
        bins, sources = ground.bins, was.market.sources
        rooms = [] if rooms_stay else bins.rooms
        whole = StandIn(ground, was.purchase.ledger.copy(), sources, self._desired, rooms)
        before = _could_take(bins, bins.new)
        better = False
        for _ in range(PASSES):
            ground.allow(2 * PASSES)
            found = whole.run()
            ground.allow(2 * PASSES)
            found = Mix(ground, [*rooms, *whole.new]).run() or found
            if not found:
                break
            better = True
        whole.drop_empty()
        if better and _serves_rest(ground, whole, before):
            texts, problem = told(self._preferences, liking, bins, whole.new), self._problem

            def market(items: Sequence[Item]) -> Market:
                return Market(problem.view, items, Supply(sources, {}), problem.fit, problem.dimensions)

            return Arranged(settled(was, bins, whole.new, market, whole.ledger, self._paid.copy(), self._naming), texts)
        ground, liking = self._begin(was)
        return Arranged(was, told(self._preferences, liking, ground.bins, ground.bins.new))

    def _begin(self, was: Settled) -> tuple[Ground, Liking]:
        problem = self._problem
        bins = Bins(problem, was, self._lots, self._rooms, self._preferences, self._paid)
        self._naming.read_turns(bins, was.order)
        spare = [bins.spare(source) for source in was.market.sources.values()]
        places = [one.place for one in (*bins.rooms, *bins.new, *spare)]
        liking = Liking(problem.view, self._preferences, problem.fit, places)
        return Ground(bins, liking, self._preferences), liking


_Could = frozenset[tuple[int, str]]


def _could_take(bins: Bins, new: Sequence[NewBin]) -> _Could:
    """(stuff without a place, hostname of a node that has room for it): rules between pods keep it away."""
    return frozenset(
        (number, one.place.host) for number in bins.left for one in (*bins.rooms, *new) if bins.takes(one, number, 1)
    )


def _serves_rest(ground: Ground, whole: StandIn, before: _Could) -> bool:
    """Who had no place gets what room has come to be in one; False where rules between pods had to be asked about it."""
    bins = ground.bins
    for number, left in sorted(bins.left.items()):
        is_free = bins.stuff[number].hold is Hold.FREE
        for one in (*bins.rooms, *whole.new):
            if left and (fits := bins.takes(one, number, left)):
                if is_free:
                    ground.put(one, number, fits)
                    left -= fits
                elif (number, one.place.host) not in before:
                    return False
        for key, room in sorted(whole.room.items()):
            if left and is_free and room > 0 and whole.can_bring(key, number):
                return False
    return True
