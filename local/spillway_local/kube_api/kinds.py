"""Which resources the server knows, and what their paths are called."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One resource of one API group version, as `kubectl api-resources` shows it."""

    group: str
    version: str
    name: str
    plural: str
    namespaced: bool = True
    subresources: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """`pods`, `jobs.batch`: how error messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "") -> str:
        """Of its collection: of one namespace, or of all."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.api_version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"


POD = Kind("", "v1", "Pod", "pods", True, ("status", "eviction", "binding"))
NODE = Kind("", "v1", "Node", "nodes", False, ("status",))
DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets", True, ("status",))
BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", True, ("status",))
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", False, ("status",))
RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLE = Kind(RBAC, "v1", "ClusterRole", "clusterroles", False)
CLUSTER_ROLE_BINDING = Kind(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", False)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
EVENT = Kind("", "v1", "Event", "events")
NEWER_EVENT = Kind("events.k8s.io", "v1", "Event", "events")
PRIORITY_CLASS = Kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", False)
_KNOWN = (
    POD,
    NODE,
    DAEMON_SET,
    BUDGET,
    NAMESPACE,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    Kind("", "v1", "PersistentVolume", "persistentvolumes", False, ("status",)),
    Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", True, ("status",)),
    Kind("", "v1", "ReplicationController", "replicationcontrollers", True, ("status",)),
    CONFIG_MAP,
    Kind("", "v1", "Secret", "secrets"),
    EVENT,
    NEWER_EVENT,
    Kind("", "v1", "PodTemplate", "podtemplates"),
    Kind("apps", "v1", "ReplicaSet", "replicasets", True, ("status",)),
    Kind("apps", "v1", "StatefulSet", "statefulsets", True, ("status",)),
    Kind("apps", "v1", "Deployment", "deployments", True, ("status",)),
    Kind("batch", "v1", "Job", "jobs", True, ("status",)),
    PRIORITY_CLASS,
    Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", False),
    Kind("storage.k8s.io", "v1", "CSINode", "csinodes", False),
    Kind("storage.k8s.io", "v1", "CSIDriver", "csidrivers", False),
    Kind("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", True),
    Kind("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", False, ("status",)),
    Kind("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", True, ("status",)),
    Kind("scheduling.k8s.io", "v1beta1", "Workload", "workloads"),
    Kind("scheduling.k8s.io", "v1beta1", "PodGroup", "podgroups", True, ("status",)),
    Kind("scheduling.k8s.io", "v1alpha3", "CompositePodGroup", "compositepodgroups", True, ("status",)),
)


class Kinds:
    """The resources of one server; custom ones are added with `define`."""

    def __init__(self) -> None:
        self._by_path = {(kind.group, kind.version, kind.plural): kind for kind in _KNOWN}
        self._by_object = {(kind.api_version, kind.name): kind for kind in _KNOWN}

    def define(self, kind: Kind) -> Kind:
        """Serves one more resource, as a CustomResourceDefinition would."""
        self._by_path[kind.group, kind.version, kind.plural] = kind
        self._by_object[kind.api_version, kind.name] = kind
        return kind

    def at(self, group: str, version: str, plural: str) -> Kind | None:
        return self._by_path.get((group, version, plural))

    def named(self, name: str) -> Kind:
        """By kind (`Pod`) or plural (`pods`); raises KeyError with what is known."""
        for kind in self._by_path.values():
            if name in (kind.name, kind.plural, kind.qualified):
                return kind
        raise KeyError(f"no resource {name!r}; known are {sorted(kind.name for kind in self)}. Add it with `define`")

    def of(self, api_version: str, name: str, namespaced: bool) -> Kind:
        """The resource that an object belongs to; one that nobody defined is served under its usual plural."""
        known = self._by_object.get((api_version, name))
        if known:
            return known
        group, _, version = api_version.rpartition("/")
        plural = name.lower()
        plural = f"{plural[:-1]}ies" if plural.endswith("y") else plural + ("es" if plural.endswith(("s", "x")) else "s")
        return self.define(Kind(group, version, name, plural, namespaced, ("status",)))

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._by_path.values())
