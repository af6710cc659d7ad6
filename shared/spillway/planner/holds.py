"""Which needs an empty node has room for: asked by size and by manner, of which there are few."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from spillway.planner.amounts import Need, most


class Holds:
    """`resources` is how many of the first dimensions are a size's."""

    def __init__(self, needs: Sequence[Need], resources: int) -> None:
        self._resources = resources
        self._sizes: dict[Need, set[int]] = defaultdict(set)
        self._manners: dict[Need, set[int]] = defaultdict(set)
        for number, need in enumerate(needs):
            size, manner = need.split(resources)
            self._sizes[Need(size)].add(number)
            self._manners[manner].add(number)
        self._by_manner: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._within: dict[tuple[tuple[int, ...], tuple[int, ...]], frozenset[int]] = {}

    def within(self, have: tuple[int, ...]) -> frozenset[int]:
        """Numbers of the needs; equal answers are one object."""
        rest = have[self._resources :]
        if rest not in self._by_manner:
            self._by_manner[rest] = _held(self._manners, have)
        held = _held(self._sizes, have), self._by_manner[rest]
        if held not in self._within:
            self._within[held] = _numbers(self._sizes, held[0]) & _numbers(self._manners, held[1])
        return self._within[held]


def _held(parts: Iterable[Need], have: Iterable[int]) -> tuple[int, ...]:
    """The places of those parts that fit."""
    free = list(have)
    return tuple([place for place, part in enumerate(parts) if most(free, part, 1)])


def _numbers(parts: Mapping[Need, set[int]], places: tuple[int, ...]) -> frozenset[int]:
    numbers = list(parts.values())
    return frozenset().union(*(numbers[place] for place in places))
