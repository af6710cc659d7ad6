"""PodDisruptionBudgets: how many of whose pods may go.

Source: k8s.io/api/policy/v1/types.go; the eviction's own checks are in pkg/registry/core/pod/storage/eviction.go.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.label_readers import Reader
from spillway.kube.scheduling import requirements
from spillway.model.cluster import PodShape
from spillway.model.selector import Requirement
from spillway.model.workloads import Budget
from spillway.planner.rules.requirement import matches


class _Meta(fields.BareMeta):
    generation: int = 0


class _Spec(fields.Part):
    selector: fields.LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class _Status(fields.Part):
    observed_generation: int = 0
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0


class _Budget(fields.Part):
    metadata: _Meta
    spec: _Spec | None = None
    status: _Status | None = None


class SeenBudget(NamedTuple):
    """`selector` None takes no pod, () all of the namespace. `budget` names no shapes yet."""

    selector: tuple[Requirement, ...] | None
    budget: Budget


_budget = msgspec.json.Decoder(_Budget)


def read(raw: Raw | bytes) -> tuple[tuple[str, str], SeenBudget]:
    found = _budget.decode(raw)
    meta, spec, status = found.metadata, found.spec or _Spec(), found.status or _Status()
    budget = Budget(
        namespace=meta.namespace or "default",
        name=meta.name,
        allowed=status.disruptions_allowed,
        healthy=status.current_healthy,
        desired=status.desired_healthy,
        expected=status.expected_pods,
        processed=status.observed_generation >= meta.generation,
        evicts_unready=spec.unhealthy_pod_eviction_policy == "AlwaysAllow",
    )
    return (budget.namespace, budget.name), SeenBudget(requirements(spec.selector), budget)


def readers(found: Iterable[SeenBudget]) -> Iterator[Reader]:
    """The labels of pods that they read."""
    return (Reader(one.budget.namespace, one.selector) for one in found if one.selector is not None)


def budgets(found: Mapping[tuple[str, str], SeenBudget], shapes: Iterable[PodShape]) -> Iterator[Budget]:
    """By namespace and name, with the shapes that they select; two may select the same."""
    labelled: dict[tuple[str, str, str], list[PodShape]] = defaultdict(list)
    spaces: dict[str, list[PodShape]] = defaultdict(list)
    for shape in shapes:
        spaces[shape.namespace].append(shape)
        for key, value in shape.labels.items():
            labelled[shape.namespace, key, value].append(shape)
    for _, (selector, budget) in sorted(found.items()):
        likely = spaces[budget.namespace] if selector is not None else []
        # Looking at every shape for every budget would take minutes where there are thousands of both.
        if named := next((one for one in selector or () if one.operator == "In"), None):
            likely = [one for value in named.values for one in labelled.get((budget.namespace, named.key, value), ())]
        chosen = (shape.id for shape in likely if all(matches(one, shape.labels) for one in selector or ()))
        yield msgspec.structs.replace(budget, shapes=tuple(sorted(chosen)))
