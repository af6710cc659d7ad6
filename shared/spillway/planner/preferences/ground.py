"""Bins and how well their pods stand, kept together; and how many looks are left."""

from collections import Counter
from collections.abc import Iterable, Mapping

from spillway.planner.preferences.bins import Bin, Bins
from spillway.planner.preferences.liking import NONE, Liking, Place, Score
from spillway.planner.preferences.stuff import Hold
from spillway.planner.preferences.wishes import Preferences

WORK = 60_000  # looks at a place for some pods, in one plan: about half a second


class Ground:
    def __init__(self, bins: Bins, liking: Liking, preferences: Preferences) -> None:
        """What the bins hold now is counted in `liking`, which knew of nothing that waits."""
        self.bins, self._liking = bins, liking
        self.work = 0
        self._feel = {
            number
            for number, stuff in enumerate(bins.stuff)
            if any(preferences.has_any(feeling) for feeling, _ in stuff.feelings)
        }
        for one in (*bins.rooms, *bins.new):
            self.stand(one, one.holds)

    def allow(self, share: int) -> None:
        """That part of all looks; what is left of an earlier one stays."""
        self.work += WORK // share

    def score(self, number: int, place: Place) -> Score:
        """Of one unit more of this stuff."""
        self.work -= 1
        feelings = self.bins.stuff[number].feelings
        if len(feelings) == 1 and feelings[0][1] == 1:
            return self._liking.score(feelings[0][0], place)
        found = NONE
        for feeling, pods in feelings:
            found = found.plus(self._liking.score(feeling, place), pods)
        return found

    def change(self, holds: Mapping[int, int], here: Place, there: Place) -> Score:
        """What all of these, which are counted nowhere now, like better there."""
        found = NONE
        for number, units in holds.items():
            if number in self._feel:
                found = found.plus(self.score(number, there), units).plus(self.score(number, here), -units)
        return found

    def hosts(self, number: int) -> list[Counter[str]]:
        """Hostnames that such pods tell from all others."""
        return [hosts for feeling, _ in self.bins.stuff[number].feelings for hosts in self._liking.hosts(feeling)]

    def stand(self, where: Bin, holds: Mapping[int, int], times: int = 1) -> None:
        """Counts units there, or no more where `times` is -1; the bin itself is as it was."""
        for number, units in holds.items():
            for feeling, pods in self.bins.stuff[number].feelings:
                self._liking.add(feeling, where.place, times * units * pods)

    def put(self, where: Bin, number: int, units: int) -> None:
        """`units` below 0 are taken away."""
        self.stand(where, {number: units})
        self.bins.add(where, number, units)

    def feels(self, number: int) -> bool:
        """Whether places are not all one to such pods."""
        return number in self._feel

    def moves(self, holds: Iterable[int]) -> bool:
        return all(self.bins.stuff[number].hold is not Hold.FIXED for number in holds)
