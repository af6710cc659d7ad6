"""Which pods must start together, from each source that says so.

A pod names its group; how many pods make it stands on an object of the group's own API, or on the pods where there is none.
Sources: sigs.k8s.io/scheduler-plugins (coscheduling), volcano.sh/apis, sigs.k8s.io/kueue, sigs.k8s.io/jobset, and
k8s.io/api/scheduling (pods of 1.36 and later name a PodGroup, those of 1.35 a Workload and one of its groups).
"""

from typing import NamedTuple

import msgspec

from spillway.kube import fields
from spillway.model.workloads import GangSource

_JOB_SET = "jobset.sigs.k8s.io/jobset-name"
_JOB_SET_PART = "jobset.sigs.k8s.io/replicatedjob-name"
_KUEUE = "kueue.x-k8s.io/pod-group-name"
_COSCHEDULING = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/name")
_MIN_AVAILABLE = "pod-group.scheduling.sigs.k8s.io/min-available"
_MARKS = tuple(f'"{key}"'.encode() for key in (*_COSCHEDULING, _KUEUE, _JOB_SET))
_labels = msgspec.json.Decoder(dict[str, str] | None)


class Membership(NamedTuple):
    """What a pod says of its gang: a `part` of what `name` names, of which there may be more than one `copy`.

    `least` pods make it, 0 where the pod does not say.
    """

    source: GangSource
    name: str
    part: str = ""
    copy: str = ""
    least: int = 0


def membership(labels: bytes, notes: fields.PodAnnotations, spec: fields.PodSpec) -> Membership | None:
    """The first that holds: what the scheduler itself is told, then what queues pods, then what makes them."""
    if spec.scheduling_group and spec.scheduling_group.pod_group_name:
        return Membership(GangSource.WORKLOAD, spec.scheduling_group.pod_group_name)
    if spec.workload_ref:
        ref = spec.workload_ref
        return Membership(
            GangSource.WORKLOAD, ref.name, "/".join(part for part in (ref.pod_group, ref.pod_group_replica_key) if part)
        )
    found = _labels.decode(labels) or {} if any(mark in labels for mark in _MARKS) else {}
    for key in _COSCHEDULING:
        if name := found.get(key):
            return Membership(GangSource.COSCHEDULING, name, least=_number(found.get(_MIN_AVAILABLE)))
    if name := notes.volcano_group or notes.volcano_group_too:
        return Membership(GangSource.VOLCANO, name)
    if name := found.get(_KUEUE):
        return Membership(GangSource.KUEUE, name, least=_number(notes.kueue_total))
    if name := found.get(_JOB_SET):
        return Membership(GangSource.JOBSET, name, found.get(_JOB_SET_PART, ""))
    if name := notes.consumes or notes.consumes_old:
        return Membership(GangSource.PROVISIONING, name)
    return None


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0
