"""Volumes that are not bound: free for any claim, or kept for one.

Source: FindMatchingVolume in k8s.io/component-helpers/storage/volume/pv_helpers.go.
"""

import hashlib
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

from spillway.kube.storage import SeenClaim, SeenVolume, Terms
from spillway.kube.volume_terms import alternatives
from spillway.model.base import encode
from spillway.model.volumes import FreeVolumes
from spillway.planner.rules.requirement import matches

Key = tuple[str, str]
"""Namespace and name of a claim."""


class Stock:
    """`kept` are by the namespace and name of their claim, `free` what `claims` may take."""

    def __init__(self, volumes: Mapping[Key, SeenVolume], claims: Iterable[SeenClaim]) -> None:
        self.kept: dict[Key, list[SeenVolume]] = defaultdict(list)
        self._free: dict[str, list[SeenVolume]] = defaultdict(list)
        self._shelves: dict[object, _Shelf] = {}
        for _, volume in sorted(volumes.items(), key=lambda item: (item[1].storage, item[0])):
            if volume.claim is not None:
                self.kept[volume.claim[:2]].append(volume)
            elif volume.is_available:
                self._free[volume.storage_class].append(volume)
        self.free = self._sort({claim.kind: claim for claim in claims}.values()) if self._free else ()

    def places(self, claim: SeenClaim) -> Terms | None:
        """Where there is a free one for it; None for anywhere."""
        return self._shelf(claim).places(claim.storage)

    def choices(self, claim: SeenClaim) -> tuple[str, ...]:
        """The ids of `free` that suit it, the smallest first."""
        return self._shelf(claim).choices(claim.storage)

    def driver(self, claim: SeenClaim) -> str:
        """Of those volumes, "" for none: whichever it gets is attached by it."""
        return max((volume.driver for volume in self._shelf(claim).volumes), default="")

    def _sort(self, kinds: Iterable[SeenClaim]) -> tuple[FreeVolumes, ...]:
        """Volumes of one size and place that are on the same shelves are one."""
        shelved: dict[int, list[bytes]] = defaultdict(list)
        known: dict[int, SeenVolume] = {}
        for claim in kinds:
            name = encode(claim.kind)
            for volume in self._shelf(claim).volumes:
                shelved[id(volume)].append(name)
                known[id(volume)] = volume
        ids = {key: _id_of(volume, shelved[key]) for key, volume in known.items()}
        for shelf in self._shelves.values():
            shelf.ids = [ids[id(volume)] for volume in shelf.volumes]
        counts, terms = Counter(ids.values()), {ids[key]: volume.terms for key, volume in known.items()}
        return tuple(FreeVolumes(id=one, terms=terms[one], count=counts[one]) for one in sorted(counts))

    def _shelf(self, claim: SeenClaim) -> "_Shelf":
        """Claims that ask for the same but for the size look at one: thousands of sizes would each look at every volume."""
        key = claim.kind
        if key not in self._shelves:
            free = self._free.get(claim.storage_class, ())
            self._shelves[key] = _Shelf([volume for volume in free if _is_of_kind(volume, claim)])
        return self._shelves[key]


class _Shelf:
    """Free volumes of which any suits a claim, if it is large enough; the smallest first, and so are their `ids`."""

    def __init__(self, volumes: list[SeenVolume]) -> None:
        self.volumes = volumes
        self.ids: list[str] = []
        self._sizes = [volume.storage for volume in volumes]
        self._places: dict[int, Terms | None] = {}
        self._choices: dict[int, tuple[str, ...]] = {}

    def places(self, size: Fraction) -> Terms | None:
        first = bisect_left(self._sizes, size)
        if first not in self._places:
            self._places[first] = alternatives(volume.terms for volume in self.volumes[first:])
        return self._places[first]

    def choices(self, size: Fraction) -> tuple[str, ...]:
        first = bisect_left(self._sizes, size)
        if first not in self._choices:
            self._choices[first] = tuple(dict.fromkeys(self.ids[first:]))
        return self._choices[first]


def _id_of(volume: SeenVolume, shelves: Iterable[bytes]) -> str:
    parts = (str(volume.storage).encode(), encode(volume.terms), *sorted(shelves))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


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
