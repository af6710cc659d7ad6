"""Deal free volumes, place and buy, look who found no place, and deal again: so a volume goes to who can use it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from spillway.planner.demand import Lot
from spillway.planner.free_volumes.dealing import Dealing, Where, renumber
from spillway.planner.rooms import Room
from spillway.planner.topology.settle import Settled

ROUNDS = 6


def settle(
    lots: Sequence[Lot],
    rooms: list[Room],
    dealing: Dealing,
    settled_of: Callable[[Sequence[Lot], Sequence[Room]], Settled],
) -> tuple[Sequence[Lot], list[Room], Settled]:
    """The lots, split where their pods take free volumes, the rooms as they are then, and what came of both. `settled_of` may
    be asked several times, each time with lots and rooms that nothing was taken from."""
    if dealing.nothing:
        return lots, rooms, settled_of(lots, rooms)
    caps: dict[tuple[int, Where], int] = {}
    best: tuple[list[int], Sequence[Lot], list[Room], Settled] | None = None
    for _ in range(ROUNDS):
        deal = dealing.deal(caps)
        open_rooms = [replace(room, free=list(room.free)) for room in rooms]
        settled = settled_of(deal.lots, open_rooms)
        served = _served(settled)
        worth = _left(deal.lots, served)
        if best is None or worth < best[0]:
            best = worth, deal.lots, open_rooms, settled
        short = {deal.parts[n]: served[n] for n in deal.parts if served[n] < deal.lots[n].asked}
        if not short:
            break
        caps |= short
    _, found, rooms, settled = best  # type: ignore[misc]  # there is one round at least
    renumber(found)
    return found, rooms, settled


def _served(settled: Settled) -> Counter[int]:
    """Pods that have a place, by lot's number."""
    found: Counter[int] = Counter()
    for move in settled.moves:
        for lot, pods in move.parcel.parts:
            found[lot.number] += pods * move.units
    units: Counter[int] = Counter()
    for node in settled.purchase.nodes:
        units += Counter(dict(node.pods))
    for item, number in units.items():
        for parcel in settled.market.items[item].parcels:
            mine = min(parcel.left, number)
            number -= mine
            for lot, pods in parcel.parts:
                found[lot.number] += pods * mine
    return found


def _left(lots: Sequence[Lot], served: Counter[int]) -> list[int]:
    """Pods without a place, the highest priority first."""
    left = dict.fromkeys(sorted({-lot.shape.priority for lot in lots}), 0)
    for lot in lots:
        left[-lot.shape.priority] += lot.count - served[lot.number]
    return list(left.values())
