"""The storage objects of a cluster, as far as the scheduler's volume plugins read them.

Source: k8s.io/api/core/v1 and storage/v1, types.go; k8s.io/component-helpers/storage/volume.
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.disks import EBS_DRIVER, EBS_IN_TREE, ebs_volume_id
from spillway.kube.scheduling import node_terms, requirements
from spillway.model import quantity
from spillway.model.selector import NodeSelectorTerm, Requirement

ZONE_LABELS = (
    "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
)  # fmt: skip
"""Labels of a PersistentVolume that its node must have, too (VolumeZone)."""
_CLASS = "volume.beta.kubernetes.io/storage-class"  # annotation; goes before the field of that name
_BOUND = "pv.kubernetes.io/bind-completed"  # annotation; without it a claim counts as not bound
_SELECTED_NODE = "volume.kubernetes.io/selected-node"  # annotation; where the volume is being made
_NO_PROVISIONER = ("", "kubernetes.io/no-provisioner")


class _Meta(fields.Meta):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[fields.OwnerReference] | None = None


class _Reference(fields.Part):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class _Csi(fields.Part):
    driver: str = ""
    volume_handle: str = ""


class _Required(fields.Part):
    required: Raw = fields.ABSENT


class _VolumeSpec(fields.Part):
    capacity: fields.Amounts | None = None
    access_modes: list[str] | None = None
    volume_mode: str | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    claim_ref: _Reference | None = None
    node_affinity: _Required | None = None
    csi: _Csi | None = None
    aws_elastic_block_store: fields.InlineDisk | None = None


class _Phase(fields.Part):
    phase: str | None = None


class _Volume(fields.Part):
    metadata: _Meta
    spec: _VolumeSpec = msgspec.field(default_factory=_VolumeSpec)
    status: _Phase | None = None


class _Requests(fields.Part):
    requests: fields.Amounts | None = None


class _ClaimSpec(fields.Part):
    access_modes: list[str] | None = None
    selector: fields.LabelSelector | None = None
    resources: _Requests | None = None
    volume_name: str | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class _ClaimMeta(_Meta):
    uid: str = ""


class _Claim(fields.Part):
    metadata: _ClaimMeta
    spec: _ClaimSpec = msgspec.field(default_factory=_ClaimSpec)
    status: _Phase | None = None


class _TopologyLabel(fields.Part):
    key: str
    values: list[str] | None = None


class _Topology(fields.Part):
    match_label_expressions: list[_TopologyLabel] | None = None


class _StorageClass(fields.Part):
    metadata: fields.BareMeta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[_Topology] | None = None


_volume = msgspec.json.Decoder(_Volume)
_claim = msgspec.json.Decoder(_Claim)
_class = msgspec.json.Decoder(_StorageClass)
Terms = tuple[NodeSelectorTerm, ...]


class SeenVolume(NamedTuple):
    """A PersistentVolume. `terms` None: any node. `zones` are those of ZONE_LABELS that it has. `driver` and `handle` tell
    which attachment it is, "" for a volume that is none. `claim` is (namespace, name, uid) of the claim that it is for.
    """

    terms: Terms | None
    zones: tuple[tuple[str, str], ...]
    driver: str
    handle: str
    storage_class: str
    attributes_class: str
    mode: str
    access_modes: tuple[str, ...]
    storage: Fraction
    claim: tuple[str, str, str] | None
    is_available: bool
    is_deleting: bool
    is_csi: bool
    labels: dict[str, str]


class SeenClaim(NamedTuple):
    """A PersistentVolumeClaim. `owner` is the uid of its controller; `selector` None takes any volume."""

    uid: str
    owner: str
    storage_class: str
    attributes_class: str
    volume: str
    is_bound: bool
    is_lost: bool
    is_deleting: bool
    selected_node: str | None
    mode: str
    access_modes: tuple[str, ...]
    storage: Fraction
    selector: tuple[Requirement, ...] | None

    @property
    def kind(self) -> tuple[object, ...]:
        """All but the size by which it chooses a volume that is free."""
        return self.storage_class, self.attributes_class, self.mode, self.access_modes, self.selector


class SeenClass(NamedTuple):
    """A StorageClass. `driver` "": it makes no volumes. `terms` None: anywhere. `waits`: until its first pod has a node."""

    driver: str
    waits: bool
    terms: Terms | None


def read_volume(raw: Raw | bytes) -> tuple[tuple[str, str], SeenVolume]:
    found = _volume.decode(raw)
    spec, labels = found.spec, found.metadata.labels or {}
    required = spec.node_affinity.required if spec.node_affinity else fields.ABSENT
    driver, handle = _attachment(spec)
    claim = spec.claim_ref
    return ("", found.metadata.name), SeenVolume(
        terms=_node_terms(bytes(required)) if required != fields.ABSENT else None,
        zones=tuple((key, labels[key]) for key in ZONE_LABELS if key in labels),
        driver=driver,
        handle=handle,
        storage_class=_class_of(found.metadata, spec.storage_class_name),
        attributes_class=spec.volume_attributes_class_name or "",
        mode=spec.volume_mode or "Filesystem",
        access_modes=tuple(spec.access_modes or ()),
        storage=_storage(spec.capacity),
        claim=(claim.namespace, claim.name, claim.uid) if claim else None,
        is_available=found.status is not None and found.status.phase == "Available",
        is_deleting=found.metadata.deletion_timestamp is not None,
        is_csi=spec.csi is not None,
        labels=labels if claim is None else {},
    )


def read_claim(raw: Raw | bytes) -> tuple[tuple[str, str], SeenClaim]:
    found = _claim.decode(raw)
    meta, spec = found.metadata, found.spec
    notes = meta.annotations or {}
    phase = found.status.phase if found.status else None
    owner = next((one.uid for one in meta.owner_references or () if one.controller), "")
    return meta.key, SeenClaim(
        uid=meta.uid,
        owner=owner,
        storage_class=_class_of(meta, spec.storage_class_name),
        attributes_class=spec.volume_attributes_class_name or "",
        volume=spec.volume_name or "",
        is_bound=bool(spec.volume_name) and (_BOUND in notes or phase == "Bound"),  # whose phase comes after the annotation
        is_lost=phase == "Lost",
        is_deleting=meta.deletion_timestamp is not None,
        selected_node=notes.get(_SELECTED_NODE),
        mode=spec.volume_mode or "Filesystem",
        access_modes=tuple(spec.access_modes or ()),
        storage=_storage(spec.resources.requests if spec.resources else None),
        selector=requirements(spec.selector),
    )


def read_class(raw: Raw | bytes) -> tuple[tuple[str, str], SeenClass]:
    found = _class.decode(raw)
    topologies = [_topology(term) for term in found.allowed_topologies or ()]
    provisioner = EBS_DRIVER if found.provisioner == EBS_IN_TREE else found.provisioner
    return ("", found.metadata.name), SeenClass(
        driver="" if provisioner in _NO_PROVISIONER else provisioner,
        waits=found.volume_binding_mode == "WaitForFirstConsumer",
        terms=tuple(topologies) if topologies else None,
    )


def _class_of(meta: _Meta, named: str | None) -> str:
    return (meta.annotations or {}).get(_CLASS, named or "")


def _attachment(spec: _VolumeSpec) -> tuple[str, str]:
    if spec.csi:
        return (spec.csi.driver, spec.csi.volume_handle) if spec.csi.volume_handle else ("", "")
    if spec.aws_elastic_block_store:
        handle = ebs_volume_id(spec.aws_elastic_block_store.volume_id)
        return (EBS_DRIVER, handle) if handle else ("", "")
    return "", ""


@lru_cache(maxsize=4096)
def _node_terms(raw: bytes) -> Terms:
    """The same few zones are in thousands of volumes."""
    return node_terms(raw)


def _topology(term: _Topology) -> NodeSelectorTerm:
    """A term without expressions matches no node, as everywhere."""
    found = {(one.key, tuple(sorted(set(one.values or ())))) for one in term.match_label_expressions or ()}
    return NodeSelectorTerm(
        expressions=tuple(Requirement(key=key, operator="In", values=values) for key, values in sorted(found))
    )


def _storage(amounts: fields.Amounts | None) -> Fraction:
    try:
        return quantity.parse((amounts or {}).get("storage", 0))
    except quantity.QuantityError as error:
        raise msgspec.ValidationError(f"storage: {error}") from error
