"""Pods into the room that is there or coming: lots in queue order, each into the first rooms that take it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spillway.model.plan import Placement
from spillway.planner.amounts import Need, most, subtract
from spillway.planner.demand import Lot
from spillway.planner.fit import Fit
from spillway.planner.rooms import Kind, Room

PRUNE_EVERY = 64  # lots between two looks at which rooms are full


@dataclass
class Placed:
    """Where pods found room. `uncordon` lists nodes by group's key, `serves` the pods on them by lot's index."""

    placements: list[Placement] = field(default_factory=list)
    pods: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(Kind, 0))
    used: set[str] = field(default_factory=set)
    uncordon: dict[str, list[str]] = field(default_factory=dict)
    serves: dict[str, dict[int, int]] = field(default_factory=dict)

    def add(self, index: int, lot: Lot, room: Room, pods: int) -> None:
        placement = lot.place(room.target, pods)
        if not lot.moving:
            self.placements.append(placement)
            self.pods[room.kind] += pods
        if room.kind is Kind.CORDONED:
            if room.target not in self.used:
                self.uncordon.setdefault(room.group, []).append(room.target)
            served = self.serves.setdefault(room.group, {})
            served[index] = served.get(index, 0) + pods
        self.used.add(room.target)


def place(lots: Sequence[Lot], rooms: Sequence[Room], fit: Fit) -> Placed:
    """Takes the pods from `lots` and the room from `rooms`."""
    found = Placed()
    open_rooms, least = list(rooms), _least_needs(lots)
    for index, lot in enumerate(lots):
        if index % PRUNE_EVERY == 0:
            open_rooms = [room for room in open_rooms if most(room.free, least[index // PRUNE_EVERY], 1)]
        for room, number in _rooms_for(lot, open_rooms, fit):
            subtract(room.free, lot.need, number)
            found.add(index, lot, room, number)
    return found


def _rooms_for(lot: Lot, rooms: Sequence[Room], fit: Fit) -> Iterator[tuple[Room, int]]:
    """Amounts first: they are cheap to compare, and most rooms are full."""
    takes: dict[int, bool] = {}
    for room in rooms:
        if not lot.left:
            return
        number = most(room.free, lot.need, lot.left)
        if not number:
            continue
        if room.host not in takes:
            takes[room.host] = fit.refusal(lot.kind, room.host) is None
        if takes[room.host]:
            yield room, number


def _least_needs(lots: Sequence[Lot]) -> list[Need]:
    """For every PRUNE_EVERY-th lot, what all from there on ask for at least."""
    found: list[Need] = []
    least = dict(lots[-1].need) if lots else {}
    for index in range(len(lots) - 1, -1, -1):
        asked = dict(lots[index].need)
        least = {dimension: min(amount, asked[dimension]) for dimension, amount in least.items() if dimension in asked}
        if index % PRUNE_EVERY == 0:
            found.append(tuple(sorted(least.items())))
    return found[::-1]
