"""What the volumes of a pod ask of its node, as the scheduler's plugins VolumeBinding, VolumeZone, VolumeRestrictions and
NodeVolumeLimits of Kubernetes 1.37 judge them.

Which free volume a claim gets is the planner's to say, who knows where its pod goes: `planner.free_volumes`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spillway.kube.capacities import Capacities
from spillway.kube.disks import EBS_DRIVER, ebs_volume_id
from spillway.kube.pod_volumes import Use
from spillway.kube.storage import SeenClaim, SeenClass, SeenVolume, Terms
from spillway.kube.volume_stock import Key, Stock, suits
from spillway.kube.volume_terms import alternatives, both, of_zones
from spillway.model.base import encode
from spillway.model.cluster import PodState
from spillway.model.selector import NodeSelectorTerm, Requirement
from spillway.model.volumes import FreeVolumes, VolumeNeed
from spillway.planner.rules.base import ZONE_KEYS

if TYPE_CHECKING:  # which registers the readers of storage objects
    from spillway.kube.attachments import SeenDriver
    from spillway.kube.objects import Objects


class Found(NamedTuple):
    """A need, and the volume's identity whether it is shared or not; "" for one that no limit counts."""

    need: VolumeNeed
    identity: str = ""


class Resolver:
    """Over all that `objects` holds of volumes."""

    def __init__(self, objects: "Objects") -> None:
        self._claims = objects.of("PersistentVolumeClaim")
        self._volumes = objects.of("PersistentVolume")
        self._classes = objects.of("StorageClass")
        self._capacities = Capacities(objects)
        self._zonal = _zonal(objects.of("CSINode").values())
        self._known: dict[tuple[str, str, bool], Found] = {}
        self._stock = Stock(self._volumes, (claim for key, claim in self._claims.items() if self._waits_for_first(claim)))
        used: Counter[str] = Counter()
        held = set()
        for (namespace, _), pod in objects.of("Pod").items():
            for need, identity in self._distinct(namespace, pod.volumes, pod.uid) if pod.volumes else ():
                used[identity] += 1
                if need.exclusive and pod.state in _ON_A_NODE:
                    held.add(identity)
        self._shared = frozenset(identity for identity, pods in used.items() if identity and pods > 1)
        self._held = frozenset(held)

    @property
    def free(self) -> tuple[FreeVolumes, ...]:
        """All that a claim may take."""
        return self._stock.free

    def _waits_for_first(self, claim: SeenClaim) -> bool:
        of_class = self._classes.get(("", claim.storage_class))
        return bool(of_class and of_class.waits and not claim.is_bound and not claim.volume)

    def needs(self, namespace: str, uses: Iterable[Use], pod_uid: str, waits: bool = False) -> tuple[VolumeNeed, ...]:
        """Of a pod in `namespace`; a template's pod has the uid "". `waits`: it is on no node, so what another pod there has to
        itself is a problem."""
        needs = []
        for need, identity in self._distinct(namespace, uses, pod_uid):
            if identity in self._shared:
                problem = _HELD if waits and identity in self._held and not need.problem else need.problem
                need = msgspec.structs.replace(need, shared=identity, problem=problem)
            elif need.disk or need.first_decides:
                need = msgspec.structs.replace(need, disk="", first_decides="")
            if need != _NOTHING:
                needs.append(need)
        return tuple(sorted(needs, key=encode)) if len(needs) > 1 else tuple(needs)

    def attachments(self, namespace: str, uses: Iterable[Use], pod_uid: str) -> Iterable[str]:
        """Identities of the volumes that hang on the pod's node because of it."""
        return (identity for _, identity in self._distinct(namespace, uses, pod_uid) if identity)

    def _distinct(self, namespace: str, uses: Iterable[Use], pod_uid: str) -> list[Found]:
        """A volume that a pod names twice, be it by two claims, hangs on its node once."""
        distinct, attached = [], set()
        for found in dict.fromkeys(self._found(namespace, use, pod_uid) for use in uses):
            again = found.identity != "" and found.identity in attached
            distinct.append(Found(VolumeNeed(terms=found.need.terms, problem=found.need.problem)) if again else found)
            attached.add(found.identity)
        return distinct

    def _found(self, namespace: str, use: Use, pod_uid: str) -> Found:
        if use.disk:
            return _inline(use.disk)
        if use.made_by:
            return self._to_be_made(use)
        if not use.claim:
            return Found(_NOTHING)  # it names none, which the API does not take
        key = (namespace, use.claim, use.ephemeral)
        if key not in self._known:
            self._known[key] = self._of_claim(namespace, use)
        found = self._known[key]
        claim = self._claims.get((namespace, use.claim))
        if use.ephemeral and claim is not None and claim.owner != pod_uid:
            return Found(VolumeNeed(problem="the claim of its ephemeral volume is another pod's"))
        return found

    def _to_be_made(self, use: Use) -> Found:
        """With a pod that is not there yet, each for its own."""
        of_class: SeenClass | None = self._classes.get(("", use.made_by))
        if of_class is None or not of_class.driver:
            return Found(_NOTHING)
        terms = of_class.terms if of_class.waits else None
        return Found(VolumeNeed(driver=of_class.driver, terms=terms), f"{of_class.driver}/{use.claim}")

    def _of_claim(self, namespace: str, use: Use) -> Found:
        """Whatever the problem, a volume of a pod that runs hangs on its node."""
        claim: SeenClaim | None = self._claims.get((namespace, use.claim))
        if claim is None:
            return Found(VolumeNeed(problem=_UNMADE if use.ephemeral else _MISSING))
        volume: SeenVolume | None = self._volumes.get(("", claim.volume)) if claim.volume else None
        of_class: SeenClass | None = self._classes.get(("", claim.storage_class)) if claim.storage_class else None
        if volume:
            driver, handle = volume.driver, volume.handle
        else:
            driver, handle = (of_class.driver, f"{namespace}/{use.claim}") if of_class else ("", "")
        terms, problem = self._where(namespace, use, claim, volume, of_class)
        exclusive = not use.ephemeral and "ReadWriteOncePod" in claim.access_modes
        is_open = not problem and not claim.volume and claim.selected_node is None
        free, made = self._choices((namespace, use.claim), claim, of_class) if is_open and of_class else ((), ())
        if free and not driver:
            driver, handle = self._stock.driver(claim), f"{namespace}/{use.claim}"
        # One that one pod alone may use needs an identity, whatever its driver; and so does one that takes a free volume.
        identity = f"{driver}/{handle}" if driver else f"{namespace}/{use.claim}" if exclusive or free else ""
        decides = self._zonal.get(driver, ZONE_KEYS[0]) if is_open and driver else ""
        need = VolumeNeed(
            driver=driver,
            terms=terms,
            exclusive=exclusive,
            first_decides=decides,
            free=free,
            made=made,
            problem=problem,
        )
        return Found(need, identity)

    def _where(
        self, namespace: str, use: Use, claim: SeenClaim, volume: SeenVolume | None, of_class: SeenClass | None
    ) -> tuple[Terms | None, str]:
        """The terms, or why there is no node that would do."""
        if claim.is_lost:
            return None, "its PersistentVolumeClaim is Lost"
        if claim.is_deleting:
            return None, "its PersistentVolumeClaim is being deleted"
        if claim.is_bound:
            if volume is None:
                return None, "the PersistentVolume of its claim is gone"
            return both(volume.terms, None if use.ephemeral else of_zones(volume.zones)), ""
        if claim.volume or of_class is None or not of_class.waits:
            return None, _unbound(claim, of_class)
        terms = self._of_unbound((namespace, use.claim), claim, of_class)
        if terms == ():
            return terms, _NONE_LEFT if of_class.driver and of_class.terms != () else _NONE_FREE
        return terms, ""

    def _of_unbound(self, key: Key, claim: SeenClaim, of_class: SeenClass) -> Terms | None:
        """Where a volume that is free can be had, or one be made."""
        made = self._made(claim, of_class)
        if claim.selected_node is not None:
            named = Requirement(key="metadata.name", operator="In", values=(claim.selected_node,))
            return both((NodeSelectorTerm(fields=(named,)),), made)
        kept = self._kept_for(key, claim)
        free = alternatives(volume.terms for volume in kept) if kept else self._stock.places(claim)
        if made == ():
            return free  # in order already; there may be thousands, for thousands of claims
        return None if made is None or free is None else alternatives((made, free))

    def _made(self, claim: SeenClaim, of_class: SeenClass) -> Terms | None:
        """Where its class may make one: by its own terms, and where the driver has enough left."""
        if not of_class.driver:
            return ()
        return both(of_class.terms, self._capacities.terms(of_class.driver, claim.storage_class, claim.storage))

    def _choices(self, key: Key, claim: SeenClaim, of_class: SeenClass) -> tuple[tuple[str, ...], Terms]:
        """The free volumes of which it takes one, and where one is made instead; neither where one can be made anywhere."""
        made = self._made(claim, of_class)
        if made is None or self._kept_for(key, claim):
            return (), ()
        free = self._stock.choices(claim)
        return free, made if free else ()

    def _kept_for(self, key: Key, claim: SeenClaim) -> list[SeenVolume]:
        return [volume for volume in self._stock.kept.get(key, ()) if suits(volume, claim)]


