"""One cluster as its API server showed it: nodes, and pods counted by shape.

Two pods are one shape when no rule of the scheduler can tell them apart. Names follow the Kubernetes API;
times are UTC. Source of the fields: k8s.io/api/core/v1/types.go.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from spillway.model.base import Labels, Model, Resources
from spillway.model.reason import Reason
from spillway.model.selector import NodeSelectorTerm, PreferredTerm, Requirement
from spillway.model.volumes import FreeVolumes, VolumeNeed
from spillway.model.workloads import (
    Budget,
    CapacityBuffer,
    Daemon,
    Gang,
    Namespace,
    PriorityList,
    ProvisioningRequest,
)

CLUSTER_SCHEMA_VERSION = 2
"""Raised when a stored field changes its meaning; `aws.table.schemas` reads what the versions before stored."""


class Taint(Model, frozen=True):
    key: str
    effect: str
    value: str = ""


class Toleration(Model, frozen=True):
    """An empty key with Exists tolerates everything; an empty effect covers all effects."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class PodAffinityTerm(Model, frozen=True):
    """`selector` None matches no pod, () matches every pod; `weight` 0 means required."""

    topology_key: str
    selector: tuple[Requirement, ...] | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: tuple[Requirement, ...] | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()
    weight: int = 0


class SpreadConstraint(Model, frozen=True):
    topology_key: str
    max_skew: int
    when_unsatisfiable: str
    selector: tuple[Requirement, ...] | None = None
    min_domains: int = 1
    match_label_keys: tuple[str, ...] = ()
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"


class HostPort(Model, frozen=True):
    port: int
    protocol: str = "TCP"
    ip: str = "0.0.0.0"  # noqa: S104  Kubernetes' own default: all addresses of the host


class PodShape(Model, frozen=True):
    """What the scheduler and the drain can know of a pod, but for its name, age, node and gang.

    `labels` holds only those by which some selector in the cluster, the policy or a drain rule can tell pods apart, with
    ANY_VALUE where it reads only that the key is there; `annotations` only those that a rule reads. `node_affinity` None
    means no required affinity, () one that no node meets. `owner_kind` is the controller's kind, "" for a bare pod;
    `owner_missing`: that controller is not in the cluster any more; `owner_replicas` is how many pods it wants, 10 standing
    for all above, None where it does not say.
    `local_storage` are the volumes that would be lost with the node: hostPath, and emptyDir on disk.
    `resource_claims` are those of dynamic resource allocation, by what they ask for.
    """

    id: str
    namespace: str
    requests: Resources
    labels: Labels = {}
    node_name: str = ""
    node_selector: Labels = {}
    node_affinity: tuple[NodeSelectorTerm, ...] | None = None
    preferred_nodes: tuple[PreferredTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    pod_affinity: tuple[PodAffinityTerm, ...] = ()
    pod_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    volumes: tuple[VolumeNeed, ...] = ()
    resource_claims: tuple[str, ...] = ()
    scheduler_name: str = "default-scheduler"
    priority: int = 0
    preemption_policy: str = "PreemptLowerPriority"
    owner_kind: str = ""
    owner_missing: bool = False
    owner_replicas: int | None = None
    mirror: bool = False
    annotations: Labels = {}
    local_storage: tuple[str, ...] = ()
    grace_s: int = 30

    @property
    def is_daemon(self) -> bool:
        """Comes with every node and asks for none: DaemonSet and mirror pods."""
        return self.mirror or self.owner_kind == "DaemonSet"


class PodState(StrEnum):
    """A pod as the scheduler means it; finished pods are in no snapshot."""

    BOUND = "bound"  # has a node, running or not
    UNSCHEDULABLE = "unschedulable"  # PodScheduled=False, reason Unschedulable
    NOMINATED = "nominated"  # waits for room on `node` that preemption is making
    GATED = "gated"  # scheduling gates left
    UNSEEN = "unseen"  # the scheduler has not judged it yet
    TERMINATING = "terminating"  # bound, being deleted; holds its room until it is gone


class PodSet(Model, frozen=True):
    """Pods of one shape, state, node and gang. `names` and `created` run in parallel, oldest first, then by name.

    So do `started`, when the kubelet took them (bound pods only, () where none has a time), and `deletes`, when those that
    terminate are to be gone. `gang` is the id of their Gang. `unready`: bound, and their Ready condition is not True.
    """

    shape: str
    state: PodState
    names: tuple[str, ...]
    created: tuple[datetime, ...]
    node: str = ""
    gang: str = ""
    unready: bool = False
    started: tuple[datetime | None, ...] = ()
    deletes: tuple[datetime, ...] = ()


class Machine(Model, frozen=True):
    """The EC2 instance behind a node, from its provider id `aws:///<zone>/<instance>`."""

    region: str
    zone: str
    instance_id: str


class Node(Model, frozen=True):
    """`cordon` is the id of the plan that cordoned it, "" when none of ours did; `cordoned_by` is the field manager that
    set `unschedulable` (`kubectl-cordon`, …) or the autoscaler whose taint it carries, "" where neither is told.

    `memory_bytes` is all that its system has. `machine` None: no EC2 instance, used for fit and never touched; but where
    `dns_names` are given, the node does not say what it is, and its instance may be found by one of them. `annotations` holds
    only keys that a rule reads.
    `conditions` maps a condition's type to its status, but for Ready. `attach_limits` are by CSI driver, {} for a node whose
    CSINode is not there yet: `attached` counts volumes by driver that hang on it without a pod of its own.
    """

    name: str
    created: datetime
    allocatable: Resources
    memory_bytes: int = 0
    labels: Labels = {}
    annotations: Labels = {}
    taints: tuple[Taint, ...] = ()
    machine: Machine | None = None
    ready: bool = False
    ready_changed: datetime | None = None
    unschedulable: bool = False
    cordon: str = ""
    cordoned_by: str = ""
    deleting: bool = False
    conditions: Labels = {}
    attach_limits: Mapping[str, int] = {}
    attached: Mapping[str, int] = {}
    dns_names: tuple[str, ...] = ()


class UnreadNode(Model, frozen=True):
    """A node whose object does not read: nothing may go there, and its instance has joined for all that. `machine` and
    `dns_names` as a Node's."""

    name: str
    machine: Machine | None = None
    dns_names: tuple[str, ...] = ()


class ClusterSnapshot(Model, frozen=True):
    """`id` names the head; `taken_at` is the API server's time, which is `clock_ahead_s` ahead of ours, 0 where they nearly
    agree. `set_aside` counts the objects that do not read, of which `warnings` name the first.

    Nodes by name, shapes by id, pods by (shape, node, state, gang, readiness), `free_volumes` by id,
    all else by namespace and name.
    """

    cluster: str
    taken_at: datetime
    clock_ahead_s: int = 0
    nodes: tuple[Node, ...] = ()
    unread_nodes: tuple[UnreadNode, ...] = ()
    shapes: tuple[PodShape, ...] = ()
    pods: tuple[PodSet, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    budgets: tuple[Budget, ...] = ()
    daemons: tuple[Daemon, ...] = ()
    gangs: tuple[Gang, ...] = ()
    buffers: tuple[CapacityBuffer, ...] = ()
    provisioning_requests: tuple[ProvisioningRequest, ...] = ()
    priorities: tuple[PriorityList, ...] = ()
    free_volumes: tuple[FreeVolumes, ...] = ()
    set_aside: int = 0
    id: str = ""
    server_version: str = ""
    warnings: tuple[Reason, ...] = ()
    schema_version: int = CLUSTER_SCHEMA_VERSION
