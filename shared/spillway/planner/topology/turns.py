"""When pods come: a shape's turns on a node, each with its place in the plan's order and how many come then."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from spillway.model.plan import Placement

Turns = tuple[tuple[int, int], ...]
"""(place in the order, pods), the earliest first"""
Order = Mapping[tuple[str, str], Turns]
"""By target and shape."""


def in_order(placements: Iterable[Placement], order: Order) -> list[Placement]:
    """As a scheduler could bind them, one after the other, each as soon as it may: who came to a node in several turns is
    placed in as many parts. Who has no turn comes first."""
    placed: dict[tuple[str, str], int] = defaultdict(int)
    found: list[tuple[int, Placement]] = []
    for one in placements:
        key = one.target, one.shape
        start, done = placed[key], 0
        for turn, pods in _between(order.get(key, ()), start, one.pods):
            found.append((turn, replace(one, first=one.first + done, pods=pods)))
            done += pods
        placed[key] += one.pods
    return [one for _, one in sorted(found, key=lambda turn: turn[0])]


def last(turns: Turns, pods: int) -> tuple[Turns, Turns]:
    """Without so many of those who come last; and these."""
    known = sum(number for _, number in turns)
    stay = max(0, known - pods)
    return tuple(_between(turns, 0, stay)), tuple(_between(turns, stay, known - stay))


def _between(turns: Turns, start: int, pods: int) -> Iterator[tuple[int, int]]:
    """The turns of so many pods after the first `start`; those beyond the last turn come with it."""
    turn = 0
    for turn, number in turns:
        if (mine := min(number - start, pods)) > 0:
            yield turn, mine
            pods -= mine
        start = max(0, start - number)
    if pods:
        yield turn, pods
