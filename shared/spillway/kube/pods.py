"""Kubernetes pods to shapes: what thousands of pods share is read once.

A `Recipe` is all of a pod that its shape depends on, mostly as raw bytes: two pods with equal recipes have
equal shapes, so the costly reading happens once per recipe and not once per pod.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields, scheduling
from spillway.kube.requests import ContainerRequest, Resize, pod_requests
from spillway.model.base import encode
from spillway.model.cluster import HostPort, PodShape, PodState
from spillway.model.selector import NodeSelectorTerm

_strings = msgspec.json.Decoder(dict[str, str] | None)
_FINISHED = ("Succeeded", "Failed")
_pod = msgspec.json.Decoder(fields.Pod)


class Recipe(NamedTuple):
    namespace: str
    owner_kind: str
    mirror: bool
    scheduler_name: str
    priority: int
    labels: bytes
    node_selector: bytes
    affinity: bytes
    tolerations: bytes
    spread: bytes
    overhead: bytes
    pod_level: bytes
    containers: tuple[ContainerRequest, ...]
    init: tuple[ContainerRequest, ...]
    host_ports: tuple[tuple[int, str, str], ...]
    claims: tuple[str, ...]
    resource_claims: tuple[str, ...]
    resize: Resize | None = None


class SeenPod(NamedTuple):
    recipe: Recipe | None  # None: only its place is known
    state: PodState
    node: str
    created: datetime | None


class SeenPods:
    """Reads pods, and keeps each recipe once."""

    def __init__(self) -> None:
        self._recipes: dict[Recipe, Recipe] = {}

    def read(self, raw: Raw | bytes) -> tuple[tuple[str, str], SeenPod | None]:
        """None for one that is finished."""
        pod = _pod.decode(raw)
        key = (pod.metadata.namespace or "default", pod.metadata.name)
        if is_finished(pod):
            return key, None
        recipe = resized(pod, recipe_of(pod))
        state, node = state_of(pod)
        return key, SeenPod(self._recipes.setdefault(recipe, recipe), state, node, pod.metadata.creation_timestamp)


def seen_bare(pod: fields.BarePod) -> SeenPod:
    """One of which only the place reads."""
    return SeenPod(None, PodState.BOUND, pod.spec.node_name or "" if pod.spec else "", None)


def is_finished(pod: fields.Pod) -> bool:
    """Also one that is deleted before it got a node: it holds nothing and wants nothing."""
    phase = pod.status.phase if pod.status else None
    return phase in _FINISHED or (pod.metadata.deletion_timestamp is not None and not pod.spec.node_name)


def holds_a_node(pod: fields.BarePod) -> bool:
    return bool(pod.spec and pod.spec.node_name) and (pod.status is None or pod.status.phase not in _FINISHED)


def state_of(pod: fields.Pod) -> tuple[PodState, str]:
    """The state and the node it speaks of, as the scheduler means it (pkg/scheduler/schedule_one.go)."""
    status = pod.status or fields.PodStatus()
    if pod.spec.node_name:
        leaving = pod.metadata.deletion_timestamp is not None
        return (PodState.TERMINATING if leaving else PodState.BOUND), pod.spec.node_name
    if pod.spec.scheduling_gates:
        return PodState.GATED, ""
    if status.nominated_node_name:
        return PodState.NOMINATED, status.nominated_node_name
    judged = any(
        c.type == "PodScheduled" and c.status == "False" and c.reason == "Unschedulable" for c in status.conditions or ()
    )
    return (PodState.UNSCHEDULABLE if judged else PodState.UNSEEN), ""


def recipe_of(pod: fields.Pod) -> Recipe:
    spec, meta = pod.spec, pod.metadata
    notes = meta.annotations or fields.PodAnnotations()
    owner = next((o.kind for o in meta.owner_references or () if o.controller), "")
    owner = "DaemonSet" if notes.daemon == "true" else owner
    affinity = bytes(spec.affinity)
    if owner == "DaemonSet" and spec.node_name:
        # Each daemon is pinned to its node by name; bound, that tells it apart from its brothers for nothing.
        affinity = affinity.replace(f'"{spec.node_name}"'.encode(), b'""')
    init = spec.init_containers or ()
    return Recipe(
        namespace=meta.namespace or "default",
        owner_kind=owner,
        mirror=notes.mirror is not None,
        scheduler_name=spec.scheduler_name or "default-scheduler",
        priority=spec.priority or 0,
        labels=bytes(meta.labels),
        node_selector=bytes(spec.node_selector),
        affinity=affinity,
        tolerations=bytes(spec.tolerations),
        spread=bytes(spec.topology_spread_constraints),
        overhead=bytes(spec.overhead),
        pod_level=bytes(spec.resources),
        containers=tuple(ContainerRequest("", bytes(c.resources)) for c in spec.containers),
        init=tuple(ContainerRequest("", bytes(c.resources), c.restart_policy == "Always") for c in init),
        host_ports=_host_ports(spec),
        claims=_claims(pod) if spec.volumes else (),
        resource_claims=_resource_claims(spec) if spec.resource_claims else (),
    )


def resized(pod: fields.Pod, recipe: Recipe) -> Recipe:
    """The recipe of a pod whose resize in place is under way; others have theirs as it is."""
    status = pod.status or fields.PodStatus()
    resizing = [c for c in status.conditions or () if c.type in ("PodResizePending", "PodResizeInProgress")]
    if not resizing:
        return recipe
    statuses = tuple(bytes(raw) for raw in (status.container_statuses, status.init_container_statuses) if raw != fields.ABSENT)
    return recipe._replace(
        containers=tuple(
            msgspec.structs.replace(r, name=c.name) for r, c in zip(recipe.containers, pod.spec.containers, strict=True)
        ),
        init=tuple(
            msgspec.structs.replace(r, name=c.name) for r, c in zip(recipe.init, pod.spec.init_containers or (), strict=True)
        ),
        resize=Resize(statuses, any(c.reason == "Infeasible" for c in resizing)),
    )


def shape_of(recipe: Recipe) -> PodShape:
    """The shape with all its labels and without an id. Raises QuantityError and msgspec.ValidationError."""
    rules = scheduling.affinity(Raw(recipe.affinity), recipe.namespace)
    nodes = rules.nodes
    if nodes and recipe.owner_kind == "DaemonSet":
        nodes = tuple(_unpinned(term) for term in nodes)
    return PodShape(
        id="",
        namespace=recipe.namespace,
        requests=pod_requests(recipe.containers, recipe.init, recipe.overhead, recipe.pod_level, recipe.resize),
        labels=_map(recipe.labels),
        node_selector=_map(recipe.node_selector),
        node_affinity=nodes,
        preferred_nodes=rules.preferred_nodes,
        tolerations=scheduling.tolerations(Raw(recipe.tolerations)),
        pod_affinity=rules.pods,
        pod_anti_affinity=rules.anti,
        spread=scheduling.spread(Raw(recipe.spread)),
        host_ports=tuple(HostPort(port=port, protocol=protocol, ip=ip) for port, protocol, ip in recipe.host_ports),
        resource_claims=recipe.resource_claims,
        scheduler_name=recipe.scheduler_name,
        priority=recipe.priority,
        owner_kind=recipe.owner_kind,
        mirror=recipe.mirror,
    )


def identified(shape: PodShape, label_keys: frozenset[str]) -> PodShape:
    """The shape as a snapshot holds it: labels that a selector reads, and an id that is a hash of its content."""
    labels = {key: value for key, value in shape.labels.items() if key in label_keys}
    known = msgspec.structs.replace(shape, labels=labels)
    return msgspec.structs.replace(known, id=hashlib.sha256(encode(known)).hexdigest()[:12])


def keys_read(shape: PodShape) -> Iterator[str]:
    """The label keys of other pods that the rules of this shape read."""
    for term in (*shape.pod_affinity, *shape.pod_anti_affinity):
        yield from (r.key for r in term.selector or ())
        yield from term.match_label_keys
        yield from term.mismatch_label_keys
    for constraint in shape.spread:
        yield from (r.key for r in constraint.selector or ())
        yield from constraint.match_label_keys


def _map(raw: bytes) -> dict[str, str]:
    return dict(sorted((_strings.decode(raw) or {}).items())) if raw else {}


def _unpinned(term: NodeSelectorTerm) -> NodeSelectorTerm:
    kept = tuple(r for r in term.fields if r.values != ("",))
    return msgspec.structs.replace(term, fields=kept)


def _host_ports(spec: fields.PodSpec) -> tuple[tuple[int, str, str], ...]:
    sidecars = [c for c in spec.init_containers or () if c.restart_policy == "Always"]
    ports = [port for c in (*spec.containers, *sidecars) if c.ports for port in c.ports if port.host_port]
    return tuple(sorted({(port.host_port or 0, port.protocol or "TCP", port.host_ip or "0.0.0.0") for port in ports}))  # noqa: S104


def _claims(pod: fields.Pod) -> tuple[str, ...]:
    found = []
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim:
            found.append(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            found.append(f"{pod.metadata.name}-{volume.name}")  # the API's own name for it
    return tuple(sorted(found))


def _resource_claims(spec: fields.PodSpec) -> tuple[str, ...]:
    claims = spec.resource_claims or ()
    return tuple(sorted(c.resource_claim_name or c.resource_claim_template_name or "" for c in claims))
