"""Every list that a snapshot is read from, and which of the optional ones a server has.

Only versions whose types we know are read: those of k8s.io/api 0.35 to 0.37, of Kueue, JobSet, Volcano and scheduler-plugins,
and of Cluster Autoscaler's apis.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar
from urllib.parse import urlencode

import msgspec

from spillway import clock
from spillway.errors import ClusterUnavailable
from spillway.kube import capacities, priorities
from spillway.kube.fields import UNREADABLE, Part
from spillway.kube.kinds import kind_in
from spillway.kube.session import Answer, Session

T = TypeVar("T")
Note = Callable[[Answer], None]

_ASKED_EVERY = timedelta(minutes=10)  # an API that is added to a running cluster counts within that time


@dataclass(frozen=True)
class Resource:
    """One list. `kind` is its key in `Objects`. `optional`: a server need not have it, and a plan can do without it where
    the server does not give it. `in_namespaces` says whether its objects are in one."""

    kind: str
    group_version: str
    plural: str
    field_selector: str = ""
    namespace: str = ""
    optional: bool = False
    in_namespaces: bool = True

    @property
    def name(self) -> str:
        """As RBAC and its refusals write it: `pods`, `jobs.batch`."""
        group = self.group_version.rpartition("/")[0]
        return f"{self.plural}.{group}" if group else self.plural

    @property
    def list_kind(self) -> str:
        """What its list is called, in its own group."""
        return f"{self.kind.partition('.')[0]}List"

    @property
    def path(self) -> str:
        root = _root(self.group_version)
        return f"{root}/namespaces/{self.namespace}/{self.plural}" if self.namespace else f"{root}/{self.plural}"

    @property
    def query(self) -> Mapping[str, str | int]:
        return {"fieldSelector": self.field_selector} if self.field_selector else {}

    def watch(self, version: str, life_s: int) -> str:
        """The target of a watch from that version on, which the server ends after so many seconds."""
        asked = {**self.query, "watch": "true", "resourceVersion": version, "timeoutSeconds": life_s}
        return f"{self.path}?{urlencode({**asked, 'allowWatchBookmarks': 'true'})}"

    @property
    def probe(self) -> str:
        """A list of one name that nobody has, which a server looks up by its key: what it tells is its version of this kind."""
        if self.namespace:  # granted for its own name alone
            return f"{self.path}?{urlencode({**self.query, 'limit': 1})}"
        root = f"{_root(self.group_version)}/namespaces/default" if self.in_namespaces else _root(self.group_version)
        return f"{root}/{self.plural}?fieldSelector=metadata.name=spillway-looks-for-its-version"


def _root(group_version: str) -> str:
    return f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"


def _always(group_version: str, kind: str, plural: str) -> Resource:
    return Resource(kind_in(group_version, kind), group_version, plural)


def _in_none(group_version: str, kind: str, plural: str) -> Resource:
    return replace(_always(group_version, kind, plural), in_namespaces=False)


def _optional(group: str, versions: str, kind: str, plural: str) -> tuple[Resource, ...]:
    """One for each version, the best first."""
    first = Resource(kind_in(f"{group}/", kind), "", plural, optional=True)
    return tuple(replace(first, group_version=f"{group}/{version}") for version in versions.split())


NODES = _in_none("v1", "Node", "nodes")
PODS = replace(_always("v1", "Pod", "pods"), field_selector="status.phase!=Succeeded,status.phase!=Failed")
OTHERS = (
    _in_none("v1", "Namespace", "namespaces"),
    _in_none("v1", "PersistentVolume", "persistentvolumes"),
    _always("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    _always("v1", "ReplicationController", "replicationcontrollers"),
    replace(_always("v1", "PodTemplate", "podtemplates"), optional=True),
    # A list of one name in one namespace: it can be watched like the others, and RBAC grants it by that name.
    replace(
        _always("v1", "ConfigMap", "configmaps"),
        namespace=priorities.NAMESPACE,
        field_selector=f"metadata.name={priorities.NAME}",
    ),
    _always("apps/v1", "DaemonSet", "daemonsets"),
    _always("apps/v1", "ReplicaSet", "replicasets"),
    _always("apps/v1", "StatefulSet", "statefulsets"),
    _always("batch/v1", "Job", "jobs"),
    _always("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    _in_none("storage.k8s.io/v1", "StorageClass", "storageclasses"),
    _in_none("storage.k8s.io/v1", "CSINode", "csinodes"),
    _in_none("storage.k8s.io/v1", "CSIDriver", "csidrivers"),
    _in_none("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments"),
    replace(_always("storage.k8s.io/v1", capacities.KIND, "csistoragecapacities"), optional=True),
)
OPTIONAL = (
    *_optional("resource.k8s.io", "v1 v1beta2 v1beta1", "ResourceClaim", "resourceclaims"),
    *_optional("scheduling.k8s.io", "v1beta1 v1alpha3 v1alpha2 v1alpha1", "Workload", "workloads"),
    *_optional("scheduling.k8s.io", "v1beta1 v1alpha3 v1alpha2", "PodGroup", "podgroups"),
    *_optional("scheduling.k8s.io", "v1alpha3", "CompositePodGroup", "compositepodgroups"),
    *_optional("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups"),
    *_optional("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups"),
    *_optional("kueue.x-k8s.io", "v1beta2 v1beta1", "Workload", "workloads"),
    *_optional("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
    *_optional("autoscaling.x-k8s.io", "v1beta1 v1alpha1", "CapacityBuffer", "capacitybuffers"),
    *_optional("autoscaling.x-k8s.io", "v1 v1beta1", "ProvisioningRequest", "provisioningrequests"),
)


class _Version(Part):
    group_version: str = ""


class _Group(Part):
    versions: list[_Version] | None = None


class _Groups(Part):
    groups: list[_Group]


class _Served(Part):
    name: str = ""


class _Resources(Part):
    resources: list[_Served]


_groups = msgspec.json.Decoder(_Groups)
_resources = msgspec.json.Decoder(_Resources)
_known: dict[str, tuple[datetime, tuple[Resource, ...]]] = {}  # by server


def optional(session: Session, note: Note) -> tuple[Resource, ...]:
    """Those optional resources that the server has, each in the first version of ours; asked every ten minutes.

    `note` is told of each answer. Raises what Session.call raises, ClusterUnavailable also for an answer that does not read.
    """
    server, now = session.access.server, clock.utcnow()
    asked, found = _known.get(server, (now - _ASKED_EVERY, ()))
    if not timedelta(0) <= now - asked < _ASKED_EVERY:
        found = _discover(session, note)
        _known[server] = (now, found)
    return found


def forget(session: Session) -> None:
    """What the server has is asked anew: a list of it is gone."""
    _known.pop(session.access.server, None)


def clear() -> None:
    """Of all servers; for tests."""
    _known.clear()


def _discover(session: Session, note: Note) -> tuple[Resource, ...]:
    groups = _read(session, note, "/apis", _groups).groups
    served = {version.group_version for group in groups for version in group.versions or ()}
    wanted = {resource.group_version for resource in OPTIONAL} & served
    names = {(version, plural) for version in sorted(wanted) for plural in _plurals(session, note, version)}
    best: dict[str, Resource] = {}
    for resource in OPTIONAL:
        if (resource.group_version, resource.plural) in names:
            best.setdefault(resource.kind, resource)
    return tuple(best.values())


def _plurals(session: Session, note: Note, group_version: str) -> Iterable[str]:
    """What the server has of it; where it does not say, all of ours, so that each is asked for and named if it fails, too."""
    try:
        return [one.name for one in _read(session, note, _root(group_version), _resources).resources]
    except ClusterUnavailable:
        return [one.plural for one in OPTIONAL if one.group_version == group_version]


def _read(session: Session, note: Note, path: str, decoder: msgspec.json.Decoder[T]) -> T:
    answer = session.call("GET", path, ("get", path))
    note(answer)
    try:
        return decoder.decode(answer.body)
    except UNREADABLE as error:
        raise session.unavailable(f"get {path}: the answer does not read: {error}") from error
