"""The pods of one node as a drain sees them: who holds it, who goes with it, who must not be moved."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from spillway.kube import fields
from spillway.kube.markers import LEAVING_TAINT
from spillway.kube.pages import read_list
from spillway.kube.pod_volumes import uses
from spillway.kube.resources import PODS
from spillway.kube.session import Answer, Session

_FINISHED = ("Succeeded", "Failed")
_GRACE_S = 30  # Kubernetes' default
_CRITICAL = 2_000_000_000  # SystemCriticalPriority of k8s.io/kubernetes/pkg/apis/scheduling/types.go
_STUCK_AFTER = timedelta(seconds=60)  # beyond the end of its grace; Karpenter's


class _Toleration(fields.Part):
    key: str = ""
    operator: str = ""
    effect: str = ""


class _Meta(fields.PodMeta):
    uid: str = ""


class _Spec(fields.Part):
    termination_grace_period_seconds: int | None = None
    priority: int | None = None
    tolerations: list[_Toleration] | None = None
    volumes: list[fields.Volume] | None = None


class _Status(fields.Part):
    phase: str | None = None


class _Pod(fields.Part):
    metadata: _Meta
    spec: _Spec
    status: _Status | None = None


class _PodList(fields.Listed):
    items: list[_Pod] | None = None


_pod_list = msgspec.json.Decoder(_PodList)


@dataclass(frozen=True)
class LivePod:
    """A pod on a node, running or about to.

    `daemon`: it comes and goes with the node. `stays`: a daemon that an eviction would not move, as a static pod, or one that
    tolerates our taint, which its DaemonSet would make again at once. `ends_at` is when its grace is over, None unless it is
    being deleted. `claims` are the PersistentVolumeClaims that it uses. `forbids` is the annotation by which it must not be
    moved, "" for none.
    """

    namespace: str
    name: str
    uid: str
    daemon: bool
    stays: bool
    ends_at: datetime | None
    grace_s: int
    priority: int
    claims: tuple[str, ...] = ()
    forbids: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def deleting(self) -> bool:
        return self.ends_at is not None

    @property
    def critical(self) -> bool:
        """Of the classes system-cluster-critical and system-node-critical."""
        return self.priority >= _CRITICAL

    def is_stuck(self, now: datetime) -> bool:
        """Its grace is long over: a finalizer keeps the object, or no kubelet answers for it. Nothing is still to be saved."""
        return self.ends_at is not None and now - self.ends_at > _STUCK_AFTER


def pods_on(session: Session, node: str) -> tuple[LivePod, ...]:
    """All that still hold the node, or go with it, by namespace and name; finished pods hold nothing."""
    found: list[LivePod] = []

    def take(answer: Answer, more: Callable[[fields.Listed], object]) -> None:
        page = _pod_list.decode(answer.body)
        more(page)
        found.extend(_of(raw) for raw in page.items or () if not raw.status or raw.status.phase not in _FINISHED)

    read_list(session, replace(PODS, field_selector=f"spec.nodeName={node}"), take, found.clear)
    return tuple(sorted(found, key=lambda pod: pod.key))


def _of(raw: _Pod) -> LivePod:
    meta, notes = raw.metadata, raw.metadata.annotations or fields.PodAnnotations()
    static = notes.mirror is not None
    daemon = (
        static or notes.daemon == "true" or any(o.kind == "DaemonSet" and o.controller for o in meta.owner_references or ())
    )
    comes_back = notes.daemon_eviction == "false" or _tolerates_us(raw.spec.tolerations or ())
    grace_s = raw.spec.termination_grace_period_seconds
    return LivePod(
        namespace=meta.namespace or "default",
        name=meta.name,
        uid=meta.uid,
        daemon=daemon,
        stays=static or (daemon and comes_back),
        ends_at=meta.deletion_timestamp,
        grace_s=_GRACE_S if grace_s is None else grace_s,
        priority=raw.spec.priority or 0,
        claims=tuple(use.claim for use in uses(raw.spec.volumes or [], meta.name) if use.claim),
        forbids=_forbids(notes),
    )


def _tolerates_us(tolerations: Iterable[_Toleration]) -> bool:
    """Whether the taint of a drain keeps the pod's like off no node; its value is a time, so only Exists can match it."""
    return any(
        one.operator == "Exists" and one.key in ("", LEAVING_TAINT) and one.effect in ("", "NoSchedule") for one in tolerations
    )


def _forbids(notes: fields.PodAnnotations) -> str:
    if notes.safe_to_evict == "false":
        return "cluster-autoscaler.kubernetes.io/safe-to-evict=false"
    if notes.do_not_disrupt == "true":
        return "karpenter.sh/do-not-disrupt=true"
    return ""
