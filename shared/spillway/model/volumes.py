"""What the volumes of a pod ask of its node, already resolved: no rule needs a PersistentVolume's name."""

from spillway.model.base import Model
from spillway.model.selector import NodeSelectorTerm


class VolumeNeed(Model, frozen=True):
    """One volume of a pod, as the scheduler's volume plugins judge it.

    `terms` are alternatives, and the node meets one of them; None means any node. They come from the bound PersistentVolume,
    or from the StorageClass (allowedTopologies) when it is made once the pod has a node. `driver` is the CSI driver whose
    attach limit it counts against, "" for none. `shared` is the volume's identity, only where several pods use it, who count
    it once a node; `exclusive`: ReadWriteOncePod, so that one pod alone may use it. `disk` is the id of an inline EBS volume
    that several pods name, of whom a node takes one. `first_decides` is the key of a label whose value their nodes must have in
    common, "" for none: a shared volume is made where the first of them goes. `free` are the ids of FreeVolumes of which it
    takes one, the smallest first; `made` where its class makes one instead. `problem` says why no node will do ("its
    PersistentVolumeClaim is Lost"); "" when some may.
    """

    driver: str = ""
    terms: tuple[NodeSelectorTerm, ...] | None = None
    shared: str = ""
    exclusive: bool = False
    disk: str = ""
    first_decides: str = ""
    free: tuple[str, ...] = ()
    made: tuple[NodeSelectorTerm, ...] = ()
    problem: str = ""


class FreeVolumes(Model, frozen=True):
    """PersistentVolumes that wait for a claim and that no claim tells apart. `terms` as a VolumeNeed's."""

    id: str
    terms: tuple[NodeSelectorTerm, ...] | None
    count: int
