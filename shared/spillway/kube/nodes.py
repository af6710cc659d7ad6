"""Kubernetes nodes to the model's."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Raw

from spillway.kube import fields, markers
from spillway.kube.machines import machine_of
from spillway.model import quantity
from spillway.model.cluster import Node, Taint
from spillway.model.reason import Code, Reason

_NAMED = 5
_node = msgspec.json.Decoder(fields.Node)


def read(raw: Raw | bytes) -> tuple[tuple[str, str], fields.Node]:
    node = _node.decode(raw)
    return ("", node.metadata.name), node


def node_of(raw: fields.Node, taken_at: datetime) -> Node:
    """Raises QuantityError when an allocatable amount is none."""
    spec, status = raw.spec or fields.NodeSpec(), raw.status or fields.NodeStatus()
    labels = raw.metadata.labels or {}
    unschedulable = bool(spec.unschedulable)
    ready = next((c for c in status.conditions or () if c.type == "Ready"), fields.Condition())
    return Node(
        name=raw.metadata.name,
        created=raw.metadata.creation_timestamp or taken_at,
        allocatable=dict(sorted(quantity.resources(status.allocatable or {}).items())),
        labels=dict(sorted(labels.items())),
        annotations=markers.rule_annotations(raw.metadata.annotations or {}),
        taints=tuple(Taint(key=t.key, effect=t.effect, value=t.value or "") for t in spec.taints or ()),
        machine=machine_of(spec.provider_id or "", labels),
        ready=ready.status == "True",
        ready_changed=ready.last_transition_time,
        unschedulable=unschedulable,
        cordon=markers.cordoned_by(labels, unschedulable),
        deleting=raw.metadata.deletion_timestamp is not None,
    )


def is_nameless(raw: fields.Node, node: Node) -> bool:
    """It says nothing of its instance, so it is used for fit and never touched; its owner should know."""
    return node.machine is None and not (raw.spec and raw.spec.provider_id)


def no_provider_id(names: Sequence[str]) -> Reason:
    """One warning for all of them: a rack of physical nodes is not news of its own, node by node."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return Reason(
        code=Code.NO_PROVIDER_ID,
        text=f"no spec.providerID on node {', '.join(names[:_NAMED])}{more}: pods may go there, "
        "but it is never drained or ended; set kubelet's --provider-id=aws:///<zone>/<instance>",
    )
