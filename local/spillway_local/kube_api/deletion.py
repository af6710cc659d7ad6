"""Deletes and evictions.

Sources: k8s.io/apiserver/pkg/registry/rest/delete.go, pkg/registry/core/pod/strategy.go (grace of pods),
pkg/registry/core/pod/storage/eviction.go.
"""

from typing import Any

from spillway_local.kube_api import pods
from spillway_local.kube_api.budgets import Budgets
from spillway_local.kube_api.kinds import POD
from spillway_local.kube_api.refusals import Refusal, bad_request, unmet
from spillway_local.kube_api.store import Body, Record, Store, stamp

_DEFAULT_GRACE_S = 30
_VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
_TWO_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."

_EVICTED = {
    "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
}  # fmt: skip


def delete(store: Store, record: Record, options: Body, dry_run: bool = False) -> Record:
    """Removes an object, or marks it when it has grace or finalizers; raises Refusal 409 on a precondition."""
    with store.lock:
        record = store.get(record.kind, record.key)
        _check(record, options.get("preconditions") or {})
        if dry_run:
            return record
        asked, pending_s = options.get("gracePeriodSeconds"), record.metadata.get("deletionGracePeriodSeconds", 0)
        if pending_s and (asked is None or asked >= pending_s):
            return record  # who deletes again can only shorten the grace
        grace_s = _grace_s(record, asked)
        if grace_s or record.metadata.get("finalizers"):
            return store.mark_deleted(record, grace_s)
        return store.remove(record)


def evict(store: Store, budgets: Budgets, pod: Record, eviction: Body, dry_run: bool) -> Body:
    """The Status to answer with; raises Refusal 409, 429 and 500."""
    if (eviction.get("metadata") or {}).get("name", pod.name) != pod.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = eviction.get("deleteOptions") or {}
    dry_run = dry_run or bool(options.get("dryRun"))
    with store.lock:
        pod = store.get(POD, pod.key)
        if not _beyond_budgets(pod.body):
            over = budgets.over(pod)
            if len(over) > 1:
                raise Refusal(500, _TWO_BUDGETS, reason="")
            for budget in over:
                _spend(pod, budget)
        _check(pod, options.get("preconditions") or {})
        if not dry_run:
            now = stamp(store.now())
            store.replace(pod, pods.with_condition(pod.body, {**_EVICTED, "lastTransitionTime": now}))
        delete(store, pod, options, dry_run)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _beyond_budgets(pod: Body) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or pods.is_terminating(pod)


def _spend(pod: Record, budget: Record) -> None:
    """Raises Refusal when the budget does not allow one disruption more."""
    status: dict[str, Any] = budget.body.get("status") or {}
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if not pods.is_ready(pod.body):
        always = (budget.body.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
        if always or (healthy >= desired > 0):
            return
    if status.get("observedGeneration", 0) < budget.metadata.get("generation", 0):
        raise _too_many(f"The disruption budget {budget.name} is still being processed by the server.", 10)
    if not status.get("disruptionsAllowed"):
        raise _too_many(_why(budget.name, healthy, desired, pods.condition(budget.body, "DisruptionAllowed")), 0)


def _why(name: str, healthy: int, desired: int, told: Body) -> str:
    no = f"The disruption budget {name} does not allow evicting pods currently"
    if told.get("reason") == "SyncFailed":
        return f"{no} because it failed sync: {told['message']}"
    return (
        f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently" if healthy <= desired else no
    )


def _too_many(why: str, retry_after_s: int) -> Refusal:
    details: Body = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry_after_s:
        details["retryAfterSeconds"] = retry_after_s
    return Refusal(429, _VIOLATES, details=details)


def _check(record: Record, preconditions: Body) -> None:
    for name, word, why in (("uid", "UID", "deleted and then recreated"), ("resourceVersion", "ResourceVersion", "modified")):
        wanted, found = preconditions.get(name), record.metadata[name]
        if wanted and wanted != found:
            told = f"the {word} in the precondition ({wanted}) does not match the {word} in record ({found})"
            raise unmet(record.kind, record.name, f"{told}. The object might have been {why}")


def _grace_s(record: Record, asked: int | None) -> int:
    """Only pods have grace, and only while a kubelet has something to stop."""
    if record.kind is not POD or not pods.node_of(record.body) or pods.is_finished(record.body):
        return 0
    if asked is None:
        asked = record.body["spec"].get("terminationGracePeriodSeconds", _DEFAULT_GRACE_S)
    return 1 if asked < 0 else int(asked)
