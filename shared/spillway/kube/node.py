"""One node, changed: cordoned and marked, given back, deleted. Every write says which version it saw.

`spec.taints` is one atomic list for the API server, so a patch replaces it whole: without the precondition it
would wipe out what somebody else put there a moment ago.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Raw

from spillway.kube import fields, markers
from spillway.kube.envelope import envelope_of, named_of
from spillway.kube.machines import identity_of
from spillway.kube.nodes import seen_bare
from spillway.kube.pages import read_list
from spillway.kube.resources import NODES
from spillway.kube.session import MERGE_PATCH, Answer, Session
from spillway.model import quantity
from spillway.model.base import Resources
from spillway.model.cluster import Machine
from spillway.model.fleet import NodeGroup
from spillway.planner.machines import matched

_TRIES = 5  # kubelets write their node every few seconds: one conflict is common, five are a fault


class _Meta(fields.NodeMeta):
    uid: str = ""
    resource_version: str = ""


class _Spec(fields.Part):
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    unschedulable: bool | None = None
    taints: list[dict[str, str]] | None = None  # whole, timeAdded and all: they are written back as they were


class _Status(fields.Part):
    allocatable: fields.Amounts | None = None
    conditions: list[fields.Condition] | None = None
    addresses: list[fields.NodeAddress] | None = None
    volumes_attached: list[fields.Part] | None = None
    volumes_in_use: list[str] | None = None


class _Node(fields.Part):
    metadata: _Meta
    spec: _Spec | None = None
    status: _Status | None = None


_node = msgspec.json.Decoder(_Node)


@dataclass(frozen=True)
class LiveNode:
    """A node as it is now, with what a write needs. `volumes`: some are attached to it, or in use there."""

    name: str
    uid: str
    version: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    unschedulable: bool
    ready: bool
    machine: Machine | None
    created: datetime | None = None  # by the API server's clock
    dns_names: tuple[str, ...] = ()  # as of model.cluster.Node
    allocatable: Mapping[str, str | int | float] = field(default_factory=dict)  # as the kubelet wrote it
    annotations: Mapping[str, str] = field(default_factory=dict)
    volumes: bool = False

    def is_instance(self, instance_id: str, planned_at: datetime) -> bool:
        """Whether it is still the one that a plan meant. Where the node does not say, the plan knew it by its DNS name; then it
        is the same for as long as it is older than the plan."""
        if self.machine is not None:
            return self.machine.instance_id == instance_id
        return bool(self.dns_names) and self.created is not None and self.created <= planned_at

    def lacks(self, promised: Resources) -> list[str]:
        """Resources of which it advertises less than these; an amount that does not read is none."""
        return [name for name, amount in promised.items() if _amount(name, self.allocatable.get(name, 0)) < amount]

    @property
    def cordon(self) -> str:
        return markers.cordoned_by(self.labels, self.unschedulable)

    @property
    def is_leaving(self) -> bool:
        """Cordoned and tainted, as a drain leaves it until it is given back."""
        return self.unschedulable and any(taint.get("key") == markers.LEAVING_TAINT for taint in self.taints)


def _amount(name: str, text: str | int | float) -> int:
    with suppress(quantity.QuantityError):
        return quantity.amount(name, text)
    return 0


class Deletion(StrEnum):
    DELETED = "deleted"
    GONE = "gone"
    ANOTHER = "another"  # a new node has taken the name; it is not ours to delete


def get(session: Session, name: str) -> LiveNode | None:
    """None when there is no such node."""
    answer = session.call("GET", _path(name), ("get", "nodes"), also=(404,))
    return None if answer.status == 404 else _live(session, answer.body)


def cordon(session: Session, name: str, plan_id: str, at: datetime) -> LiveNode | None:
    """Cordons, taints and marks in one write, once for each plan. None when the node is gone."""

    def patch(node: LiveNode) -> dict[str, Any] | None:
        if node.cordon == plan_id and node.is_leaving:
            return None
        leaving = {"key": markers.LEAVING_TAINT, "value": str(int(at.timestamp())), "effect": "NoSchedule"}
        load_balancers = {} if markers.NO_LOAD_BALANCER in node.labels else {markers.NO_LOAD_BALANCER: markers.OURS}
        return {
            "metadata": {"labels": {markers.CORDONED: plan_id, **load_balancers}},
            "spec": {"unschedulable": True, "taints": [*_others(node), leaving]},
        }

    return _patch(session, name, patch)


def uncordon(session: Session, name: str, plan_id: str = "") -> bool:
    """Takes off exactly what we put on, the older autoscaler's marker too; False when there was nothing of ours.

    With `plan_id` only what that plan put on. A marker that stayed would make us undo a person's later cordon.
    """

    changed = False

    def patch(node: LiveNode) -> dict[str, Any] | None:
        nonlocal changed
        changed = bool(node.cordon) and plan_id in ("", node.cordon)
        if not changed:
            return None
        ours = [key for key in (markers.CORDONED, markers.SEED_CORDONED) if key in node.labels]
        if node.labels.get(markers.NO_LOAD_BALANCER) == markers.OURS:
            ours.append(markers.NO_LOAD_BALANCER)
        return {
            "metadata": {"labels": dict.fromkeys(ours)},
            "spec": {"unschedulable": None, "taints": _others(node) or None},
        }

    return _patch(session, name, patch) is not None and changed


def delete(session: Session, name: str, uid: str) -> Deletion:
    """Deletes the very node that was seen, not a namesake that joined since."""
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
    answer = session.call("DELETE", _path(name), ("delete", "nodes"), body=body, also=(404, 409))
    return {404: Deletion.GONE, 409: Deletion.ANOTHER}.get(answer.status, Deletion.DELETED)


def by_instance(
    session: Session, instance_ids: Collection[str], groups: Callable[[], Iterable[NodeGroup]]
) -> dict[str, LiveNode]:
    """The nodes of these EC2 instances, by instance id; those that have not joined are left out.

    `groups` gives those of the fleet, and is asked only where some node does not say which instance it is. A node that does not
    read is there for all that, as far as it names its instance, and not Ready.
    """
    wanted = frozenset(instance_ids)
    found: list[LiveNode] = []

    def take(answer: Answer, more: Callable[[fields.Listed], object]) -> None:
        page = envelope_of(answer.body)
        more(page)
        found.extend(node for node in map(_seen, page.items or ()) if node is not None)

    if not wanted:
        return {}
    read_list(session, NODES, take, found.clear)
    machines = matched(found, groups() if any(node.dns_names for node in found) else ()).machines
    nodes = {machines[node.name].instance_id: node for node in found if node.name in machines}
    return {instance: node for instance, node in nodes.items() if instance in wanted}


def _patch(session: Session, name: str, change: Callable[[LiveNode], dict[str, Any] | None]) -> LiveNode | None:
    """Reads, changes and writes, again when somebody else wrote in between. `change` gives None for nothing to do."""
    for _ in range(_TRIES):
        node = get(session, name)
        body = change(node) if node else None
        if node is None or body is None:
            return node
        body["metadata"]["resourceVersion"] = node.version
        answer = session.call("PATCH", _path(name), ("patch", "nodes"), None, body, MERGE_PATCH, also=(404, 409))
        if answer.status == 404:
            return None
        if answer.status != 409:
            return _live(session, answer.body)
    raise session.unavailable(f"patch nodes: node {name} was written by others {_TRIES} times in a row (409)")


def _others(node: LiveNode) -> list[Mapping[str, str]]:
    return [taint for taint in node.taints if taint.get("key") != markers.LEAVING_TAINT]


def _path(name: str) -> str:
    return f"/api/v1/nodes/{name}"


def _live(session: Session, body: bytes) -> LiveNode:
    try:
        return _of(_node.decode(body))
    except fields.UNREADABLE as error:
        raise session.unavailable(f"a node does not read: {error}") from error


def _seen(raw: Raw) -> LiveNode | None:
    """One of many; None where not even its name reads."""
    with suppress(*fields.UNREADABLE):
        return _of(_node.decode(raw))
    with suppress(*fields.UNREADABLE):
        part, meta = named_of("Node", raw)
        bare = seen_bare(meta.name, part).node
        return _of(_Node(_Meta(name=meta.name), _Spec(bare.spec.provider_id if bare.spec else None)))
    return None


def _of(raw: _Node) -> LiveNode:
    spec, labels = raw.spec or _Spec(), raw.metadata.labels or {}
    status = raw.status or _Status()
    identity = identity_of(raw.metadata.name, spec.provider_id or "", labels, status.addresses or ())
    return LiveNode(
        name=raw.metadata.name,
        uid=raw.metadata.uid,
        version=raw.metadata.resource_version,
        labels=labels,
        taints=tuple(spec.taints or ()),
        unschedulable=bool(spec.unschedulable),
        allocatable=status.allocatable or {},
        ready=any(c.type == "Ready" and c.status == "True" for c in status.conditions or ()),
        machine=identity.machine,
        created=raw.metadata.creation_timestamp,
        dns_names=identity.dns_names,
        annotations=raw.metadata.annotations or {},
        volumes=bool(status.volumes_attached or status.volumes_in_use),
    )
