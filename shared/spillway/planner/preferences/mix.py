"""Some pods of a node go to another that is in use anyway, or change places with pods there."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence

from spillway.planner.preferences.bins import Bin
from spillway.planner.preferences.ground import Ground
from spillway.planner.preferences.liking import NONE


class Mix:
    """`among` those in use of these bins."""

    def __init__(self, ground: Ground, among: Sequence[Bin]) -> None:
        self._ground, self._bins = ground, ground.bins
        self._open = [one for one in among if one.is_open]
        self._like: dict[Hashable, dict[int, list[Bin]]] = defaultdict(lambda: defaultdict(list))
        for one in self._open:
            self._like[one.family][one.place.like].append(one)

    def run(self) -> bool:
        """Whether anything changed."""
        changed = False
        for here in self._open:
            for number in sorted(here.holds):
                if self._bins.stuff[number].moves_alone and self._ground.feels(number):
                    while number in here.holds and self._ground.work > 0 and self._improve(here, number):
                        changed = True
        return changed

    def _improve(self, here: Bin, number: int) -> bool:
        return any(
            any(self._move(here, there, number) for there in alike)
            or any(self._change_places(here, there, number) for there in alike)
            for alike in self._better(here, number)
        )

    def _better(self, here: Bin, number: int) -> Iterable[list[Bin]]:
        """Where one of these pods would like it better, the best first; nodes that are one to it are looked at once."""
        ground, told = self._ground, self._ground.hosts(number)
        ground.stand(here, {number: -1})
        now = ground.score(number, here.place)
        found = [(score, alike) for alike in self._alike(here, told) if (score := ground.score(number, alike[0].place)) > now]
        ground.stand(here, {number: 1})
        for _, alike in sorted(found, key=lambda one: one[0], reverse=True):
            yield [one for one in alike if one is not here and self._bins.may_go_alone(number, here, one)]

    def _alike(self, here: Bin, told: Sequence[Collection[str]]) -> Iterable[list[Bin]]:
        """Nodes of one kind together, but those whose names are `told` apart each alone."""
        for alike in self._like[here.family].values():
            if not told:
                yield alike
                continue
            self._ground.work -= len(alike) // 50
            rest = []
            for one in alike:
                if any(one.place.host in hosts for hosts in told):
                    yield [one]
                else:
                    rest.append(one)
            if rest:
                yield rest

    def _move(self, here: Bin, there: Bin, number: int) -> bool:
        self._ground.work -= 1
        leaving = self._bins.spared(here, number)
        if not leaving or not (fits := self._bins.takes(there, number, leaving)):
            return False
        units = self._wanted(here, there, number, fits)
        self._bins.tell_turns(here, there, number, units)
        self._ground.put(here, number, -units)
        self._ground.put(there, number, units)
        return True

    def _wanted(self, here: Bin, there: Bin, number: int, most: int) -> int:
        """How many had better go, 1 at least: the more are there, the less do spread and anti-affinity like it."""
        low, high = 1, most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._goes(here, there, number, middle) else (low, middle - 1)
        return low

    def _goes(self, here: Bin, there: Bin, number: int, units: int) -> bool:
        """Whether the last of so many likes it better there."""
        ground = self._ground
        ground.stand(here, {number: -units})
        ground.stand(there, {number: units - 1})
        better = ground.score(number, there.place) > ground.score(number, here.place)
        ground.stand(here, {number: units})
        ground.stand(there, {number: 1 - units})
        return better

    def _change_places(self, here: Bin, there: Bin, number: int) -> bool:
        for other in sorted(there.holds):
            if other != number and self._bins.may_go_alone(other, there, here):
                units = self._wanted(here, there, number, here.holds[number])
                while units and self._ground.work > 0:
                    if self._changed(here, there, number, units, other):
                        return True
                    units //= 2
        return False

    def _changed(self, here: Bin, there: Bin, number: int, units: int, other: int) -> bool:
        """So many for as few of the others as make room for them, where all together gain."""
        self._ground.work -= 1
        back = self._bins.in_the_way(there, number, units, other)
        if not 0 < back <= there.holds[other]:
            return False
        ground = self._ground
        ground.put(here, number, -units)
        ground.put(there, other, -back)
        gain = NONE
        if self._bins.takes(there, number, units) == units and self._bins.takes(here, other, back) == back:
            gain = ground.change({number: units}, here.place, there.place).plus(
                ground.change({other: back}, there.place, here.place)
            )
        go, come = (there, here) if gain > NONE else (here, there)
        if gain > NONE:
            self._bins.tell_turns(here, there, number, units)
            self._bins.tell_turns(there, here, other, back)
        ground.put(go, number, units)
        ground.put(come, other, back)
        return gain > NONE
