"""What a cluster holds beside nodes and pods, as far as a plan or a drain reads it."""

from enum import StrEnum

from spillway.model.base import Labels, Model, Resources


class Namespace(Model, frozen=True):
    """`labels` holds only keys that a namespaceSelector in the cluster reads."""

    name: str
    labels: Labels = {}


class Budget(Model, frozen=True):
    """A PodDisruptionBudget; `shapes` are the ids of those whose pods it selects, as far as ten budgets before it do not.

    `allowed` is its status.disruptionsAllowed. `processed` False: its controller has not seen its newest version, and the
    API server refuses every eviction. `evicts_unready`: pods that are not Ready may always go (AlwaysAllow).
    """

    namespace: str
    name: str
    allowed: int
    shapes: tuple[str, ...] = ()
    healthy: int = 0
    desired: int = 0
    expected: int = 0
    processed: bool = True
    evicts_unready: bool = False


class Daemon(Model, frozen=True):
    """A DaemonSet; `shape` is that of its pods. `planner.daemons` says on which nodes they land."""

    namespace: str
    name: str
    shape: str


class GangSource(StrEnum):
    COSCHEDULING = "coscheduling"  # scheduling.x-k8s.io PodGroup, or the pods' own labels
    VOLCANO = "volcano"
    KUEUE = "kueue"
    JOBSET = "jobset"
    WORKLOAD = "workload"  # scheduling.k8s.io Workload, Kubernetes' own
    PROVISIONING = "provisioning"  # the pods consume a ProvisioningRequest


class Gang(Model, frozen=True):
    """Pods that must start together: at least `min_pods` of them, else none. `id` is `<source>/<namespace>/<name>`.

    `resources` are the least that it asks for in all, where its source says so. `problem`: why it is not known at present how
    many they are; until then none of them is demand.
    """

    id: str
    source: GangSource
    namespace: str
    name: str
    min_pods: int
    resources: Resources = {}
    problem: str = ""


class CapacityBuffer(Model, frozen=True):
    """autoscaling.x-k8s.io CapacityBuffer: room for `pods` of a shape is to be kept free. `problem`: why it cannot be read."""

    namespace: str
    name: str
    shape: str = ""
    pods: int = 0
    problem: str = ""


class RequestedPods(Model, frozen=True):
    shape: str
    pods: int


class ProvisioningRequest(Model, frozen=True):
    """autoscaling.x-k8s.io ProvisioningRequest. `conditions` maps a condition's type to its status."""

    namespace: str
    name: str
    class_name: str
    pod_sets: tuple[RequestedPods, ...] = ()
    conditions: Labels = {}
    problem: str = ""


class PriorityList(Model, frozen=True):
    """One entry of Cluster Autoscaler's priority expander: patterns of group names, the highest `priority` first."""

    priority: int
    patterns: tuple[str, ...]
