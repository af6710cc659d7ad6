"""Volumes that are not bound: free for any claim, or kept for one.

Source: FindMatchingVolume in k8s.io/component-helpers/storage/volume/pv_helpers.go.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

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
        self._places: dict[object, Terms | None] = {}
        for _, volume in sorted(volumes.items(), key=lambda item: (item[1].storage, item[0])):
            if volume.claim is not None:
                self.kept[volume.claim[:2]].append(volume)
            elif volume.is_available:
                self._free[volume.storage_class].append(volume)

    def places(self, claim: SeenClaim) -> Terms | None:
        """Where there is a free one for it; None for anywhere. Equal claims are judged once."""
        key = claim.asked
        if key not in self._places:
            self._places[key] = alternatives(volume.terms for volume in self._suiting(claim))
        return self._places[key]

    def left_without(self, claims: Iterable[tuple[Key, SeenClaim]]) -> frozenset[Key]:
        """Those of `claims` for which none is left, as each one before them binds the smallest that suits it."""
        bound: set[int] = set()
        suiting: dict[object, Iterator[SeenVolume]] = {}
        without = set()
        for key, claim in claims:
            volumes = suiting.setdefault(claim.asked, self._suiting(claim))
            volume = next((one for one in volumes if id(one) not in bound), None)
            if volume is None:
                without.add(key)
            else:
                bound.add(id(volume))
        return frozenset(without)

    def _suiting(self, claim: SeenClaim) -> Iterator[SeenVolume]:
        """The smallest first."""
        for volume in self._free.get(claim.storage_class, ()):
            if (
                suits(volume, claim)
                and (claim.selector is None or all(matches(one, volume.labels) for one in claim.selector))
                and set(claim.access_modes) <= set(volume.access_modes)
            ):
                yield volume


def suits(volume: SeenVolume, claim: SeenClaim) -> bool:
    """Whatever is asked of a volume that is kept for the claim, too."""
    return (
        (volume.claim is None or volume.claim[2] in ("", claim.uid))
        and (volume.storage_class, volume.mode, volume.attributes_class)
        == (claim.storage_class, claim.mode, claim.attributes_class)
        and volume.storage >= claim.storage
        and not volume.is_deleting
    )
