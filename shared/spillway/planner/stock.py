"""What is to be packed, by class: items that take the same amounts and may go to the same offers are worth the same.

A need is two things: the `size`, which are amounts of resources, and the `manner`, which is all else (host ports, volumes,
what pods say of each other). Sizes are few, and what does not fit by size is passed over with all its manners at once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spillway.planner.amounts import Need, Size


@dataclass(frozen=True)
class Offer:
    """Equal groups as one. `items` are the indices of the needs that may go there and fit an empty node."""

    have: tuple[int, ...]
    price: float
    room: int
    items: frozenset[int]


class Shelf(NamedTuple):
    """Items of a class that ask for the rest of a node in the same `manner`, of which `number` is the name.

    It `asks` where a node must have some of it, `takes` where a pod changes what is left for others, `brings` where it gives
    what others look for.
    """

    number: int
    manner: Need
    asks: bool
    takes: bool
    brings: bool
    items: list[int]


class Stock:
    """`class_of` each item, `size_of` each class, and `members`: the classes that each offer takes, by rising number.

    The first `resources` dimensions are those of the size.
    """

    def __init__(self, needs: Sequence[Need], offers: Sequence[Offer], resources: int) -> None:
        self.needs = needs
        which: dict[frozenset[int], int] = {}
        self._which = [which.setdefault(offer.items, len(which)) for offer in offers]
        members: list[list[int]] = [[] for _ in needs]
        for number, items in enumerate(which):
            for item in items:
                members[item].append(number)
        split = [need.split(resources) for need in needs]
        manners: dict[Need, int] = {}
        self.manner_of = [manners.setdefault(manner, len(manners)) for _, manner in split]
        self._manners = list(manners)
        most = tuple(map(max, *(offer.have for offer in offers))) if len(offers) > 1 else offers[0].have if offers else ()
        classes: dict[tuple[Size, bool, tuple[int, ...]], int] = {}
        self.class_of = [
            classes.setdefault((size, _is_alone(manner, most), tuple(mine)), len(classes))
            for (size, manner), mine in zip(split, members, strict=True)
        ]
        same: dict[Size, Size] = {}
        self.size_of = [same.setdefault(size, size) for size, _, _ in classes]
        self._alone = [alone for _, alone, _ in classes]
        taken: list[list[int]] = [[] for _ in which]
        for number, (_, _, mine) in enumerate(classes):
            for one in mine:
                taken[one].append(number)
        self._taken = [frozenset(numbers) for numbers in taken]
        self._shares: dict[tuple[int, ...], dict[Size, float]] = {}

    def taken(self, offer: int) -> frozenset[int]:
        """The classes that may go to the offer."""
        return self._taken[self._which[offer]]

    def shelves(self, counts: Sequence[int]) -> list[list[Shelf]]:
        """By class, the items of which there are any."""
        found: list[dict[int, Shelf]] = [{} for _ in self.size_of]
        for item, (one, number) in enumerate(zip(self.class_of, self.manner_of, strict=True)):
            if counts[item]:
                if number not in found[one]:
                    manner = self._manners[number]
                    found[one][number] = Shelf(
                        number,
                        manner,
                        asks=bool(manner.each or manner.once or manner.wants),
                        takes=bool(manner.each or manner.once or manner.drains),
                        brings=any(amount < 0 for _, amount in manner.drains),
                        items=[],
                    )
                found[one][number].items.append(item)
        for shelves in found:
            for shelf in shelves.values():
                shelf.items.sort(key=lambda item: -counts[item])
        return [sorted(shelves.values(), key=lambda s: -counts[s.items[0]]) for shelves in found]

    def share(self, number: int, have: tuple[int, ...]) -> float:
        """The dominant share of a node that a pod of the class takes; above 1 where it does not fit."""
        if self._alone[number]:
            return 1.0
        known = self._shares.setdefault(have, {})
        size = self.size_of[number]
        if size not in known:
            known[size] = max((amount / have[d] if have[d] > 0 else 2.0 for d, amount in size), default=0.0)
        return known[size]


def _is_alone(manner: Need, have: Sequence[int]) -> bool:
    """Whether no node takes two of them."""
    return any(2 * amount > have[dimension] for dimension, amount in manner.each) if have else False


def least_amounts(sizes: Iterable[Size]) -> Size:
    """What all of them ask for at least."""
    every = [dict(size) for size in sizes]
    if not every:
        return ()
    common = set(every[0]).intersection(*every)
    return tuple((dimension, min(size[dimension] for size in every)) for dimension in sorted(common))
