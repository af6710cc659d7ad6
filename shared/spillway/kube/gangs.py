"""Which pods must start together: what they say themselves, joined with what `gang_objects` read.

Sources: sigs.k8s.io/scheduler-plugins (coscheduling), volcano.sh/apis, sigs.k8s.io/kueue, sigs.k8s.io/jobset, and
k8s.io/api/scheduling: in 0.35 a pod names a group of a Workload, since 0.36 a PodGroup, which says it all (a Workload is then
what it was made from).
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from spillway.kube import fields
from spillway.kube.composites import Composites
from spillway.kube.gang_objects import Group
from spillway.kube.owners import Owner
from spillway.model import quantity
from spillway.model.base import Resources
from spillway.model.reason import Code, Reason
from spillway.model.workloads import Gang, GangSource

_JOB_SET = "jobset.sigs.k8s.io/jobset-name"
_JOB_SET_PART = "jobset.sigs.k8s.io/replicatedjob-name"
_KUEUE = "kueue.x-k8s.io/pod-group-name"
_COSCHEDULING = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/name")
_MIN_AVAILABLE = "pod-group.scheduling.sigs.k8s.io/min-available"
_ONE_BY_ONE = frozenset({"ReplicaSet", "StatefulSet", "ReplicationController", "DaemonSet", "Node"})
"""Owners whose pods Kueue takes for gangs only by a label of the pods' own."""
_MARK = re.compile("|".join(f'"{re.escape(key)}"' for key in (*_COSCHEDULING, _KUEUE, _JOB_SET)).encode())
_labels = msgspec.json.Decoder(dict[str, str] | None)


class Membership(NamedTuple):
    """What a pod says of its gang: a `part` of what `name` names, which `replica` of that, and `least` pods, 0 where it does
    not say."""

    source: GangSource
    name: str
    part: str = ""
    replica: str = ""
    least: int = 0

    @property
    def kind(self) -> str:
        """Of the object that `name` names."""
        return _WORKLOAD if self.source == GangSource.WORKLOAD and self.part else _OBJECTS[self.source]


def membership(labels: bytes, notes: fields.PodAnnotations, spec: fields.PodSpec) -> Membership | None:
    """The first that holds: what the scheduler itself is told, then what queues pods, then what makes them.

    None for a name that no object can have: so there is no such gang.
    """
    found = _named(labels, notes, spec)
    return found if found and all(fields.is_name(text) for text in (found.name, found.part, found.replica)) else None


def _named(labels: bytes, notes: fields.PodAnnotations, spec: fields.PodSpec) -> Membership | None:
    if spec.scheduling_group and spec.scheduling_group.pod_group_name:
        return Membership(GangSource.WORKLOAD, spec.scheduling_group.pod_group_name)
    if (ref := spec.workload_ref) and ref.name and ref.pod_group:
        return Membership(GangSource.WORKLOAD, ref.name, ref.pod_group, ref.pod_group_replica_key or "")
    found = _labels.decode(labels) or {} if _MARK.search(labels) else {}
    for key in _COSCHEDULING:
        if name := found.get(key):
            return Membership(GangSource.COSCHEDULING, name, least=fields.number(found.get(_MIN_AVAILABLE)) or 0)
    if name := notes.volcano_group or notes.volcano_group_too:
        return Membership(GangSource.VOLCANO, name)
    if name := found.get(_KUEUE):
        return Membership(GangSource.KUEUE, name, least=fields.number(notes.kueue_total) or 0)
    if name := found.get(_JOB_SET):
        return Membership(GangSource.JOBSET, name, found.get(_JOB_SET_PART, ""))
    if name := notes.consumes or notes.consumes_old:
        return Membership(GangSource.PROVISIONING, name)
    return None


