"""How many pods that a spread over nodes counts each node may have, as grants to its dimension.

They are dealt to the nodes that are there and to as few new ones as hold the rest, like over any domains. That new nodes
hold some of these pods is a hope where others buy nodes, too: where it fails, no node may have more than the skew.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spillway.planner.amounts import most, subtract
from spillway.planner.fit import Fit
from spillway.planner.parcel import Parcel
from spillway.planner.rooms import Room
from spillway.planner.supply import Source
from spillway.planner.topology.census import Census
from spillway.planner.topology.hosts import HostSpread
from spillway.planner.topology.levels import fill

BOUNDLESS = 1_000_000  # pods


@dataclass(frozen=True)
class Grant:
    """What is added to a dimension, which holds minus the pods that are there: of `rooms` by target, `others` for those
    not named, `new` for new nodes. `hopes`: new nodes must come to hold some for it to be right.
    """

    dimension: int
    rooms: Mapping[str, int]
    others: int
    new: int
    hopes: bool


class Evenness:
    """In one plan's rooms and sources. `first` is the dimension from which those of neighbours number."""

    def __init__(
        self,
        spreads: Sequence[HostSpread],
        first: int,
        rooms: Sequence[Room],
        sources: Iterable[Source],
        fit: Fit,
        census: Census,
    ) -> None:
        self._spreads, self._first, self._rooms = spreads, first, rooms
        self._sources, self._fit, self._census = list(sources), fit, census

    def grants(self, parcels: Sequence[Parcel], modest: bool) -> list[Grant]:
        """`modest`: expect nothing of new nodes."""
        found = []
        for one in self._spreads:
            dimension = self._first + one.dimension
            mine = [parcel for parcel in parcels if _asks(parcel, dimension)]
            eligible = {name for group in self._census.eligible(one.spread, one.owner) for name in group.nodes}
            hopes = not modest and one.counts_itself and bool(mine)
            found.append(self._grant(one, dimension, mine, eligible, hopes))
        return found

    def _grant(self, one: HostSpread, dimension: int, parcels: Sequence[Parcel], eligible: set[str], hopes: bool) -> Grant:
        skew = one.spread.max_skew
        here = {room.target: room for room in self._rooms if room.target in eligible}
        if not hopes:
            more = skew + (0 if one.counts_itself else 1)
            return Grant(dimension, {}, more, more, hopes=False)
        present = {name: -here[name].free[dimension] if name in here else 0 for name in eligible}
        by_domain: dict[tuple[tuple[str, str], ...], list[Parcel]] = defaultdict(list)
        for parcel in parcels:
            by_domain[parcel.domains].append(parcel)
        capacities = {
            domain: {name: self._capacity(here[name], dimension, group) if name in here else 0 for name in eligible}
            for domain, group in by_domain.items()
        }
        full = min((present[name] + max(one[name] for one in capacities.values()) for name in eligible), default=BOUNDLESS)
        dealt, new = dict.fromkeys(here, 0), 0
        few = one.spread.min_domains - len(eligible)
        for domain, group in sorted(by_domain.items()):
            mine = {name: capacity for name, capacity in capacities[domain].items() if capacity}
            part, most_new = self._deal(
                group, {name: present[name] + dealt[name] for name in mine}, mine, skew, full, few, dimension
            )
            for name, pods in part.items():
                dealt[name] += pods
            new = max(new, most_new)
        rooms = {name: present[name] + pods for name, pods in dealt.items()}
        return Grant(dimension, rooms, 0, new, hopes=True)

    def _deal(
        self,
        parcels: Sequence[Parcel],
        present: Mapping[str, int],
        room: Mapping[str, int],
        skew: int,
        full: int,
        few: int,
        dimension: int,
    ) -> tuple[dict[str, int], int]:
        """How many each node that is there takes, and how many a new one at most, with as few new ones as will do.

        With fewer new ones than `few` there are not as many domains as the spread asks for: none may have more than the skew.
        """
        pods = sum(parcel.count for parcel in parcels)
        new = min((self._on_new(parcel, dimension) for parcel in parcels), default=0)

        def with_new(number: int) -> dict[str, int]:
            names = [f"{index:09}" for index in range(number)]
            there, capacity = {**present, **dict.fromkeys(names, 0)}, {**room, **dict.fromkeys(names, new)}
            least = min([full, *(there[name] + capacity[name] for name in there)]) if number >= few else 0
            return fill(there, capacity, pods, skew, least)

        low, high = 0, pods if new else 0
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if sum(with_new(middle).values()) >= pods else (middle + 1, high)
        found = with_new(low)
        on_new = [number for name, number in found.items() if name not in present]
        return {name: number for name, number in found.items() if name in present}, max(on_new, default=0)

    def _capacity(self, room: Room, dimension: int, parcels: Sequence[Parcel]) -> int:
        free, found = list(room.free), 0
        free[dimension] = BOUNDLESS
        for parcel in parcels:
            if (number := most(free, parcel.need, parcel.count)) and self._fit.refusal(parcel.kind, room.host) is None:
                subtract(free, parcel.need, number)
                found += number
        return found

    def _on_new(self, parcel: Parcel, dimension: int) -> int:
        """The most that a new node holds."""
        best = 0
        for source in self._sources:
            free = list(source.have)
            free[dimension] = BOUNDLESS
            if (number := most(free, parcel.need, parcel.count)) > best and self._fit.refusal(parcel.kind, source.host) is None:
                best = number
        return best


def _asks(parcel: Parcel, dimension: int) -> bool:
    return dimension in parcel.need.wants or any(dimension == one for one, _ in parcel.need.each)
