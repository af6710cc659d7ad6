"""What is on a node goes to another that may stand in for it, and what is there comes back.

Between nodes of this plan that costs nothing. One that is not in use yet must be of the same sort, price and region's turn,
within the group's max and all limits.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence

from spillway.planner.limits import Ledger
from spillway.planner.preferences.bins import NEW, Bin, NewBin, RoomBin
from spillway.planner.preferences.ground import Ground
from spillway.planner.preferences.liking import NONE, Score
from spillway.planner.rooms import Kind
from spillway.planner.supply import Source


class StandIn:
    """`new` are the bins of new nodes as they come to be, `ledger` has booked them, and `room` is what groups have left."""

    def __init__(
        self,
        ground: Ground,
        ledger: Ledger,
        sources: Mapping[str, Source],
        desired: Mapping[str, int],
        rooms: Sequence[RoomBin],
    ) -> None:
        """`rooms` are those that may change."""
        self._ground, self.ledger, self._sources, self._rooms = ground, ledger, sources, rooms
        self.new = list(ground.bins.new)
        self._desired = Counter(desired)
        self.room = Counter({key: source.room for key, source in sources.items()})
        for one in self.new:
            self._book(one, 1)
        self._spares: dict[str, NewBin] = {}
        self._shelves: dict[Hashable, dict[int, dict[Hashable, dict[int, Bin]]]] = defaultdict(dict)

    def run(self) -> bool:
        """Whether anything changed."""
        self._shelves.clear()
        for one in (*self._rooms, *self.new):
            self._shelve(one)
        for key in sorted(self._sources):
            self._offer(key)
        content = set[Hashable]()
        changed = False
        for one in (*self._rooms, *self.new):
            if one.look in content or not (one.is_whole and one.holds and self._asks(one)):
                continue
            better = self._better(one)
            if better is None:
                content.add(one.look)
            else:
                self._exchange(one, better)
                content, changed = set[Hashable](), True
        return changed

    def drop_empty(self) -> None:
        """New nodes whose pods have all gone elsewhere are not bought."""
        for one in self.new:
            if not one.is_needed:
                self._book(one, -1)
                self.ledger.take(one.source.group, -1)
        self.new = [one for one in self.new if one.is_needed]

    def can_bring(self, key: str, number: int) -> bool:
        """Whether the group may bring one more node, and such a pod may go there."""
        source = self._sources[key]
        return bool(self.ledger.most(source.group, 1) and self._ground.bins.takes(self._ground.bins.spare(source), number, 1))

    def _book(self, one: NewBin, nodes: int) -> None:
        self._desired[one.source.group.key] += nodes
        self.room[one.source.group.key] -= nodes

    def _shelve(self, one: Bin) -> None:
        if one.is_whole:
            self._shelf(one).setdefault(one.look, {})[id(one)] = one

    def _unshelve(self, one: Bin) -> None:
        alike = self._shelf(one)[one.look]
        del alike[id(one)]
        if not alike:
            del self._shelf(one)[one.look]

    def _shelf(self, one: Bin) -> dict[Hashable, dict[int, Bin]]:
        """Bins by how they look, which no preference tells apart but by what they hold."""
        return self._shelves[one.family].setdefault(one.place.like, {})

    def _offer(self, key: str) -> None:
        """One node of the group that is not bought yet, while it has room."""
        if self.room[key] > 0:
            self._spares[key] = self._ground.bins.spare(self._sources[key])
            self._shelve(self._spares[key])

    def _asks(self, one: Bin) -> bool:
        return self._ground.moves(one.holds) and any(self._ground.feels(number) for number in one.holds)

    def _better(self, mine: Bin) -> Bin | None:
        """Where all together like it best; of equal groups, whose desired is lowest. Only places that what is here prefers."""
        ground = self._ground
        ground.stand(mine, mine.holds, -1)
        best: tuple[Score, int] = NONE, 0
        found = None
        for like, shelf in self._shelves[mine.family].items():
            place = mine.place._replace(like=like)
            if ground.work <= 0:
                break
            if isinstance(mine, NewBin) and ground.change(mine.holds, mine.place, place) <= NONE:
                continue  # nobody is on a new node yet, so that its name tells nothing
            for alike in shelf.values():
                theirs = next(iter(alike.values()))
                if not self._may(mine, theirs):
                    continue
                gain = self._gain(mine, theirs)
                score = gain, -self._desired[theirs.source.group.key] if isinstance(theirs, NewBin) else 0
                if gain > NONE and (found is None or score > best) and ground.bins.fit_each_other(mine, theirs):
                    best, found = score, theirs
        ground.stand(mine, mine.holds)
        return found

    def _may(self, mine: Bin, theirs: Bin) -> bool:
        if theirs.is_open:
            return self._ground.moves(theirs.holds)
        if theirs.grade != mine.grade or mine.is_raised:
            return False
        if self._ground.bins.is_strict and mine.host != theirs.host and theirs.family in (NEW, Kind.CORDONED):
            return False
        return not (isinstance(mine, NewBin) and isinstance(theirs, NewBin)) or self._allows(mine.source, theirs.source)

    def _allows(self, mine: Source, theirs: Source) -> bool:
        self.ledger.take(mine.group, -1)
        allowed = self.ledger.most(theirs.group, 1)
        self.ledger.take(mine.group, 1)
        return bool(allowed)

    def _gain(self, mine: Bin, theirs: Bin) -> Score:
        """`mine` is counted nowhere now."""
        ground = self._ground
        ground.stand(theirs, theirs.holds, -1)
        gain = ground.change(mine.holds, mine.place, theirs.place).plus(ground.change(theirs.holds, theirs.place, mine.place))
        ground.stand(theirs, theirs.holds)
        return gain

    def _exchange(self, mine: Bin, theirs: Bin) -> None:
        ground = self._ground
        for one in (mine, theirs):
            self._unshelve(one)
            ground.stand(one, one.holds, -1)
        ground.bins.exchange(mine, theirs)
        for one in (mine, theirs):
            ground.stand(one, one.holds)
        if isinstance(mine, NewBin) and isinstance(theirs, NewBin) and not theirs.is_open:
            self._buy_instead(mine, theirs)
        else:
            mine.is_open, theirs.is_open = isinstance(mine, NewBin) or bool(mine.holds), True
            self._shelve(mine)
        self._shelve(theirs)

    def _buy_instead(self, mine: NewBin, theirs: NewBin) -> None:
        theirs.is_open = True
        self.new[self.new.index(mine)] = theirs
        for one, nodes in ((mine, -1), (theirs, 1)):
            self._book(one, nodes)
            self.ledger.take(one.source.group, nodes)
        mine_key, their_key = mine.source.group.key, theirs.source.group.key
        del self._spares[their_key]
        self._offer(their_key)
        if mine_key not in self._spares:
            self._offer(mine_key)
