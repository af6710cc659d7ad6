"""How many pods make a gang, from the objects of each API that has gangs."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube.fields import Amounts, BareMeta, OwnerReference, Part

_NOTHING: Amounts = {}


class Group(NamedTuple):
    """Pods by part; all parts start together, or each for itself where they are `apart`.

    `resources` are the least that it asks for in all; `owners` the uids of what it was made for; `parent` the composite group
    that it is in, "" for none.
    """

    parts: Mapping[str, int]
    apart: bool = False
    resources: Amounts = _NOTHING
    owners: tuple[str, ...] = ()
    parent: str = ""


class Composite(NamedTuple):
    """A group of groups, of which `least` must start together; `parent` as a Group's."""

    least: int
    parent: str = ""


class _Meta(BareMeta):
    owner_references: list[OwnerReference] | None = None


class _MemberSpec(Part):
    min_member: int | None = None
    min_resources: Amounts | None = None


class _MemberGroup(Part):
    """PodGroup of scheduling.x-k8s.io and of scheduling.volcano.sh."""

    metadata: _Meta
    spec: _MemberSpec | None = None


class _GangPolicy(Part):
    min_count: int = 0


class _Policy(Part):
    gang: _GangPolicy | None = None


class _PodGroupSpec(Part):
    scheduling_policy: _Policy | None = None
    parent_composite_pod_group_name: str | None = None


class _PodGroup(Part):
    """PodGroup of scheduling.k8s.io."""

    metadata: _Meta
    spec: _PodGroupSpec | None = None


class _CompositeGangPolicy(Part):
    min_group_count: int = 0


class _CompositePolicy(Part):
    gang: _CompositeGangPolicy | None = None


class _CompositeSpec(Part):
    scheduling_policy: _CompositePolicy | None = None
    parent_composite_pod_group_name: str | None = None


class _CompositePodGroup(Part):
    metadata: _Meta
    spec: _CompositeSpec | None = None


class _WorkloadGroup(Part):
    name: str = ""
    policy: _Policy | None = None


class _WorkloadSpec(Part):
    pod_groups: list[_WorkloadGroup] | None = None


class _Workload(Part):
    """Workload of scheduling.k8s.io. Its groups are its own in v1alpha1 only; later ones are templates of PodGroups."""

    metadata: _Meta
    spec: _WorkloadSpec | None = None


class _Counted(Part):
    name: str = ""
    count: int | None = None
    min_count: int | None = None


class _KueueSpec(Part):
    pod_sets: list[_Counted] | None = None


class _Admission(Part):
    pod_set_assignments: list[_Counted] | None = None


class _KueueStatus(Part):
    admission: _Admission | None = None
    reclaimable_pods: list[_Counted] | None = None


class _KueueWorkload(Part):
    metadata: _Meta
    spec: _KueueSpec | None = None
    status: _KueueStatus | None = None


class _JobSpec(Part):
    parallelism: int | None = None
    completions: int | None = None


class _JobTemplate(Part):
    spec: _JobSpec | None = None


class _ReplicatedJob(Part):
    name: str = ""
    replicas: int | None = None
    template: _JobTemplate | None = None
    depends_on: list[Part] | None = None


class _Startup(Part):
    startup_policy_order: str = ""


class _JobSetSpec(Part):
    replicated_jobs: list[_ReplicatedJob] | None = None
    startup_policy: _Startup | None = None


class _ReplicatedJobStatus(Part):
    name: str = ""
    succeeded: int = 0


class _JobSetStatus(Part):
    replicated_jobs_status: list[_ReplicatedJobStatus] | None = None


class _JobSet(Part):
    metadata: _Meta
    spec: _JobSetSpec | None = None
    status: _JobSetStatus | None = None


_member_group = msgspec.json.Decoder(_MemberGroup)
_pod_group = msgspec.json.Decoder(_PodGroup)
_composite = msgspec.json.Decoder(_CompositePodGroup)
_workload = msgspec.json.Decoder(_Workload)
_kueue_workload = msgspec.json.Decoder(_KueueWorkload)
_job_set = msgspec.json.Decoder(_JobSet)


def read_member_group(raw: Raw | bytes) -> tuple[tuple[str, str], Group]:
    found = _member_group.decode(raw)
    spec = found.spec or _MemberSpec()
    return found.metadata.key, Group({"": spec.min_member or 0}, resources=spec.min_resources or _NOTHING)


def read_pod_group(raw: Raw | bytes) -> tuple[tuple[str, str], Group]:
    """One without the gang policy starts its pods one by one."""
    found = _pod_group.decode(raw)
    spec = found.spec or _PodGroupSpec()
    return found.metadata.key, Group({"": _least(spec.scheduling_policy)}, parent=spec.parent_composite_pod_group_name or "")


def read_composite(raw: Raw | bytes) -> tuple[tuple[str, str], Composite]:
    """One without the gang policy starts its groups one by one."""
    found = _composite.decode(raw)
    spec = found.spec or _CompositeSpec()
    policy = spec.scheduling_policy
    least = policy.gang.min_group_count if policy and policy.gang else 0
    return found.metadata.key, Composite(least, spec.parent_composite_pod_group_name or "")


def read_workload(raw: Raw | bytes) -> tuple[tuple[str, str], Group | None]:
    """Each group for itself; None for a Workload of templates, whose PodGroups say it all."""
    found = _workload.decode(raw)
    groups = found.spec.pod_groups if found.spec else None
    kept = Group({one.name: _least(one.policy) for one in groups}, apart=True) if groups else None
    return found.metadata.key, kept


def read_kueue_workload(raw: Raw | bytes) -> tuple[tuple[str, str], Group]:
    """As many as were admitted, before that as many as may be; less those that need no room any more."""
    found = _kueue_workload.decode(raw)
    spec, status = found.spec or _KueueSpec(), found.status or _KueueStatus()
    admitted = status.admission or _Admission()
    parts = {one.name: _or(one.min_count, one.count or 0) for one in spec.pod_sets or ()}
    parts |= {one.name: one.count for one in admitted.pod_set_assignments or () if one.count is not None}
    for done in status.reclaimable_pods or ():
        parts[done.name] = max(0, parts.get(done.name, 0) - (done.count or 0))
    owners = tuple(owner.uid for owner in found.metadata.owner_references or ())
    return found.metadata.key, Group(parts, owners=owners)


def read_job_set(raw: Raw | bytes) -> tuple[tuple[str, str], Group]:
    """All pods of all jobs that have not succeeded; each replicated job for itself where one waits for another."""
    found = _job_set.decode(raw)
    spec, status = found.spec or _JobSetSpec(), found.status or _JobSetStatus()
    succeeded = {one.name: one.succeeded for one in status.replicated_jobs_status or ()}
    jobs = spec.replicated_jobs or ()
    in_turn = spec.startup_policy is not None and spec.startup_policy.startup_policy_order == "InOrder"
    return found.metadata.key, Group(
        {job.name: _pods(job) * max(0, _or(job.replicas, 1) - succeeded.get(job.name, 0)) for job in jobs},
        apart=in_turn or any(job.depends_on for job in jobs),
    )


def _pods(job: _ReplicatedJob) -> int:
    """Of one of its replicas."""
    spec = (job.template.spec if job.template else None) or _JobSpec()
    parallelism = _or(spec.parallelism, 1)
    return min(parallelism, _or(spec.completions, parallelism))


def _least(policy: _Policy | None) -> int:
    return policy.gang.min_count if policy and policy.gang else 0


def _or(number: int | None, default: int) -> int:
    return default if number is None else number
