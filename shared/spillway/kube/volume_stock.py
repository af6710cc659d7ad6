"""Volumes that are not bound: free for any claim, or kept for one.

Source: FindMatchingVolume in k8s.io/component-helpers/storage/volume/pv_helpers.go.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

from spillway.kube.storage import SeenClaim, SeenVolume, Terms
from spillway.kube.volume_terms import alternatives
from spillway.planner.rules.requirement import matches

Key = tuple[str, str]
"""Namespace and name of a claim."""


class Stock:
    """`kept` are by the namespace and name of their claim."""

    def __init__(self, volumes: Mapping[Key, SeenVolume]) -> None:
        self.kept: dict[Key, list[SeenVolume]] = defaultdict(list)
        self._free: dict[str, list[SeenVolume]] = defaultdict(list)
        self._shelves: dict[object, _Shelf] = {}
        for _, volume in sorted(volumes.items(), key=lambda item: (item[1].storage, item[0])):
            if volume.claim is not None:
                self.kept[volume.claim[:2]].append(volume)
            elif volume.is_available:
                self._free[volume.storage_class].append(volume)

    def places(self, claim: SeenClaim) -> Terms | None:
        """Where there is a free one for it; None for anywhere."""
        return self._shelf(claim).places(claim.storage)

    def left_without(self, claims: Iterable[tuple[Key, SeenClaim]]) -> frozenset[Key]:
        """Those of `claims` for which none is left, as each one before them binds the smallest that suits it."""
        bound: set[int] = set()
        return frozenset(key for key, claim in claims if not self._shelf(claim).bind(claim.storage, bound))

    def _shelf(self, claim: SeenClaim) -> "_Shelf":
        """Claims that ask for the same but for the size look at one: thousands of sizes would each look at every volume."""
        key = claim.kind
        if key not in self._shelves:
            free = self._free.get(claim.storage_class, ())
            self._shelves[key] = _Shelf([volume for volume in free if _is_of_kind(volume, claim)])
        return self._shelves[key]


class _Shelf:
    """Free volumes of which any suits a claim, if it is large enough; the smallest first."""

    def __init__(self, volumes: list[SeenVolume]) -> None:
        self._volumes = volumes
        self._sizes = [volume.storage for volume in volumes]
        self._next = list(range(len(volumes) + 1))  # from each the first that may be unbound
        self._places: dict[int, Terms | None] = {}

    def places(self, size: Fraction) -> Terms | None:
        first = bisect_left(self._sizes, size)
        if first not in self._places:
            self._places[first] = alternatives(volume.terms for volume in self._volumes[first:])
        return self._places[first]

    def bind(self, size: Fraction, bound: set[int]) -> bool:
        """Adds the smallest that is large enough and not `bound`, which holds them by id(), of all shelves; False: none is."""
        at = bisect_left(self._sizes, size)
        passed = []
        while at < len(self._volumes) and (self._next[at] != at or id(self._volumes[at]) in bound):
            passed.append(at)
            at = max(self._next[at], at + 1)
        for one in passed:
            self._next[one] = at
        if at == len(self._volumes):
            return False
        bound.add(id(self._volumes[at]))
        return True


def _is_of_kind(volume: SeenVolume, claim: SeenClaim) -> bool:
    """Whether it suits, whatever its size."""
    return (
        _is_alike(volume, claim)
        and (claim.selector is None or all(matches(one, volume.labels) for one in claim.selector))
        and set(claim.access_modes) <= set(volume.access_modes)
    )


def suits(volume: SeenVolume, claim: SeenClaim) -> bool:
    """Whatever is asked of a volume that is kept for the claim, too."""
    return (
        (volume.claim is None or volume.claim[2] in ("", claim.uid))
        and _is_alike(volume, claim)
        and volume.storage >= claim.storage
    )


def _is_alike(volume: SeenVolume, claim: SeenClaim) -> bool:
    return (volume.storage_class, volume.mode, volume.attributes_class) == (
        claim.storage_class,
        claim.mode,
        claim.attributes_class,
    ) and not volume.is_deleting
