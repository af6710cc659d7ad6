"""The pods of one node, and the Eviction API, which keeps PodDisruptionBudgets for us.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/ (how API-initiated eviction works).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import msgspec

from spillway.kube import fields
from spillway.kube.pages import read_list
from spillway.kube.resources import PODS
from spillway.kube.retry import seconds
from spillway.kube.session import Answer, Session

_FINISHED = ("Succeeded", "Failed")
_GRACE_S = 30  # Kubernetes' default
_WAIT_S = 10.0  # where the server names no time; Cluster Autoscaler's own


class _Meta(fields.PodMeta):
    uid: str = ""


class _Spec(fields.Part):
    termination_grace_period_seconds: int | None = None
    priority: int | None = None


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
    """A pod on a node, running or about to. `daemon`: it comes and goes with the node."""

    namespace: str
    name: str
    uid: str
    daemon: bool
    deleting: bool
    grace_s: int
    priority: int

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Verdict(StrEnum):
    EVICTED = "evicted"
    WAITING = "waiting"  # not now: a budget, or two of them; it is asked again
    GONE = "gone"


@dataclass(frozen=True)
class Eviction:
    pod: str
    verdict: Verdict
    reason: str = ""
    wait_s: float = 0.0


def pods_on(session: Session, node: str) -> tuple[LivePod, ...]:
    """All that still holds the node, by namespace and name; finished pods hold nothing."""
    found: list[LivePod] = []

    def take(answer: Answer, more: Callable[[fields.Listed], object]) -> None:
        page = _pod_list.decode(answer.body)
        more(page)
        found.extend(_of(raw) for raw in page.items or () if not raw.status or raw.status.phase not in _FINISHED)

    read_list(session, replace(PODS, field_selector=f"spec.nodeName={node}"), take, found.clear)
    return tuple(sorted(found, key=lambda pod: pod.key))


def evict(session: Session, pod: LivePod, max_grace_s: int) -> Eviction:
    """Asks once. A grace longer than `max_grace_s` is cut to it; a namesake of the pod is never touched."""
    options = {"gracePeriodSeconds": min(pod.grace_s, max_grace_s), "preconditions": {"uid": pod.uid}}
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": options,
    }
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
    answer = session.call("POST", path, ("create", "pods/eviction"), body=body, also=(404, 409, 429, 500))
    if answer.status in (404, 409):  # 409: the uid is another's, so ours is gone
        return Eviction(pod.key, Verdict.GONE)
    if answer.status >= 300:  # 429: a budget; 500: two of them over one pod
        wait_s = seconds(answer.headers.get("Retry-After"))
        return Eviction(pod.key, Verdict.WAITING, answer.message, _WAIT_S if wait_s is None else wait_s)
    return Eviction(pod.key, Verdict.EVICTED)


def _of(raw: _Pod) -> LivePod:
    notes = raw.metadata.annotations or fields.PodAnnotations()
    owned = any(owner.kind == "DaemonSet" and owner.controller for owner in raw.metadata.owner_references or ())
    grace_s = raw.spec.termination_grace_period_seconds
    return LivePod(
        namespace=raw.metadata.namespace or "default",
        name=raw.metadata.name,
        uid=raw.metadata.uid,
        daemon=owned or notes.mirror is not None or notes.daemon == "true",
        deleting=raw.metadata.deletion_timestamp is not None,
        grace_s=_GRACE_S if grace_s is None else grace_s,
        priority=raw.spec.priority or 0,
    )
