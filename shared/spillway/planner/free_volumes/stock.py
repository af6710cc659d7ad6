"""How many volumes are left while pods take one after the other: each the smallest that suits it where it goes, the smaller of
its claims first.

Source: findMatchingVolumes in plugins/volumebinding/binder.go of kube-scheduler.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from spillway.model.cluster import PodShape
from spillway.model.volumes import FreeVolumes, VolumeNeed
from spillway.planner.amounts import UNLIMITED
from spillway.planner.free_volumes.reach import Reached, Terms


class Taken(NamedTuple):
    """Pods, and the ids of the volumes that each takes, by claim; more than one where it is not known which node comes."""

    pods: int
    volumes: tuple[tuple[str, ...], ...]


def wanting(shape: PodShape) -> tuple[VolumeNeed, ...]:
    """What it takes of free volumes, the smallest claim first: more suit it."""
    found = (need for need in shape.volumes if need.free and not need.problem)
    return tuple(sorted(found, key=lambda need: (-len(need.free), need.free, need.shared)))


def places(free: Iterable[FreeVolumes], shapes: Iterable[PodShape]) -> Mapping[str, Terms | None]:
    """Where each volume that the shapes may take can be had, and what their classes make instead."""
    needs = [need for shape in shapes for need in wanting(shape)]
    asked = {one for need in needs for one in need.free}
    found: dict[str, Terms | None] = {one.id: one.terms for one in free if one.id in asked}
    return found | {made_id(need.made): need.made for need in needs if need.made}


def made_id(made: Terms) -> str:
    return f"made {made!r}"


class Stock:
    def __init__(self, free: Iterable[FreeVolumes], known: Iterable[str]) -> None:
        """`known` are all ids; of what classes make there is no end."""
        self.left = dict.fromkeys(known, UNLIMITED)
        self.left |= {one.id: one.count for one in free if one.id in self.left}
        self._shared: dict[str, tuple[str, ...]] = {}
        self._ranks: dict[tuple[tuple[str, ...], Terms], Mapping[str, int]] = {}

    def choices(self, need: VolumeNeed) -> Mapping[str, int]:
        """Their turn, by id; what would be made comes last."""
        key = need.free, need.made
        if key not in self._ranks:
            ids = (*need.free, made_id(need.made)) if need.made else need.free
            self._ranks[key] = {one: rank for rank, one in enumerate(ids) if one in self.left}
        return self._ranks[key]

    def next(self, needs: Sequence[VolumeNeed], reached: Reached, wanted: int, but: Set[str] = frozenset()) -> Taken | None:
        """What the next of so many equal pods would take, and how many may take the same; None where there is not enough
        without the volumes that are named."""
        taken: Counter[str] = Counter()
        found, pods = [], wanted
        for need in needs:
            mine = self._shared.get(need.shared, ()) if need.shared else ()
            is_new, ranks = not mine, self.choices(need)
            for reach in reached:
                if any(one in reach for one in mine):
                    continue
                able = (one for one in (reach & ranks.keys()) - but if self.left[one] > taken[one])
                best = min(able, key=ranks.__getitem__, default="")
                if not best or not is_new:
                    return None
                taken[best] += 1
                mine = (*mine, best)
            if is_new and need.shared:
                pods = 1  # the others share it
            found.append(mine)
        return Taken(min([pods, *(self.left[one] // number for one, number in taken.items())]), tuple(found))

    def take(self, needs: Sequence[VolumeNeed], taken: Taken) -> None:
        for need, mine in zip(needs, taken.volumes, strict=True):
            if need.shared in self._shared:
                continue
            if need.shared:
                self._shared[need.shared] = mine
            for one in mine:
                self.left[one] -= taken.pods
