"""What thousands of pods share, read once: the spec of a pod or of a template to a PodShape.

A `Recipe` is all of a pod that its shape depends on but for its labels, its volumes and its owner's state, mostly as raw
bytes: two pods with equal recipes have equal shapes, so the costly reading happens once per recipe and not once per pod.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields, scheduling
from spillway.kube.pod_volumes import Use, local_storage, uses
from spillway.kube.requests import ContainerRequest, WholePod, pod_requests
from spillway.model.cluster import HostPort, PodShape
from spillway.model.selector import NodeSelectorTerm

_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_ANY_ADDRESS = "0.0.0.0"  # noqa: S104  the API's own default
NO_NOTES = fields.PodAnnotations()
_strings = msgspec.json.Decoder(dict[str, str] | None)
_template = msgspec.json.Decoder(fields.PodTemplateSpec)


class Recipe(NamedTuple):
    """`pinned`: a daemon's pod, which its controller ties to its node by name. `node_name` is that of a daemon's template: a
    pod's is its place, which its shape leaves out."""

    namespace: str
    owner_kind: str
    pinned: bool
    mirror: bool
    scheduler_name: str
    priority: int
    preemption_policy: str
    grace_s: int
    annotations: tuple[tuple[str, str], ...]
    node_selector: bytes
    affinity: bytes
    tolerations: bytes
    spread: bytes
    overhead: bytes
    whole: WholePod
    containers: tuple[ContainerRequest, ...]
    init: tuple[ContainerRequest, ...]
    host_ports: tuple[tuple[int, str, str], ...]
    local_storage: tuple[str, ...]
    resource_claims: tuple[str, ...]
    node_name: str = ""


class Template(NamedTuple):
    """Of what a controller makes pods: what `Shapes.of` makes a shape of. `labels` are raw JSON."""

    recipe: Recipe
    labels: bytes
    volumes: tuple[Use, ...]


def shape_of_template(namespace: str, raw: Raw | bytes, owner_kind: str) -> Template:
    """A PodTemplateSpec as `shape_of` takes it. Raises one of `fields.UNREADABLE`."""
    template = _template.decode(raw)
    meta = template.metadata or fields.TemplateMeta()
    notes = meta.annotations or NO_NOTES
    # Which class the cluster's default makes, no template says.
    volumes = tuple(use for use in uses(template.spec.volumes or [], "") if use.made_by or not use.ephemeral)
    return Template(recipe_of(namespace, template.spec, notes, owner_kind), bytes(meta.labels), volumes)


def recipe_of(
    namespace: str,
    spec: fields.PodSpec,
    notes: fields.PodAnnotations,
    owner_kind: str,
    status: fields.PodStatus | None = None,
    pinned: bool = False,
) -> Recipe:
    """`status` is that of a live pod."""
    affinity = bytes(spec.affinity)
    if pinned and spec.node_name:  # the same bytes for all pods of a DaemonSet
        affinity = affinity.replace(f'"{spec.node_name}"'.encode(), b'""')
    live = _live(status) if status and (status.container_statuses or status.init_container_statuses) else {}
    init = spec.init_containers
    return Recipe(
        namespace=namespace,
        owner_kind="DaemonSet" if notes.daemon == "true" else owner_kind,
        pinned=pinned,
        mirror=notes.mirror is not None or notes.source not in (None, "api"),
        scheduler_name=spec.scheduler_name or "default-scheduler",
        priority=_PRIORITIES.get(spec.priority_class_name or "", 0) if spec.priority is None else spec.priority,
        preemption_policy=spec.preemption_policy or "PreemptLowerPriority",
        grace_s=_grace_s(spec.termination_grace_period_seconds),
        annotations=_annotations(notes) if notes is not NO_NOTES else (),
        node_selector=bytes(spec.node_selector),
        affinity=affinity,
        tolerations=bytes(spec.tolerations),
        spread=bytes(spec.topology_spread_constraints),
        overhead=bytes(spec.overhead),
        whole=_whole(spec, status),
        containers=tuple([_container(c, live) for c in spec.containers]),
        init=tuple([_container(c, live, c.restart_policy == "Always") for c in init]) if init else (),
        host_ports=_host_ports(spec),
        local_storage=local_storage(spec.volumes, notes.safe_volumes) if spec.volumes else (),
        resource_claims=_resource_claims(spec) if spec.resource_claims else (),
    )


