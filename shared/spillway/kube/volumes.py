"""What the volumes of a pod ask of its node, as the scheduler's plugins VolumeBinding, VolumeZone, VolumeRestrictions and
NodeVolumeLimits of Kubernetes 1.37 judge them.

Not judged: how much a driver has left (CSIStorageCapacity), and which node's free volume a pod will bind. Volumes suffice for
all claims that count on one, but two of them may count on the same node's until one is bound.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spillway.kube.disks import EBS_DRIVER, ebs_volume_id
from spillway.kube.fields import NEVER
from spillway.kube.pod_volumes import Use
from spillway.kube.pods import SeenPod
from spillway.kube.storage import SeenClaim, SeenClass, SeenVolume, Terms
from spillway.kube.volume_stock import Key, Stock, suits
from spillway.kube.volume_terms import alternatives, both, of_zones
from spillway.model.base import encode
from spillway.model.cluster import PodState
from spillway.model.selector import NodeSelectorTerm, Requirement
from spillway.model.volumes import VolumeNeed
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
        self._zonal = _zonal(objects.of("CSINode").values())
        self._known: dict[tuple[str, str, bool], Found] = {}
        self._stock = Stock(self._volumes)
        self._without = self._stock.left_without(self._wanting(objects.of("Pod")))
        used: Counter[str] = Counter()
        held = set()
        for (namespace, _), pod in objects.of("Pod").items():
            for need, identity in self._distinct(namespace, pod.volumes, pod.uid) if pod.volumes else ():
                used[identity] += 1
                if need.exclusive and pod.state in _ON_A_NODE:
                    held.add(identity)
        self._shared = frozenset(identity for identity, pods in used.items() if identity and pods > 1)
        self._held = frozenset(held)

    def _wanting(self, pods: Mapping[Key, SeenPod]) -> Iterator[tuple[Key, SeenClaim]]:
        """Claims that want a free volume, in the order in which the scheduler takes their pods."""
        queue = []
        for (namespace, name), pod in pods.items():
            if pod.volumes and pod.state in _WAITS and pod.recipe is not None:
                queue.append((-pod.recipe.priority, pod.created or NEVER, namespace, name, pod.volumes))
        wanting = ((namespace, use.claim) for *_, namespace, _, uses in sorted(queue) for use in uses if use.claim)
        for key in dict.fromkeys(wanting):
            claim = self._claims.get(key)
            if claim is not None and self._wants_free(key, claim):
                yield key, claim

    def _wants_free(self, key: Key, claim: SeenClaim) -> bool:
        of_class = self._classes.get(("", claim.storage_class))
        has_one = claim.is_bound or claim.is_lost or claim.volume or claim.selected_node is not None
        return bool(of_class and of_class.waits and not has_one and not claim.is_deleting and not self._kept_for(key, claim))

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
        # One that one pod alone may use needs an identity, whatever its driver.
        identity = f"{driver}/{handle}" if driver else f"{namespace}/{use.claim}" if exclusive else ""
        is_open = not problem and not claim.volume and claim.selected_node is None
        decides = self._zonal.get(driver, ZONE_KEYS[0]) if is_open and driver else ""
        need = VolumeNeed(driver=driver, terms=terms, exclusive=exclusive, problem=problem, first_decides=decides)
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
            return terms, _TAKEN if (namespace, use.claim) in self._without and self._stock.places(claim) != () else _NONE_FREE
        return terms, ""

    def _of_unbound(self, key: Key, claim: SeenClaim, of_class: SeenClass) -> Terms | None:
        """Where a volume that is free can be had, or one be made."""
        made = of_class.terms if of_class.driver else ()
        if claim.selected_node is not None:
            named = Requirement(key="metadata.name", operator="In", values=(claim.selected_node,))
            return both((NodeSelectorTerm(fields=(named,)),), made)
        free: Terms | None = ()
        if kept := self._kept_for(key, claim):
            free = alternatives(volume.terms for volume in kept)
        elif key not in self._without:
            free = self._stock.places(claim)
        if made == ():
            return free  # in order already; there may be thousands, for thousands of claims
        return None if made is None or free is None else alternatives((made, free))

    def _kept_for(self, key: Key, claim: SeenClaim) -> list[SeenVolume]:
        return [volume for volume in self._stock.kept.get(key, ()) if suits(volume, claim)]


_NOTHING = VolumeNeed()
_ON_A_NODE = (PodState.BOUND, PodState.TERMINATING)
_WAITS = (PodState.UNSCHEDULABLE, PodState.UNSEEN, PodState.NOMINATED)
_HELD = "another pod has it to itself"
_MISSING = "its PersistentVolumeClaim is missing"
_NONE_FREE = "no PersistentVolume is free for its claim, and its class makes none"
_TAKEN = "the PersistentVolumes that are free go to pods before it, and the class of its claim makes none"
_UNMADE = "the claim of its ephemeral volume is not made yet"


def _zonal(nodes: Iterable[Mapping[str, "SeenDriver"]]) -> Mapping[str, str]:
    """By which label each driver that nodes have keeps its volumes to a zone, "" for one that does not. Of one that no node has
    nobody knows, and it is taken for one that does."""
    found: dict[str, set[str]] = defaultdict(set)
    for drivers in nodes:
        for driver, seen in drivers.items():
            found[driver].update(seen.topology)
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
