"""PodDisruptionBudgets: their status, kept as the disruption controller keeps it, but at once.

Source: pkg/controller/disruption/disruption.go, pkg/registry/core/pod/storage/eviction.go.
"""

from typing import Any

from spillway_local.kube_api import pods
from spillway_local.kube_api.kinds import BUDGET, POD, Kinds
from spillway_local.kube_api.selectors import labels_match
from spillway_local.kube_api.store import Body, Change, Record, Store


class Budgets:
    """Statuses are brought up to date when somebody looks, so no clock has to pass for them to be right."""

    def __init__(self, store: Store, kinds: Kinds) -> None:
        self._store, self._kinds = store, kinds
        self._stale = True
        store.subscribe(self._on_change)

    def refresh(self) -> None:
        """A budget that says neither minAvailable nor maxUnavailable keeps the status it was given."""
        with self._store.lock:
            if not self._stale:
                return
            for record in self._store.records(BUDGET):
                if status := self._status(record):
                    self._store.replace(record, {**record.body, "status": {**(record.body.get("status") or {}), **status}})
            self._stale = False

    def over(self, pod: Record) -> list[Record]:
        """The budgets that a pod is under; an empty selector takes in nothing here."""
        self.refresh()
        labels = pod.metadata.get("labels") or {}
        return [record for record in self._store.records(BUDGET) if record.key[0] == pod.key[0] and _selects(record, labels)]

    def _on_change(self, change: Change) -> None:
        if change.record.kind in (POD, BUDGET):
            self._stale = True

    def _status(self, budget: Record) -> Body | None:
        spec = budget.body.get("spec") or {}
        if "minAvailable" not in spec and "maxUnavailable" not in spec:
            return None
        under = [
            record
            for record in self._store.records(POD)
            if record.key[0] == budget.key[0]
            and not pods.is_finished(record.body)
            and _selects(budget, record.metadata.get("labels") or {})
        ]
        healthy = sum(pods.is_ready(record.body) and not pods.is_terminating(record.body) for record in under)
        expected, desired = self._expected(spec, under)
        return {
            "observedGeneration": budget.metadata.get("generation", 1),
            "expectedPods": expected,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": max(0, healthy - desired) if expected else 0,
        }

    def _expected(self, spec: Body, under: list[Record]) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy."""
        minimum, maximum = spec.get("minAvailable"), spec.get("maxUnavailable")
        if isinstance(minimum, int):
            return len(under), minimum
        expected = self._replicas(under)
        if maximum is not None:
            return expected, max(0, expected - _share(maximum, expected))
        return expected, _share(minimum, expected)

    def _replicas(self, under: list[Record]) -> int:
        """The scale of the pods' owners; pods whose owner is not in the cluster stand for themselves."""
        owned: dict[str, int] = {}
        alone = 0
        for pod in under:
            owner = pods.controller(pod.body)
            if owner is None or owner["uid"] in owned:
                alone += owner is None
                continue
            kind = self._kinds.of(owner["apiVersion"], owner["kind"], True)
            record = self._store.find(kind, (pod.key[0], owner["name"]))
            spec = (record.body.get("spec") or {}) if record else {}
            count = spec.get("replicas", spec.get("parallelism"))
            same = sum(1 for other in under if (pods.controller(other.body) or {}).get("uid") == owner["uid"])
            owned[owner["uid"]] = same if count is None else int(count)
        return alone + sum(owned.values())


def _selects(budget: Record, labels: dict[str, str]) -> bool:
    selector = (budget.body.get("spec") or {}).get("selector")
    return bool(selector) and labels_match(selector, labels)


def _share(amount: Any, of: int) -> int:
    """`30%` of a number, rounded up, or the number itself (intstr.GetScaledValueFromIntOrPercent, roundUp)."""
    if isinstance(amount, int):
        return amount
    return -(-int(str(amount).rstrip("%")) * of // 100)
