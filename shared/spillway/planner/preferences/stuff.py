"""Pods that no rule and no preference tells apart, and how far they may be moved.

Of whom no rule between pods speaks, moves freely. Who has a rule about others in a domain, or is spoken of by one, is *bound*:
it stays among nodes that no rule tells apart. Who has one about others on its node is *tied* as well: it goes only with all
that is on a new node. Pods that share a volume are *fixed*.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from spillway.planner.amounts import NOTHING, Dimensions, Need
from spillway.planner.demand import Lot
from spillway.planner.parcel import Item, Parcel
from spillway.planner.preferences.wishes import Preferences
from spillway.planner.topology.topology import Topology

Parts = tuple[tuple[Lot, int], ...]


class Hold(IntEnum):
    FREE = 0
    BOUND = 1
    TIED = 2
    FIXED = 3


@dataclass(eq=False)
class Stuff:
    """`own` is a unit's need without what neighbours say, `feelings` are (feeling, pods) of it. `plain`: it asks for no
    accelerator. `queue` are (parts, units) in turn, those without a place among them."""

    need: Need
    own: Need
    kind: int
    hold: Hold
    plain: bool
    feelings: tuple[tuple[int, int], ...]
    queue: list[tuple[Parts, int]] = field(default_factory=list)

    @property
    def moves_alone(self) -> bool:
        return self.hold <= Hold.BOUND

    @property
    def units(self) -> int:
        return sum(units for _, units in self.queue)

    @property
    def shapes(self) -> set[str]:
        return {lot.shape.id for parts, _ in self.queue for lot, _ in parts}

    def item(self) -> Item:
        """All of it."""
        parcels = tuple(Parcel(parts, units, self.need, self.kind) for parts, units in self.queue)
        return Item(parcels, self.need, self.kind, parcels[0].priority, self.units)


class Sorter:
    """Makes stuff of parcels, numbered in `found`."""

    def __init__(self, topology: Topology, preferences: Preferences, dimensions: Dimensions) -> None:
        self._topology, self._preferences, self._dimensions = topology, preferences, dimensions
        self._bound = _bound(topology)
        self._known: dict[Hashable, int] = {}
        self.found: list[Stuff] = []

    def add(self, parcel: Parcel, units: int) -> int:
        """The number of its stuff, which has so many units more."""
        feelings = self._feelings(parcel.parts)
        hold = self._hold(parcel)
        alike: Hashable = tuple((lot.number, pods) for lot, pods in parcel.parts)
        if hold is Hold.FREE:
            alike = (parcel.need, parcel.priority, parcel.pods, feelings)
        number = self._known.setdefault((parcel.kind, hold, alike), len(self.found))
        if number == len(self.found):
            first = self._dimensions.first_neighbour
            own = Need(tuple(one for one in parcel.need.each if one[0] < first), parcel.need.once)
            plain = self._dimensions.accelerators.isdisjoint(dimension for dimension, _ in own.each)
            self.found.append(Stuff(parcel.need, own, parcel.kind, hold, plain, feelings))
        if units:
            self.found[number].queue.append((parcel.parts, units))
        return number

    def close(self) -> None:
        """What was added piece by piece is in turn, and each piece once."""
        for stuff in self.found:
            total: dict[int, tuple[Parts, int]] = {}
            for parts, units in stuff.queue:
                number = parts[0][0].number
                total[number] = parts, units + (total[number][1] if number in total else 0)
            stuff.queue = [total[number] for number in sorted(total)]

    def _feelings(self, parts: Parts) -> tuple[tuple[int, int], ...]:
        found = Counter[int]()
        for lot, pods in parts:
            found[self._preferences.feeling(lot.shape)] += pods
        return tuple(sorted(found.items()))

    def _hold(self, parcel: Parcel) -> Hold:
        shapes = [lot.shape.id for lot, _ in parcel.parts]
        if parcel.need.once:
            return Hold.FIXED
        if len(parcel.parts) > 1 or parcel.pods > 1 or any(self._topology.hosts.need(shape) != NOTHING for shape in shapes):
            return Hold.TIED
        return Hold.BOUND if not self._bound.isdisjoint(shapes) else Hold.FREE


def _bound(topology: Topology) -> frozenset[str]:
    """Shapes that say something of others, or of which others do."""
    spreads = {spread for mine in topology.rules.spreads.values() for spread in mine}
    counted = frozenset[str]().union(*(topology.shapes.included(spread.pods) for spread in spreads))
    return counted.union(shape.id for shape in topology.waiting if topology.rules.touch(shape.id))


def left_over(lots: Iterable[Lot], placed: Sequence[tuple[Parcel, int]]) -> Iterable[tuple[Parcel, int]]:
    """Pods of each lot that have no place."""
    served = Counter[int]()
    for parcel, units in placed:
        for lot, pods in parcel.parts:
            served[lot.number] += pods * units
    for lot in lots:
        if left := lot.asked - served[lot.number]:
            yield Parcel(((lot, 1),), left, lot.need, lot.kind), left
