"""What is placed as one: some pods of a lot, kept to some domains perhaps, or pods of several that must be together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spillway.model.plan import Placement
from spillway.planner.amounts import Need
from spillway.planner.demand import Lot


@dataclass
class Parcel:
    """`count` units of which each has so many pods of each lot in `parts`; `left` units have no place yet.

    `need` is a unit's, and so is `kind`, which Fit knows. `domains` are the values of topology keys that it is kept to.
    """

    parts: tuple[tuple[Lot, int], ...]
    count: int
    need: Need
    kind: int
    domains: tuple[tuple[str, str], ...] = ()
    left: int = field(default=0)

    def __post_init__(self) -> None:
        self.left = self.count

    @property
    def priority(self) -> int:
        return self.parts[0][0].shape.priority

    @property
    def pods(self) -> int:
        """Of a unit."""
        return sum(pods for _, pods in self.parts)

    def place(self, target: str, units: int) -> Iterator[tuple[Lot, Placement]]:
        """Takes the next pods of each lot's queue."""
        for lot, pods in self.parts:
            yield lot, lot.place(target, pods * units)


def whole(lot: Lot) -> Parcel:
    """All of the lot that may have a place, with no rule but its own."""
    return Parcel(((lot, 1),), lot.asked, lot.need, lot.kind)


@dataclass(frozen=True)
class Item:
    """Parcels that no node tells apart: of one kind, need and priority, in queue order."""

    parcels: tuple[Parcel, ...]
    need: Need
    kind: int
    priority: int
    count: int

    @property
    def pods(self) -> int:
        """Of a unit."""
        return self.parcels[0].pods

    def in_turn(self) -> list[tuple[Parcel, int]]:
        """With its units without a place."""
        return [(parcel, parcel.left) for parcel in self.parcels]

    def deal(self, units: int) -> Iterator[tuple[Parcel, int]]:
        """The next `units` of the queue, parcel by parcel."""
        for parcel in self.parcels:
            if parcel.left and units:
                number = min(parcel.left, units)
                parcel.left -= number
                units -= number
                yield parcel, number


def items(parcels: Sequence[Parcel]) -> list[Item]:
    """What is left without a place, in the queue order of the first of each."""
    alike: dict[tuple[int, Need, int, int], list[Parcel]] = {}
    for parcel in parcels:
        if parcel.left:
            alike.setdefault((parcel.kind, parcel.need, parcel.priority, parcel.pods), []).append(parcel)
    return [
        Item(tuple(found), need, kind, priority, sum(parcel.left for parcel in found))
        for (kind, need, priority, _), found in alike.items()
    ]
