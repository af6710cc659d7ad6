"""Bins as what a plan has settled: moves, a purchase, and the order in which pods come."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from spillway.planner.buy import NewNode, Purchase
from spillway.planner.limits import Ledger
from spillway.planner.market import Market
from spillway.planner.paid import Paid
from spillway.planner.parcel import Item
from spillway.planner.place import Move
from spillway.planner.preferences.bins import Bin, Bins, NewBin, RoomBin
from spillway.planner.topology.settle import Settled
from spillway.planner.topology.turns import Order, Turns


class Naming:
    """New nodes of a group are numbered after the `coming` ones, by its key."""

    def __init__(self, coming: Mapping[str, int]) -> None:
        self._coming = coming

    def of(self, new: Iterable[NewBin]) -> list[str]:
        number, names = Counter(self._coming), []
        for one in new:
            key = one.source.group.key
            names.append(f"{key}#{number[key]}")
            number[key] += 1
        return names

    def read_turns(self, bins: Bins, order: Order) -> None:
        """Into the bins."""
        by_name: dict[str, dict[str, Turns]] = {}
        for (name, shape), turns in order.items():
            by_name.setdefault(name, {})[shape] = turns
        for name, one in self._named(bins.rooms, bins.new):
            one.turns = by_name.get(name, {})

    def turns(self, bins: Bins, new: Sequence[NewBin]) -> Order:
        return {(name, shape): turns for name, one in self._named(bins.rooms, new) for shape, turns in one.turns.items()}

    def _named(self, rooms: Sequence[RoomBin], new: Sequence[NewBin]) -> Iterable[tuple[str, Bin]]:
        yield from ((one.room.target, one) for one in rooms)
        yield from zip(self.of(new), new, strict=True)


def settled(
    was: Settled,
    bins: Bins,
    new: Sequence[NewBin],
    market: Callable[[Sequence[Item]], Market],
    ledger: Ledger,
    paid: Paid,
    naming: Naming,
) -> Settled:
    """`new` are the bins of new nodes, which `ledger` has booked and `paid` has not; `market` makes one of its items."""
    items = [stuff.item() for stuff in bins.stuff]
    rooms: dict[int, list[RoomBin]] = {}
    for room in bins.rooms:
        for number in room.holds:
            rooms.setdefault(number, []).append(room)
    moves = [
        Move(parcel, room.room, part)
        for number in sorted(rooms)
        for room in rooms[number]
        for parcel, part in items[number].deal(room.holds[number])
    ]
    nodes = [NewNode(one.source, sorted(one.holds.items()), raised=one.is_raised) for one in new]
    for node in nodes:
        node.is_paid = bool(paid.take(node.source.group, 1))
    left = [item.count for item in items]
    for one in (*bins.rooms, *new):
        for number, units in one.holds.items():
            left[number] -= units
    order = naming.turns(bins, new) if was.order else {}
    return replace(was, moves=moves, market=market(items), purchase=Purchase(nodes, left, ledger, paid), order=order)
