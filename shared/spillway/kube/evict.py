"""The Eviction API, which keeps PodDisruptionBudgets for us. Pods are asked to go in no other way, and never deleted.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/ (how API-initiated eviction works);
pkg/registry/core/pod/storage/eviction.go of kubernetes for what it refuses, and with which status.
"""

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from spillway.errors import ClusterForbidden
from spillway.kube.fields import UNREADABLE, Part
from spillway.kube.live_pods import LivePod
from spillway.kube.retry import seconds
from spillway.kube.session import Answer, Session

_WAIT_S = 10.0  # where the server names no time; Cluster Autoscaler's own
_TWO_BUDGETS = "more than one PodDisruptionBudget"
_NO_RIGHT = "cannot create resource"  # of the authorizer; whatever else forbids one pod's eviction is in other words
_REFUSED = (400, 403, 409, 422, 429, 500, 504)
"""Of one pod, and passing: a budget (429), two of them or a webhook (500), a budget that too many write to at once (504), a
budget that is overrun or a namespace that is being deleted (403), and whatever else an admission webhook answers."""


class _Cause(Part):
    message: str = ""


class _Details(Part):
    causes: list[_Cause] | None = None


class _Status(Part):
    details: _Details | None = None


_status = msgspec.json.Decoder(_Status)


class Verdict(StrEnum):
    EVICTED = "evicted"
    WAITING = "waiting"  # not now: it is asked again
    HELD = "held"  # by two budgets, of which the API keeps neither: asking again is in vain until somebody mends them
    GONE = "gone"


@dataclass(frozen=True)
class Eviction:
    pod: str
    verdict: Verdict
    reason: str = ""
    wait_s: float = 0.0


def evict(session: Session, pod: LivePod, max_grace_s: int) -> Eviction:
    """Asks once. A grace longer than `max_grace_s` is cut to it; a namesake of the pod is never touched.

    Raises ClusterForbidden without the right to evict, and what else Session.call raises.
    """
    options = {"gracePeriodSeconds": min(pod.grace_s, max_grace_s), "preconditions": {"uid": pod.uid}}
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": options,
    }
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
    answer = session.call("POST", path, ("create", "pods/eviction"), body=body, also=(404, *_REFUSED))
    if answer.status in (404, 409):  # 409: the uid is another's, so ours is gone
        return Eviction(pod.key, Verdict.GONE)
    if answer.status < 300:
        return Eviction(pod.key, Verdict.EVICTED)
    if answer.status == 403 and _NO_RIGHT in answer.message:
        raise ClusterForbidden(session.cluster, "create", "pods/eviction", answer.message)
    wait_s = seconds(answer.headers.get("Retry-After"))
    verdict = Verdict.HELD if _TWO_BUDGETS in answer.message else Verdict.WAITING
    return Eviction(pod.key, verdict, _why(answer), _WAIT_S if wait_s is None else wait_s)


def _why(answer: Answer) -> str:
    """The server's words, with its causes: they name the budget."""
    try:
        details = _status.decode(answer.body).details
    except UNREADABLE:
        details = None
    causes = [cause.message for cause in (details.causes or () if details else ()) if cause.message]
    return " ".join([answer.message or f"status {answer.status}", *causes])
