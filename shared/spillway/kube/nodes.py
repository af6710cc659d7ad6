"""Kubernetes nodes to the model's."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields, markers
from spillway.kube.machines import identity_of, is_unclear
from spillway.model import quantity
from spillway.model.cluster import Node, Taint, UnreadNode
from spillway.model.quantity import QuantityError
from spillway.model.reason import Code, Reason


class SeenNode(NamedTuple):
    """A node with the manager of its `spec.unschedulable`, "" where that is not set or nobody tells. `reads` False: only its
    name is known, and what it says of its instance."""

    node: fields.Node
    cordoned_by: str
    reads: bool = True


class _BareSpec(fields.Part):
    provider_id: str | None = msgspec.field(default=None, name="providerID")


class _BareNode(fields.Part):
    spec: _BareSpec | None = None


_node = msgspec.json.Decoder(fields.Node)
_bare = msgspec.json.Decoder(_BareNode)


def read(raw: Raw | bytes) -> tuple[tuple[str, str], SeenNode]:
    node = _node.decode(raw)
    cordoned = node.spec is not None and node.spec.unschedulable
    manager = markers.manager_of_cordon(bytes(node.metadata.managed_fields)) if cordoned else ""
    node.metadata.managed_fields = fields.ABSENT  # or it would keep its whole page
    return ("", node.metadata.name), SeenNode(node, manager)


def seen_bare(name: str, raw: Raw | bytes) -> SeenNode:
    """One that does not read otherwise."""
    try:
        spec = _bare.decode(raw).spec or _BareSpec()
    except fields.UNREADABLE:
        spec = _BareSpec()
    return SeenNode(fields.Node(fields.NodeMeta(name=name), fields.NodeSpec(provider_id=spec.provider_id)), "", reads=False)


def nodes(found: Iterable[SeenNode], taken_at: datetime, warnings: list[Reason], unread: list[UnreadNode]) -> Iterator[Node]:
    """Those that read, without their volumes; the others go to `unread`, and what is wrong with them, and with a provider id,
    to `warnings`."""
    for seen in found:
        name = seen.node.metadata.name
        if not seen.reads:
            unread.append(_unread(seen))
            continue
        try:
            node = _node_of(seen, taken_at)
        except QuantityError as error:
            warnings.append(Reason(code=Code.OBJECT_UNREADABLE, text=f"node {name} is set aside: {error}"))
            unread.append(_unread(seen))
            continue
        provider_id = seen.node.spec.provider_id or "" if seen.node.spec else ""
        if node.machine is None and is_unclear(provider_id):
            text = f"node {name} has the provider id {provider_id}, which names no instance in a zone of AWS: {NOT_TOUCHED}"
            warnings.append(Reason(code=Code.MACHINE_UNCLEAR, text=text))
        yield node


NOT_TOUCHED = "pods may go there, but it is never drained or ended"


def _unread(seen: SeenNode) -> UnreadNode:
    """Its labels, which may name its instance, and its addresses are there when all but an amount reads."""
    meta, spec, status = seen.node.metadata, seen.node.spec or fields.NodeSpec(), seen.node.status or fields.NodeStatus()
    identity = identity_of(meta.name, spec.provider_id or "", meta.labels or {}, status.addresses or ())
    return UnreadNode(name=meta.name, machine=identity.machine, dns_names=identity.dns_names)


def _node_of(seen: SeenNode, taken_at: datetime) -> Node:
    """Raises QuantityError when an allocatable amount is none."""
    raw = seen.node
    spec, status = raw.spec or fields.NodeSpec(), raw.status or fields.NodeStatus()
    labels = raw.metadata.labels or {}
    unschedulable = bool(spec.unschedulable)
    ready = next((c for c in status.conditions or () if c.type == "Ready"), fields.Condition())
    taints = tuple(Taint(key=t.key, effect=t.effect, value=t.value or "") for t in spec.taints or ())
    identity = identity_of(raw.metadata.name, spec.provider_id or "", labels, status.addresses or ())
    return Node(
        name=raw.metadata.name,
        created=raw.metadata.creation_timestamp or taken_at,
        allocatable=dict(sorted(quantity.resources(status.allocatable or {}).items())),
        memory_bytes=quantity.amount("memory", (status.capacity or {}).get("memory", 0)),
        labels=dict(sorted(labels.items())),
        annotations=markers.rule_annotations(raw.metadata.annotations or {}),
        taints=taints,
        machine=identity.machine,
        ready=ready.status == "True",
        ready_changed=ready.last_transition_time,
        unschedulable=unschedulable,
        cordon=markers.cordoned_by(labels, unschedulable),
        cordoned_by=seen.cordoned_by or markers.autoscaler_of(taints),
        deleting=raw.metadata.deletion_timestamp is not None,
        conditions=dict(sorted((c.type, c.status) for c in status.conditions or () if c.type != "Ready")),
        dns_names=identity.dns_names,
    )
