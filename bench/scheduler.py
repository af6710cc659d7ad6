"""A model of the kube-scheduler for single pods, plain and pod by pod: its queue order, filters and default scores.

It is written from the scheduler's documentation and shares no code with the planner, which it judges.
Queue: priority, then arrival. Filters: resources, nodeSelector, required node affinity, taints. Scores: LeastAllocated and
BalancedAllocation with weight 1 each, as in the default profile; ties by a seeded draw. Not in it: spread, pod affinity,
preferences, preemption, and the sample of nodes that the real one scores where there are more than a hundred.
Source: kubernetes/pkg/scheduler/framework/plugins/noderesources/{least_allocated,balanced_allocation}.go.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import pstdev

from spillway.model.cluster import Node, PodShape, Taint, Toleration
from spillway.model.selector import NodeSelectorTerm, Requirement

SCORED = ("cpu", "memory")
MAX_SCORE = 100
# A pod without a request is scored as if it had one (pkg/scheduler/util/pod_resources.go), never filtered by it.
NON_ZERO = {"cpu": 100, "memory": 200 * 1024**2}

Waiting = Sequence[tuple[str, PodShape]]
"""Pods by name, in order of arrival."""


@dataclass
class Host:
    """A node with what is taken on it: `used` as requested, `scored` with NON_ZERO for what was not."""

    node: Node
    group: str
    price_usd_h: float
    used: dict[str, int] = field(default_factory=dict)
    scored: dict[str, int] = field(default_factory=dict)
    pods: list[str] = field(default_factory=list)

    def fits(self, requests: Mapping[str, int]) -> bool:
        have = self.node.allocatable
        return all(self.used.get(name, 0) + value <= have.get(name, 0) for name, value in requests.items() if value)

    def add(self, name: str, requests: Mapping[str, int]) -> None:
        self.pods.append(name)
        for resource, value in requests.items():
            self.used[resource] = self.used.get(resource, 0) + value
        for resource in SCORED:
            self.scored[resource] = self.scored.get(resource, 0) + (requests.get(resource) or NON_ZERO[resource])

    def score(self, requests: Mapping[str, int]) -> int:
        """The sum of both scores, 0 to 200, of a pod that fits."""
        return self._least_allocated(requests) + self._balanced(requests)

    def _least_allocated(self, requests: Mapping[str, int]) -> int:
        scores = []
        for resource in SCORED:
            have = self.node.allocatable.get(resource, 0)
            want = self.scored.get(resource, 0) + (requests.get(resource) or NON_ZERO[resource])
            scores.append((have - want) * MAX_SCORE // have if want <= have and have else 0)
        return sum(scores) // len(scores)

    def _balanced(self, requests: Mapping[str, int]) -> int:
        shares = []
        for resource in SCORED:
            have = self.node.allocatable.get(resource, 0)
            want = self.used.get(resource, 0) + requests.get(resource, 0)
            shares.append(min(1.0, want / have) if have else 1.0)
        return int((1 - pstdev(shares)) * MAX_SCORE)


def bind(waiting: Waiting, hosts: Sequence[Host], draw: random.Random) -> tuple[dict[str, Host], list[tuple[str, PodShape]]]:
    """Puts each pod on the best host that takes it; (host by pod, those left in order of arrival)."""
    bound: dict[str, Host] = {}
    allowed: dict[str, list[Host]] = {}
    for name, shape in sorted(waiting, key=lambda item: -item[1].priority):
        if shape.id not in allowed:
            allowed[shape.id] = [host for host in hosts if admits(host.node, shape)]
        able = [host for host in allowed[shape.id] if host.fits(shape.requests)]
        if able:
            scores = [host.score(shape.requests) for host in able]
            best = max(scores)
            host = draw.choice([host for host, score in zip(able, scores, strict=True) if score == best])
            host.add(name, shape.requests)
            bound[name] = host
    return bound, [(name, shape) for name, shape in waiting if name not in bound]


def admits(node: Node, shape: PodShape) -> bool:
    """All filters but resources, and but those that speak of other pods."""
    if node.unschedulable or (shape.node_name and shape.node_name != node.name):
        return False
    return selects(node, shape) and tolerates(node, shape)


def selects(node: Node, shape: PodShape) -> bool:
    """nodeSelector and required node affinity."""
    if any(node.labels.get(key) != value for key, value in shape.node_selector.items()):
        return False
    return shape.node_affinity is None or any(_matches(term, node) for term in shape.node_affinity)


def tolerates(node: Node, shape: PodShape) -> bool:
    return all(
        any(_tolerates(t, taint) for t in shape.tolerations) for taint in node.taints if taint.effect != "PreferNoSchedule"
    )


def _matches(term: NodeSelectorTerm, node: Node) -> bool:
    if not term.expressions and not term.fields:
        return False
    fields = {"metadata.name": node.name}
    return all(_holds(r, node.labels) for r in term.expressions) and all(_holds(r, fields) for r in term.fields)


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            try:
                left, right = int(value or ""), int(requirement.values[0])
            except (ValueError, IndexError):
                return False
            return left > right if requirement.operator == "Gt" else left < right


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return toleration.key == taint.key and toleration.value == taint.value
