"""What a plan has settled as bins: nodes that are there, come, or are bought, each with what the plan puts on it."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from spillway.planner import prices
from spillway.planner.amounts import most, subtract
from spillway.planner.buy import NewNode
from spillway.planner.demand import Lot
from spillway.planner.paid import Paid
from spillway.planner.parcel import Parcel
from spillway.planner.preferences.liking import Place
from spillway.planner.preferences.stuff import Hold, Sorter, left_over
from spillway.planner.preferences.wishes import Preferences
from spillway.planner.problem import Problem
from spillway.planner.rooms import Kind, Room
from spillway.planner.supply import Source
from spillway.planner.topology.settle import Settled
from spillway.planner.topology.terms import HOSTNAME
from spillway.planner.topology.turns import Turns, last

NEW = "new"


@dataclass(eq=False, kw_only=True)
class Bin:
    """`host` is its kind in Fit. `holds` counts units by stuff, which are off what is `free`; `turns` are those in the plan's
    order, by shape, as far as there is one.

    Bins of one `family` exchange what they hold; those of one `grade` may also stand in for each other unused. `is_whole`:
    only pods of this plan are there. `is_open`: it is in use, whatever else goes there. `kept` for pods that ask for its
    accelerators.
    """

    name: str
    host: int
    place: Place
    family: Hashable
    grade: Hashable
    free: list[int]
    is_whole: bool
    is_open: bool
    kept: bool
    is_raised: bool = False
    holds: dict[int, int] = field(default_factory=dict)
    turns: dict[str, Turns] = field(default_factory=dict)

    @property
    def look(self) -> Hashable:
        """Equal for bins that are as good as each other to exchange with."""
        return self.name, self.is_open, self.is_raised, tuple(sorted(self.holds.items()))


@dataclass(eq=False, kw_only=True)
class RoomBin(Bin):
    room: Room


@dataclass(eq=False, kw_only=True)
class NewBin(Bin):
    """Of a node to buy; `is_open` once it is bought."""

    source: Source

    @property
    def is_needed(self) -> bool:
        return self.is_raised or bool(self.holds)


class Bins:
    """Of one plan. `new` are the nodes that were bought, in order; `left` are units of stuff without a place.

    `is_strict`: pods are spread, so that no node may open, or be left empty, that they tell from the one in whose stead it is.
    """

    def __init__(
        self,
        problem: Problem,
        settled: Settled,
        lots: Sequence[Lot],
        rooms: Sequence[Room],
        preferences: Preferences,
        paid: Paid,
    ) -> None:
        view, topology = problem.view, problem.topology
        self._view, self._settled, self._paid = view, settled, paid
        self._fit, self._dimensions = problem.fit, problem.dimensions
        self.is_strict = any(topology.rules.spreads.values())
        self._sorter = Sorter(topology, preferences, problem.dimensions)
        self.stuff = self._sorter.found
        ranks = enumerate(settled.market.ranks)
        self._rank = {source.group.key: number for number, rank in ranks for source in rank}
        self._hostnames = {live.node.name: live.node.labels.get(HOSTNAME, live.node.name) for live in view.nodes}
        self.rooms = [self._of_room(room) for room in rooms]
        self.new = [self._of_node(node, number) for number, node in enumerate(settled.purchase.nodes)]
        self.left = self._put(lots, topology.is_silent)

    def spare(self, source: Source, name: str = "") -> NewBin:
        """A node of the group that is not bought."""
        group = source.group
        grade = (self._rank[group.key], source.accelerated, source.price, self._paid.signature(group))
        return NewBin(
            name=group.key, host=source.host, place=Place(source.like, name or f"{group.key}#spare"), family=NEW, grade=grade,
            free=list(source.have[: self._dimensions.first_neighbour]), is_whole=True, is_open=False, kept=source.accelerated,
            source=source,
        )  # fmt: skip

    def _of_room(self, room: Room) -> RoomBin:
        group = self._view.groups.get(room.group)
        price = prices.weight(self._view, group) if group and group.template else 0.0
        empty = room.is_empty or room.is_new
        return RoomBin(
            name=room.target, host=room.host, place=Place(room.like, self._hostnames.get(room.target, room.target)),
            family=room.kind, grade=(room.kind, empty, group is None, price),
            free=list(room.free[: self._dimensions.first_neighbour]),
            is_whole=empty or room.kind is Kind.CORDONED, is_open=room.kind is Kind.LIVE and not empty,
            kept=any(room.free[dimension] > 0 for dimension in self._dimensions.accelerators), room=room,
        )  # fmt: skip

    def _of_node(self, node: NewNode, number: int) -> NewBin:
        found = self.spare(node.source, f"{node.source.group.key}#new{number}")
        found.is_raised, found.is_open = node.raised, True
        return found

    def _put(self, lots: Sequence[Lot], is_off: bool) -> dict[int, int]:
        """`is_off`: what the rooms hold is off their free amounts already. What has no place."""
        where = {id(one.room): one for one in self.rooms}
        placed: list[tuple[Parcel, int]] = []
        for move in self._settled.moves:
            one, number = where[id(move.room)], self._sorter.add(move.parcel, move.units)
            if is_off:
                one.holds[number] = one.holds.get(number, 0) + move.units
            else:
                self.add(one, number, move.units)
            placed.append((move.parcel, move.units))
        queues = [list(item.in_turn()) for item in self._settled.market.items]
        for new, node in zip(self.new, self._settled.purchase.nodes, strict=True):
            for item, units in node.pods:
                for parcel, part in _deal(queues[item], units):
                    self.add(new, self._sorter.add(parcel, part), part)
                    placed.append((parcel, part))
        left = Counter[int]()
        for parcel, units in left_over(lots, placed):
            left[self._sorter.add(parcel, units)] += units
        self._sorter.close()
        for one in self.rooms:
            one.is_open = one.is_open or bool(one.holds)
        return left

    def takes(self, one: Bin, number: int, units: int) -> int:
        """How many of `units` fit, on top of what it holds, by all but rules between pods."""
        stuff = self.stuff[number]
        fits = most(one.free, stuff.own, units)
        return fits if fits and self._fit.refusal(stuff.kind, one.host) is None else 0

    def may_go(self, number: int, here: Bin, there: Bin) -> bool:
        """But for amounts and filters, and for what else must go with it."""
        stuff = self.stuff[number]
        if stuff.hold is Hold.FIXED or (stuff.hold is not Hold.FREE and here.host != there.host):
            return False
        return not (stuff.plain and there.kept and not here.kept)

    def may_go_alone(self, number: int, here: Bin, there: Bin) -> bool:
        """Who is bound comes in a turn of its own, which those of its shape who are there have already."""
        stuff = self.stuff[number]
        is_new = stuff.hold is Hold.FREE or stuff.shapes.isdisjoint(there.turns)
        return stuff.moves_alone and is_new and self.may_go(number, here, there)

    def spared(self, here: Bin, number: int) -> int:
        """How many may leave."""
        units = here.holds[number]
        must_stay = self.is_strict and here.family in (NEW, Kind.CORDONED) and len(here.holds) == 1
        return units - 1 if must_stay else units

    def tell_turns(self, here: Bin, there: Bin, number: int, units: int) -> None:
        """Of who goes there alone: those that came last go. Of several shapes nobody knows yet which those are."""
        shapes = self.stuff[number].shapes
        for shape in shapes & here.turns.keys():
            stay, gone = last(here.turns[shape], units)
            there.turns[shape] = tuple(sorted((*there.turns.get(shape, ()), *gone)))
            if len(shapes) == 1:
                here.turns[shape] = stay
                if not stay:
                    del here.turns[shape]

    def add(self, one: Bin, number: int, units: int) -> None:
        """`units` below 0 are taken away."""
        subtract(one.free, self.stuff[number].own, units)
        one.holds[number] = one.holds.get(number, 0) + units
        if not one.holds[number]:
            del one.holds[number]

    def in_the_way(self, there: Bin, number: int, units: int, other: int) -> int:
        """How many of the others must go so that so many fit, 0 where they would not help."""
        asked, found = dict(self.stuff[other].own.each), 0
        for dimension, amount in self.stuff[number].own.each:
            if (lacking := amount * units - there.free[dimension]) > 0:
                if not asked.get(dimension):
                    return 0
                found = max(found, -(-lacking // asked[dimension]))
        return found

    def fit_each_other(self, mine: Bin, theirs: Bin) -> bool:
        """Whether each may have all that the other holds."""
        return all(
            all(self._may_go_whole(number, here, there) for number in here.holds)
            and self._holds_all(self._emptied(there), there.host, here.holds)
            for here, there in ((mine, theirs), (theirs, mine))
        )

    def _may_go_whole(self, number: int, here: Bin, there: Bin) -> bool:
        """Who is on a node that is there may be counted there beside others."""
        return self.may_go(number, here, there) and (here.family == NEW or self.stuff[number].hold is Hold.FREE)

    def _emptied(self, one: Bin) -> list[int]:
        free = list(one.free)
        for number, units in one.holds.items():
            subtract(free, self.stuff[number].own, -units)
        return free

    def _holds_all(self, free: list[int], host: int, holds: Mapping[int, int]) -> bool:
        for number, units in sorted(holds.items()):
            stuff = self.stuff[number]
            if self._fit.refusal(stuff.kind, host) is not None or most(free, stuff.own, units) < units:
                return False
            subtract(free, stuff.own, units)
        return True

    def exchange(self, mine: Bin, theirs: Bin) -> None:
        """All that they hold."""
        mine.free, theirs.free = self._emptied(mine), self._emptied(theirs)
        mine.holds, theirs.holds = theirs.holds, mine.holds
        mine.turns, theirs.turns = theirs.turns, mine.turns
        for one in (mine, theirs):
            for number, units in one.holds.items():
                subtract(one.free, self.stuff[number].own, units)


def _deal(queue: list[tuple[Parcel, int]], units: int) -> Iterable[tuple[Parcel, int]]:
    """The next of a queue."""
    while units and queue:
        parcel, left = queue.pop(0)
        part = min(left, units)
        if left > part:
            queue.insert(0, (parcel, left - part))
        units -= part
        if part:
            yield parcel, part
