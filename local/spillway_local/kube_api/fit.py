"""Whether a pod may go on a node, and how good a place it would be.

Filters: pkg/scheduler/framework/plugins/{nodeunschedulable,tainttoleration,nodeaffinity,noderesources}.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from spillway.model.quantity import resources
from spillway_local.kube_api import pods, selectors

Body = dict[str, Any]
_UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
# What an empty request counts as in scores, so that pods without requests spread too (util/pod_resources.go).
_LEAST = {"cpu": 100, "memory": 200 * 1024 * 1024}


@dataclass(frozen=True, eq=False)
class Shape:
    """All that the filters read of a pod; pods with equal `key` are alike to them."""

    key: bytes
    requests: dict[str, int]
    selector: Mapping[str, str]
    terms: tuple[Body, ...] | None  # required node affinity, any of them; None: not required
    tolerations: tuple[Body, ...]


def shape_of(pod: Body, known: dict[bytes, Shape]) -> Shape:
    """The shape of a pod, one object per distinct shape in `known`."""
    spec = pod["spec"]
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    requests = pods.requests(pod)
    key = msgspec.json.encode([requests, spec.get("nodeSelector"), required, spec.get("tolerations")], order="sorted")
    if key not in known:
        terms = None if required is None else tuple(required.get("nodeSelectorTerms") or ())
        known[key] = Shape(key, requests, spec.get("nodeSelector") or {}, terms, tuple(spec.get("tolerations") or ()))
    return known[key]


@dataclass(eq=False)
class Place:
    """A node as the scheduler sees it; `free` goes down with every pod."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Body, ...] = ()
    allocatable: Mapping[str, int] = field(default_factory=dict)
    free: dict[str, int] = field(default_factory=dict)
    here: dict[str, dict[str, int]] = field(default_factory=dict)  # uid -> requests
    nominated: dict[str, tuple[int, dict[str, int]]] = field(default_factory=dict)  # uid -> priority, requests

    def describe(self, node: Body) -> bool:
        """Takes in a new version of the node; tells whether anything that counts here differs."""
        spec, labels = node.get("spec") or {}, node["metadata"].get("labels") or {}
        cordon = (_UNSCHEDULABLE,) if spec.get("unschedulable") else ()  # first, as its filter is
        taints = cordon + tuple(spec.get("taints") or ())
        allocatable = resources((node.get("status") or {}).get("allocatable") or {})
        if (labels, taints, allocatable) == (self.labels, self.taints, self.allocatable):
            return False
        self.labels, self.taints, self.allocatable = labels, taints, allocatable
        self.free = dict(allocatable)
        for requests in self.here.values():
            self._take(requests)
        return True

    def put(self, uid: str, requests: dict[str, int]) -> None:
        if uid not in self.here:
            self.here[uid] = requests
            self._take(requests)

    def drop(self, uid: str) -> bool:
        requests = self.here.pop(uid, None)
        for name, amount in (requests or {}).items():
            self.free[name] = self.free.get(name, 0) + amount
        return requests is not None

    def _take(self, requests: dict[str, int]) -> None:
        for name, amount in requests.items():
            self.free[name] = self.free.get(name, 0) - amount

    def verdict(self, shape: Shape) -> str:
        """Why labels or taints do not let such pods in, in the scheduler's words; "" when they do."""
        for taint in self.taints:
            if taint.get("effect") != "PreferNoSchedule" and not _tolerated(taint, shape):
                if taint is _UNSCHEDULABLE:
                    return "node(s) were unschedulable"
                return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value') or ''}}}"
        wanted = all(self.labels.get(key) == value for key, value in shape.selector.items())
        if wanted and (shape.terms is None or any(self._meets(term) for term in shape.terms)):
            return ""
        return "node(s) didn't match Pod's node affinity/selector"

    def has_room(self, shape: Shape, uid: str, priority: int) -> bool:
        """Whether the requests fit beside what is here and what is nominated with no lower priority."""
        free = self.free
        if self.nominated:
            free = dict(free)
            for other, (rank, requests) in self.nominated.items():
                if other != uid and rank >= priority:
                    for name, amount in requests.items():
                        free[name] = free.get(name, 0) - amount
        for name, amount in shape.requests.items():  # noqa: SIM110, called for every pod and node
            if free.get(name, 0) < amount:
                return False
        return True

    def lacks(self, shape: Shape) -> list[str]:
        """What there is too little of, in the scheduler's words."""
        lacking = [name for name, amount in shape.requests.items() if self.free.get(name, 0) < amount]
        return ["Too many pods" if name == "pods" else f"Insufficient {name}" for name in lacking] or [
            "node(s) kept for nominated pods"
        ]

    def score(self, shape: Shape, packed: bool) -> int:
        """LeastAllocated (or MostAllocated when `packed`), BalancedAllocation and three times TaintToleration, 0 to 500."""
        shares = []
        for name, least in _LEAST.items():
            size = self.allocatable.get(name, 0)
            used = size - self.free.get(name, 0) + (shape.requests.get(name) or least)
            shares.append(min(1.0, used / size) if size else 1.0)
        mean = sum(shares) / 2
        balanced = 1 - abs(shares[0] - shares[1]) / 2
        shunned = any(taint.get("effect") == "PreferNoSchedule" and not _tolerated(taint, shape) for taint in self.taints)
        return int(100 * (mean if packed else 1 - mean)) + int(100 * balanced) + (0 if shunned else 300)

    def _meets(self, term: Body) -> bool:
        expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
        if not expressions and not fields:
            return False  # an empty term matches nothing
        return all(_holds(self.labels.get(one["key"]), one) for one in expressions) and all(
            _holds(self.name, one) for one in fields
        )


def _tolerated(taint: Body, shape: Shape) -> bool:
    """k8s.io/api/core/v1/toleration.go, ToleratesTaint."""
    for toleration in shape.tolerations:
        effect, key = toleration.get("effect"), toleration.get("key")
        if (effect and effect != taint.get("effect")) or (key and key != taint["key"]):
            continue
        operator = toleration.get("operator") or "Equal"
        if operator == "Exists" or (
            key and operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")
        ):
            return True
    return False


def _holds(value: str | None, expression: Body) -> bool:
    operator: str = expression["operator"]
    values: list[str] = expression.get("values") or []
    if operator not in ("Gt", "Lt"):
        return selectors.holds(value, operator, values)
    try:
        own, bound = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return own > bound if operator == "Gt" else own < bound
