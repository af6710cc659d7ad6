"""One cluster as its API server showed it: nodes, and pods counted by shape.

Two pods are one shape when no rule of the scheduler can tell them apart. Names follow the Kubernetes API;
times are UTC. Source of the fields: k8s.io/api/core/v1/types.go.
"""

from datetime import datetime
from enum import StrEnum

from spillway.model.base import SCHEMA_VERSION, Labels, Model, Resources
from spillway.model.reason import Reason


class Requirement(Model, frozen=True):
    """One selector expression; `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Model, frozen=True):
    """All expressions and fields hold together; a term without either matches no node."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class PreferredTerm(Model, frozen=True):
    weight: int
    term: NodeSelectorTerm


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
    """What the scheduler and the drain can know of a pod, but for its name, age and node.

    `labels` holds only keys that some selector in the cluster reads. `node_affinity` None means no required
    affinity, () one that no node meets. `owner_kind` is the controller's kind, "" for a bare pod.
    `claims` are PersistentVolumeClaims, `resource_claims` those of dynamic resource allocation.
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
    claims: tuple[str, ...] = ()
    resource_claims: tuple[str, ...] = ()
    scheduler_name: str = "default-scheduler"
    priority: int = 0
    owner_kind: str = ""
    mirror: bool = False

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
    """Pods of one shape, state and node. `names` and `created` run in parallel, oldest first, then by name."""

    shape: str
    state: PodState
    names: tuple[str, ...]
    created: tuple[datetime, ...]
    node: str = ""


class Machine(Model, frozen=True):
    """The EC2 instance behind a node, from its provider id `aws:///<zone>/<instance>`."""

    region: str
    zone: str
    instance_id: str


class Node(Model, frozen=True):
    """`cordon` is the id of the plan that cordoned it, "" when none of ours did.

    `machine` None: no EC2 instance, used for fit and never touched. `annotations` holds only keys that a rule reads.
    """

    name: str
    created: datetime
    allocatable: Resources
    labels: Labels = {}
    annotations: Labels = {}
    taints: tuple[Taint, ...] = ()
    machine: Machine | None = None
    ready: bool = False
    ready_changed: datetime | None = None
    unschedulable: bool = False
    cordon: str = ""
    deleting: bool = False


class ClusterSnapshot(Model, frozen=True):
    """`id` names the head; `taken_at` is the API server's time. Nodes by name, shapes by id, pods by (shape, node, state)."""

    cluster: str
    taken_at: datetime
    nodes: tuple[Node, ...] = ()
    shapes: tuple[PodShape, ...] = ()
    pods: tuple[PodSet, ...] = ()
    id: str = ""
    server_version: str = ""
    warnings: tuple[Reason, ...] = ()
    schema_version: int = SCHEMA_VERSION