def shape_of(recipe: Recipe) -> PodShape:
    """The shape without an id, labels, volumes and its owner's state. Raises QuantityError and msgspec.ValidationError."""
    rules = scheduling.affinity(Raw(recipe.affinity), recipe.namespace)
    return PodShape(
        id="",
        namespace=recipe.namespace,
        requests=pod_requests(recipe.containers, recipe.init, recipe.overhead, recipe.whole),
        node_selector=strings(recipe.node_selector),
        node_affinity=_unpinned(rules.nodes) if recipe.pinned and rules.nodes else rules.nodes,
        preferred_nodes=rules.preferred_nodes,
        tolerations=scheduling.tolerations(Raw(recipe.tolerations)),
        pod_affinity=rules.pods,
        pod_anti_affinity=rules.anti,
        spread=scheduling.spread(Raw(recipe.spread)),
        host_ports=tuple(HostPort(port=port, protocol=protocol, ip=ip) for port, protocol, ip in recipe.host_ports),
        resource_claims=recipe.resource_claims,
        scheduler_name=recipe.scheduler_name,
        node_name=recipe.node_name,
        priority=recipe.priority,
        preemption_policy=recipe.preemption_policy,
        owner_kind=recipe.owner_kind,
        mirror=recipe.mirror,
        annotations=dict(recipe.annotations),
        local_storage=recipe.local_storage,
        grace_s=recipe.grace_s,
    )


def strings(raw: bytes) -> dict[str, str]:
    """A map of labels or the like, sorted. Raises msgspec.ValidationError."""
    return dict(sorted((_strings.decode(raw) or {}).items())) if raw else {}


def _annotations(notes: fields.PodAnnotations) -> tuple[tuple[str, str], ...]:
    found = (
        ("cluster-autoscaler.kubernetes.io/enable-ds-eviction", notes.daemon_eviction),
        ("cluster-autoscaler.kubernetes.io/pod-scale-up-delay", notes.scale_up_delay),
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", notes.safe_to_evict),
        ("karpenter.sh/do-not-disrupt", notes.do_not_disrupt),
    )
    return tuple([(key, value[: fields.LONGEST_NOTE]) for key, value in found if value is not None])


def _grace_s(seconds: int | None) -> int:
    """The API server takes a number below 0 for 1 (SetDefaults_Pod), and 30 where nothing is said."""
    return 30 if seconds is None else seconds if seconds >= 0 else 1


def _live(status: fields.PodStatus) -> Mapping[str, fields.ContainerStatus]:
    """What the kubelet says of each container's resources, by name."""
    both = (*(status.init_container_statuses or ()), *(status.container_statuses or ()))
    return {one.name: one for one in both if one.resources != fields.ABSENT or one.allocated_resources != fields.ABSENT}


def _container(
    container: fields.Container, live: Mapping[str, fields.ContainerStatus], sidecar: bool = False
) -> ContainerRequest:
    status = live.get(container.name)
    if status is None:
        return ContainerRequest(bytes(container.resources), sidecar)
    return ContainerRequest(bytes(container.resources), sidecar, bytes(status.resources), bytes(status.allocated_resources))


def _whole(spec: fields.PodSpec, status: fields.PodStatus | None) -> WholePod:
    if status is None:
        return WholePod(bytes(spec.resources)) if spec.resources != fields.ABSENT else _NOTHING
    pending = next((c for c in status.conditions or () if c.type == "PodResizePending"), None)
    infeasible = pending is not None and pending.reason == "Infeasible"
    found = WholePod(bytes(spec.resources), bytes(status.resources), bytes(status.allocated_resources), infeasible)
    return _NOTHING if found == _NOTHING else found


_NOTHING = WholePod()


def _unpinned(terms: Sequence[NodeSelectorTerm]) -> tuple[NodeSelectorTerm, ...] | None:
    """Without the node's name; None where nothing else is asked."""
    kept = [
        msgspec.structs.replace(term, fields=tuple(r for r in term.fields if (r.key, r.operator) != ("metadata.name", "In")))
        for term in terms
    ]
    return None if any(not (term.expressions or term.fields) for term in kept) else tuple(kept)


def _host_ports(spec: fields.PodSpec) -> tuple[tuple[int, str, str], ...]:
    """On the host's network every port is the host's, whether a template says so or not (defaultHostNetworkPorts)."""
    containers = spec.containers
    if spec.init_containers:
        containers = [*containers, *(c for c in spec.init_containers if c.restart_policy == "Always")]
    found = {
        (number, port.protocol or "TCP", port.host_ip or _ANY_ADDRESS)
        for container in containers
        for port in container.ports or ()
        if (number := port.host_port or (port.container_port if spec.host_network else None))
    }
    return tuple(sorted(found)) if found else ()


def _resource_claims(spec: fields.PodSpec) -> tuple[str, ...]:
    claims = spec.resource_claims or ()
    return tuple(sorted(c.resource_claim_name or c.resource_claim_template_name or c.name for c in claims))