class Gangs:
    """`of` gives the kept objects of a kind, `unread` why there are none of a kind whose list was not given. Those gangs are
    kept that some pod belongs to."""

    def __init__(self, of: Callable[[str], Mapping[tuple[str, str], Any]], unread: Mapping[str, str] = MappingProxyType({})):
        self.warnings: list[Reason] = []
        self._of, self._unread = of, unread
        self._composites = Composites(of)
        self._found: dict[tuple[str, Membership], str] = {}
        self._gangs: dict[str, Gang] = {}
        # A job that Kueue admits does not tell its pods: its Workload names the job.
        self._jobs = {
            uid: Membership(GangSource.KUEUE, name) for (_, name), group in of(_KUEUE_WORKLOAD).items() for uid in group.owners
        }

    def id_of(self, namespace: str, member: Membership | None, owner: Owner | None) -> str:
        """The gang of a pod, "" for none; a group that one pod alone makes is none."""
        member = member or (self._of_job(owner) if owner else None)
        if member is None:
            return ""
        key = (namespace, member)
        if key not in self._found:
            self._found[key] = self._join(namespace, member)
        return self._found[key]

    def all(self) -> tuple[Gang, ...]:
        return tuple(sorted(self._gangs.values(), key=lambda gang: (gang.namespace, gang.name, gang.source)))

    def _of_job(self, owner: Owner) -> Membership | None:
        """What Kueue makes of the pods of one job; where its Workloads are not read any job may be one of theirs."""
        if _KUEUE_WORKLOAD in self._unread and owner.kind not in _ONE_BY_ONE:
            return Membership(GangSource.KUEUE, owner.name)
        return self._jobs.get(owner.uid) if self._jobs else None

    def _join(self, namespace: str, member: Membership) -> str:
        group = self._group(namespace, member)
        part = member.part if group is None or group.apart else ""
        name = "/".join(text for text in (member.name, part, member.replica) if text)
        least, problem = member.least or 1, ""
        if group is None or (part and part not in group.parts):
            says = f"its pods ask for {member.least} of them" if member.least else "its pods do not say how many they are"
            text = f"{member.source} gang {namespace}/{name} has no object in the cluster: {says}"
            problem = self._problem(member.kind, text)
        else:
            least = group.parts.get(part, 0) if group.apart else sum(group.parts.values())
            if whole := self._composites.whole(namespace, group):
                name, least = f"compositepodgroup/{whole.name}", whole.least
                if not whole.is_known:
                    says = f"its groups ask for {least} pods and more"
                    text = f"{member.source} gang {namespace}/{name} has no object in the cluster: {says}"
                    problem = self._problem(_COMPOSITE, text)
            elif least <= 1:
                return ""
        id_ = f"{member.source}/{namespace}/{name}"
        known = self._gangs.get(id_)
        resources = self._resources(namespace, member, group)
        self._gangs[id_] = Gang(
            id=id_,
            source=member.source,
            namespace=namespace,
            name=name,
            min_pods=max(least, known.min_pods if known else 0),
            resources=resources,
            problem=problem,
        )
        return id_

    def _group(self, namespace: str, member: Membership) -> Group | None:
        found = self._of(member.kind).get((namespace, member.name))
        group: Group | None = getattr(found, "group", found)  # a ProvisioningRequest is more than a gang
        return group

    def _problem(self, kind: str, text: str) -> str:
        """Why its object is not known for now; "", and a warning with this text, where there is none of that kind."""
        if kind not in self._unread:
            self.warnings.append(Reason(code=Code.GANG_UNKNOWN, text=text))
        return self._unread.get(kind, "")

    def _resources(self, namespace: str, member: Membership, group: Group | None) -> Resources:
        try:
            return dict(sorted(quantity.resources(group.resources).items())) if group else {}
        except quantity.QuantityError as error:
            text = f"{member.source} gang {namespace}/{member.name}: what it asks for at least does not read: {error}"
            self.warnings.append(Reason(code=Code.OBJECT_UNREADABLE, text=text))
            return {}


_WORKLOAD = "Workload.scheduling.k8s.io"
_COMPOSITE = "CompositePodGroup.scheduling.k8s.io"
_KUEUE_WORKLOAD = "Workload.kueue.x-k8s.io"
_OBJECTS: Mapping[GangSource, str] = {
    GangSource.WORKLOAD: "PodGroup.scheduling.k8s.io",
    GangSource.COSCHEDULING: "PodGroup.scheduling.x-k8s.io",
    GangSource.VOLCANO: "PodGroup.scheduling.volcano.sh",
    GangSource.KUEUE: _KUEUE_WORKLOAD,
    GangSource.JOBSET: "JobSet.jobset.x-k8s.io",
    GangSource.PROVISIONING: "ProvisioningRequest.autoscaling.x-k8s.io",
}