_NOTHING = VolumeNeed()
_ON_A_NODE = (PodState.BOUND, PodState.TERMINATING)
_HELD = "another pod has it to itself"
_MISSING = "its PersistentVolumeClaim is missing"
_NONE_FREE = "no PersistentVolume is free for its claim, and its class makes none"
_NONE_LEFT = "its driver has not enough left for it on any node (CSIStorageCapacity)"
_UNMADE = "the claim of its ephemeral volume is not made yet"


def _zonal(nodes: Iterable[Mapping[str, "SeenDriver"]]) -> Mapping[str, str]:
    """By which label each driver that nodes have keeps its volumes to a zone, "" for one that does not. Of one that no node has
    nobody knows, and it is taken for one that does."""
    found: dict[str, set[str]] = defaultdict(set)
    for drivers in nodes:
        for driver, seen in drivers.items():
            found[driver] |= set(seen.topology)
    return {driver: next((key for key in ZONE_KEYS if key in keys), "") for driver, keys in found.items()}


def _inline(disk: str) -> Found:
    """An EBS volume without a claim: a node takes one pod that writes it so (VolumeRestrictions), whatever AWS then says of a
    second attachment."""
    handle = ebs_volume_id(disk)
    if not handle:
        return Found(VolumeNeed(problem="the id of its EBS volume does not read"))
    return Found(VolumeNeed(driver=EBS_DRIVER, disk=disk), f"{EBS_DRIVER}/{handle}")


def _unbound(claim: SeenClaim, of_class: SeenClass | None) -> str:
    if not claim.volume and not claim.storage_class:
        return "its PersistentVolumeClaim is not bound and names no StorageClass"
    if not claim.volume and of_class is None:
        return "its PersistentVolumeClaim is not bound and its StorageClass is missing"
    return "its PersistentVolumeClaim is not bound yet"
