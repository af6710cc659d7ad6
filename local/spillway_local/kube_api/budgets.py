"""PodDisruptionBudgets: their status, kept as the disruption controller keeps it, but at once.

Source: pkg/controller/disruption/disruption.go, pkg/registry/core/pod/storage/eviction.go.
"""

from typing import Any

from spillway_local.kube_api import pods
from spillway_local.kube_api.kinds import BUDGET, POD, Kinds
from spillway_local.kube_api.selectors import labels_match
from spillway_local.kube_api.store import Body, Change, Record, Store, stamp

_SCALED = {("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("", "ReplicationController")}


class Budgets:
    """Statuses are brought up to date when somebody looks, so no clock has to pass for them to be right."""

    def __init__(self, store: Store, kinds: Kinds) -> None:
        self._store, self._kinds = store, kinds
        self._stale = True
        store.subscribe(self._on_change)

    def refresh(self) -> None:
        with self._store.lock:
            if not self._stale:
                return
            for record in self._store.records(BUDGET):
                self._store.replace(record, {**record.body, "status": self._status(record)})
            self._stale = False

    def over(self, pod: Record) -> list[Record]:
        """The budgets that a pod is under."""
        self.refresh()
        labels = pod.metadata.get("labels") or {}
        return [record for record in self._store.records(BUDGET) if record.key[0] == pod.key[0] and _selects(record, labels)]

    def _on_change(self, change: Change) -> None:
        if change.record.kind in (POD, BUDGET):
            self._stale = True

    def _status(self, budget: Record) -> Body:
        """A budget whose expected pods cannot be counted allows nothing, and is not taken for observed."""
        under = [
            record
            for record in self._store.records(POD)
            if record.key[0] == budget.key[0] and _selects(budget, record.metadata.get("labels") or {})
        ]
        figures: Body = {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0, **(budget.body.get("status") or {})}
        try:
            expected, desired = self._expected(budget.body.get("spec") or {}, under)
        except _NotCounted as problem:
            return self._told({**figures, "disruptionsAllowed": 0}, "SyncFailed", str(problem))
        healthy = sum(pods.is_ready(record.body) and not pods.is_terminating(record.body) for record in under)
        allowed = max(0, healthy - desired) if expected else 0
        figures |= {"currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": expected}
        figures |= {"disruptionsAllowed": allowed, "observedGeneration": budget.metadata.get("generation", 1)}
        return self._told(figures, "SufficientPods" if allowed else "InsufficientPods", "")

    def _told(self, status: Body, reason: str, message: str) -> Body:
        """With the condition that says why."""
        condition = {"type": "DisruptionAllowed", "status": "True" if reason == "SufficientPods" else "False", "reason": reason}
        condition |= {"message": message, "lastTransitionTime": stamp(self._store.now())}
        condition |= {"observedGeneration": status["observedGeneration"]} if "observedGeneration" in status else {}
        told: Body = pods.with_condition({"status": status}, condition)["status"]
        return told

    def _expected(self, spec: Body, under: list[Record]) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy; raises _NotCounted."""
        minimum, maximum = spec.get("minAvailable"), spec.get("maxUnavailable")
        if maximum is not None:
            expected = self._replicas(under)
            return expected, max(0, expected - _share(maximum, expected))
        if isinstance(minimum, int):
            return len(under), minimum
        if minimum is None:
            return 0, 0
        expected = self._replicas(under)
        return expected, _share(minimum, expected)

    def _replicas(self, under: list[Record]) -> int:
        """The scale of the pods' controllers; pods without one do not count."""
        scales: dict[str, int] = {}
        for pod in under:
            owner = pods.controller(pod.body)
            if owner and owner["uid"] not in scales:
                uid, scale = self._scale(owner, pod)
                scales[uid] = scale
        return sum(scales.values())

    def _scale(self, owner: Body, pod: Record) -> tuple[str, int]:
        """Of the Deployment, if its ReplicaSet has one, or of the controller itself, with its uid."""
        kind = self._kinds.of(owner["apiVersion"], owner["kind"], True)
        if (kind.group, kind.name) not in _SCALED:
            raise _NotCounted(f"{kind.qualified} does not implement the scale subresource")
        record = self._store.find(kind, (pod.key[0], owner["name"]))
        if record is None or record.metadata["uid"] != owner["uid"]:
            raise _NotCounted(f'found no controllers for pod "{pod.name}"')
        above = pods.controller(record.body)
        if above and above["kind"] == "Deployment":
            deployment = self._store.find(self._kinds.named("Deployment"), (pod.key[0], above["name"]))
            record = deployment if deployment and deployment.metadata["uid"] == above["uid"] else record
        return record.metadata["uid"], int((record.body.get("spec") or {}).get("replicas", 1))


class _NotCounted(Exception):
    pass


def _selects(budget: Record, labels: dict[str, str]) -> bool:
    return labels_match((budget.body.get("spec") or {}).get("selector"), labels)


def _share(amount: Any, of: int) -> int:
    """`30%` of a number, rounded up, or the number itself (intstr.GetScaledValueFromIntOrPercent, roundUp)."""
    if isinstance(amount, int):
        return amount
    return -(-int(str(amount).rstrip("%")) * of // 100)
