"""Pods into the room that is there or coming."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from spillway.model.plan import Placement
from spillway.planner.amounts import Dimensions, Need, most, subtract
from spillway.planner.fit import Fit
from spillway.planner.pack import pack
from spillway.planner.parcel import Parcel
from spillway.planner.rooms import Kind, Room
from spillway.planner.stock import Offer

PRUNE_EVERY = 64  # parcels between two looks at which rooms are full


class Move(NamedTuple):
    """So many units of a parcel into a room."""

    parcel: Parcel
    room: Room
    units: int


@dataclass
class Placed:
    """Where pods found room. `uncordon` lists nodes by group's key, `serves` the pods on them by lot's number."""

    placements: list[Placement] = field(default_factory=list)
    pods: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(Kind, 0))
    used: set[str] = field(default_factory=set)
    uncordon: dict[str, list[str]] = field(default_factory=dict)
    serves: dict[str, dict[int, int]] = field(default_factory=dict)

    def add(self, move: Move) -> None:
        """Takes the pods from their lots."""
        room = move.room
        for lot, placement in move.parcel.place(room.target, move.units):
            if not lot.moving:
                self.placements.append(placement)
                self.pods[room.kind] += placement.pods
            if room.kind is Kind.CORDONED:
                served = self.serves.setdefault(room.group, {})
                served[lot.number] = served.get(lot.number, 0) + placement.pods
        if room.kind is Kind.CORDONED and room.target not in self.used:
            self.uncordon.setdefault(room.group, []).append(room.target)
        self.used.add(room.target)


def placed(moves: Iterable[Move]) -> Placed:
    found = Placed()
    for move in moves:
        found.add(move)
    return found


def place(parcels: Sequence[Parcel], rooms: Sequence[Room], fit: Fit, dimensions: Dimensions) -> list[Move]:
    """Takes the units from `parcels` and the room from `rooms`.

    What comes was packed by the plan that asked for it. Where first come, first served leaves pods over, the empty
    nodes to come are packed again as they were, lest the rest buys nodes for which the room is under way; again
    those with accelerators are kept for the pods that ask for them.
    """
    in_turn = _in_turn(parcels, [parcel.left for parcel in parcels], rooms, fit)
    chosen = in_turn
    if any(in_turn.left) and any(room.is_new for room in rooms):
        chosen = min(in_turn, _packed(parcels, rooms, fit, dimensions), key=lambda way: _worth(parcels, way.left))
    found = []
    for index, number, units in chosen.moves:
        subtract(rooms[number].free, parcels[index].need, units)
        parcels[index].left -= units
        found.append(Move(parcels[index], rooms[number], units))
    return found


@dataclass
class _Way:
    """One way to place: `moves` of (parcel, room, units), and how many units of each parcel are `left`."""

    moves: list[tuple[int, int, int]]
    left: list[int]


def _worth(parcels: Sequence[Parcel], left: Sequence[int]) -> list[int]:
    """Pods without a place, the highest priority first."""
    by_priority: dict[int, int] = {}
    for parcel, units in zip(parcels, left, strict=True):
        by_priority[parcel.priority] = by_priority.get(parcel.priority, 0) + units * parcel.pods
    return [by_priority[priority] for priority in sorted(by_priority, reverse=True)]


def _in_turn(parcels: Sequence[Parcel], left: list[int], rooms: Sequence[Room], fit: Fit) -> _Way:
    """Parcels in queue order, each into the first rooms that take it."""
    moves: list[tuple[int, int, int]] = []
    free = [list(room.free) for room in rooms]
    numbers, least = list(range(len(rooms))), _least_needs(parcels)
    for index, parcel in enumerate(parcels):
        if index % PRUNE_EVERY == 0:
            numbers = [number for number in numbers if most(free[number], least[index // PRUNE_EVERY], 1)]
        for number, pods in _rooms_for(parcel, left[index], rooms, free, numbers, fit):
            subtract(free[number], parcel.need, pods)
            left[index] -= pods
            moves.append((index, number, pods))
    return _Way(moves, left)


def _packed(parcels: Sequence[Parcel], rooms: Sequence[Room], fit: Fit, dimensions: Dimensions) -> _Way:
    """Live rooms in turn, the empty nodes to come as one purchase, then whatever is still free in turn."""
    live = [room for room in rooms if room.kind is Kind.LIVE]
    first = _in_turn(parcels, [parcel.left for parcel in parcels], live, fit)
    numbers = {id(room): number for number, room in enumerate(rooms)}
    moves = [(index, numbers[id(live[number])], pods) for index, number, pods in first.moves]
    left, new = first.left, _alike(rooms)
    packing = pack(
        [parcel.need for parcel in parcels],
        left,
        [_offer(parcels, left, [rooms[number] for number in alike], fit, dimensions.accelerators) for alike in new],
        len(dimensions.resources),
    )
    for batch in packing.batches:
        for _ in range(batch.times):
            moves += [(index, new[batch.offer][-1], pods) for index, pods in batch.pattern]
            new[batch.offer].pop()
    for index, _, pods in moves[len(first.moves) :]:
        left[index] -= pods
    rest = [replace(room, free=list(room.free)) for room in rooms]
    for index, number, pods in moves:
        subtract(rest[number].free, parcels[index].need, pods)
    last = _in_turn(parcels, left, rest, fit)
    return _Way(moves + last.moves, last.left)


def _alike(rooms: Sequence[Room]) -> list[list[int]]:
    """Numbers of the empty nodes to come that no pod tells apart; the first of the list is used last."""
    found: dict[tuple[object, ...], list[int]] = {}
    for number, room in enumerate(rooms):
        if room.is_new:
            found.setdefault((room.group, room.host, tuple(room.free)), []).insert(0, number)
    return list(found.values())


def _offer(
    parcels: Sequence[Parcel], left: Sequence[int], rooms: Sequence[Room], fit: Fit, accelerators: frozenset[int]
) -> Offer:
    one = rooms[0]
    kept = any(one.free[dimension] for dimension in accelerators)
    takes = frozenset(
        index
        for index, parcel in enumerate(parcels)
        if left[index]
        and most(one.free, parcel.need, 1)
        and fit.refusal(parcel.kind, one.host) is None
        and not (kept and accelerators.isdisjoint(dimension for dimension, _ in parcel.need.each))
    )
    return Offer(tuple(one.free), one.price, len(rooms), takes)


def _rooms_for(
    parcel: Parcel, pods: int, rooms: Sequence[Room], free: Sequence[list[int]], numbers: Sequence[int], fit: Fit
) -> Iterator[tuple[int, int]]:
    """Amounts first: they are cheap to compare, and most rooms are full."""
    takes: dict[int, bool] = {}
    for number in numbers:
        if not pods:
            return
        some = most(free[number], parcel.need, pods)
        if not some:
            continue
        host = rooms[number].host
        if host not in takes:
            takes[host] = fit.refusal(parcel.kind, host) is None
        if takes[host]:
            pods -= some
            yield number, some


def _least_needs(parcels: Sequence[Parcel]) -> list[Need]:
    """For every PRUNE_EVERY-th lot, what all from there on ask for at least."""
    found: list[Need] = []
    least = dict(parcels[-1].need.each) if parcels else {}
    for index in range(len(parcels) - 1, -1, -1):
        asked = dict(parcels[index].need.each)
        least = {dimension: min(amount, asked[dimension]) for dimension, amount in least.items() if dimension in asked}
        if index % PRUNE_EVERY == 0:
            found.append(Need(tuple(sorted(least.items()))))
    return found[::-1]
