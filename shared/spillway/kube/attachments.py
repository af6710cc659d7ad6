"""How many volumes a node may attach by CSI driver, and which hang on it though no pod there uses them.

Source: plugins/nodevolumelimits/csi.go of kube-scheduler 1.37; k8s.io/api/storage/v1/types.go.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.volumes import Resolver

if TYPE_CHECKING:  # which registers the readers of this module
    from spillway.kube.objects import Objects


class _Count(fields.Part):
    count: int | None = None


class _Driver(fields.Part):
    name: str
    allocatable: _Count | None = None
    topology_keys: list[str] | None = None


class _CsiNodeSpec(fields.Part):
    drivers: list[_Driver] | None = None


class _CsiNode(fields.Part):
    metadata: fields.BareMeta
    spec: _CsiNodeSpec | None = None


class _CsiDriverSpec(fields.Part):
    prevent_pod_scheduling_if_missing: bool | None = None
    storage_capacity: bool | None = None


class _CsiDriver(fields.Part):
    metadata: fields.BareMeta
    spec: _CsiDriverSpec | None = None


class _Source(fields.Part):
    persistent_volume_name: str | None = None


class _AttachmentSpec(fields.Part):
    attacher: str = ""
    node_name: str = ""
    source: _Source | None = None


class _Attachment(fields.Part):
    metadata: fields.BareMeta
    spec: _AttachmentSpec | None = None


class SeenDriver(NamedTuple):
    """On one node. `limit` None: without one; `topology` are the keys of labels that say where its volumes can be had."""

    limit: int | None
    topology: tuple[str, ...]


class SeenCsiDriver(NamedTuple):
    """`keeps_off`: no pod that uses it goes to a node that lacks it. `tells_capacity`: how much it can make, and where."""

    keeps_off: bool
    tells_capacity: bool


class SeenAttachment(NamedTuple):
    node: str
    driver: str
    volume: str


_csi_node = msgspec.json.Decoder(_CsiNode)
_csi_driver = msgspec.json.Decoder(_CsiDriver)
_attachment = msgspec.json.Decoder(_Attachment)


def read_csi_node(raw: Raw | bytes) -> tuple[tuple[str, str], Mapping[str, SeenDriver]]:
    """The drivers that are installed."""
    found = _csi_node.decode(raw)
    drivers = found.spec.drivers or () if found.spec else ()
    return ("", found.metadata.name), {
        one.name: SeenDriver(one.allocatable.count if one.allocatable else None, tuple(one.topology_keys or ()))
        for one in drivers
    }


def read_csi_driver(raw: Raw | bytes) -> tuple[tuple[str, str], SeenCsiDriver]:
    found = _csi_driver.decode(raw)
    spec = found.spec or _CsiDriverSpec()
    seen = SeenCsiDriver(bool(spec.prevent_pod_scheduling_if_missing), bool(spec.storage_capacity))
    return ("", found.metadata.name), seen


def read_attachment(raw: Raw | bytes) -> tuple[tuple[str, str], SeenAttachment | None]:
    found = _attachment.decode(raw)
    spec = found.spec or _AttachmentSpec()
    volume = spec.source.persistent_volume_name if spec.source else None
    key = ("", found.metadata.name)
    return key, SeenAttachment(spec.node_name, spec.attacher, volume) if volume and spec.attacher else None


class Attachments:
    """Of all nodes of `objects`."""

    def __init__(self, objects: "Objects", resolver: Resolver) -> None:
        self._installed = objects.of("CSINode")
        self._wanted = sorted(name for (_, name), one in objects.of("CSIDriver").items() if one.keeps_off)
        self._hanging = _hanging(objects, resolver)

    def limits(self, node: str) -> dict[str, int]:
        """By driver. A driver that keeps pods off nodes that lack it attaches none there."""
        installed: Mapping[str, SeenDriver] = self._installed.get(("", node), {})
        found = {driver: 0 for driver in self._wanted if driver not in installed}
        found.update((driver, one.limit) for driver, one in installed.items() if one.limit is not None)
        return dict(sorted(found.items()))

    def attached(self, node: str) -> dict[str, int]:
        """By driver, the volumes that hang on the node without a pod of its own."""
        return dict(sorted(self._hanging.get(node, {}).items()))


def _hanging(objects: "Objects", resolver: Resolver) -> Mapping[str, Mapping[str, int]]:
    """As the scheduler counts: a volume of the in-tree kind is none that a VolumeAttachment speaks of."""
    volumes = objects.of("PersistentVolume")
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for one in objects.of("VolumeAttachment").values():
        volume = volumes.get(("", one.volume))
        if volume is not None and volume.is_csi:
            found[one.node][f"{one.driver}/{volume.handle}"] = one.driver
    if found:
        for (namespace, _), pod in objects.of("Pod").items():
            if pod.volumes and pod.node in found:
                for identity in resolver.attachments(namespace, pod.volumes, pod.uid):
                    found[pod.node].pop(identity, None)
    return {node: Counter(drivers.values()) for node, drivers in found.items()}
