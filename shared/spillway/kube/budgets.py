"""PodDisruptionBudgets: how many of whose pods may go.

Source: k8s.io/api/policy/v1/types.go; the eviction's own checks are in pkg/registry/core/pod/storage/eviction.go.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.label_readers import Reader
from spillway.kube.scheduling import requirements
from spillway.model.base import Labels
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


NAMED_IN = 10
"""Budgets in which a shape stands at most: from two on the API server evicts none of its pods, whatever they allow."""

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
    return (Reader((one.budget.namespace,), one.selector) for one in found if one.selector is not None)


def budgets(found: Mapping[tuple[str, str], SeenBudget], shapes: Iterable[PodShape]) -> Iterator[Budget]:
    """By namespace and name, with the shapes that they select; two may select the same, and NAMED_IN at most name it."""
    spaces: dict[str, _Space] = defaultdict(_Space)
    for shape in shapes:
        spaces[shape.namespace].add(shape)
    named_in: Counter[str] = Counter()
    for _, (selector, budget) in sorted(found.items()):
        chosen = spaces[budget.namespace].chosen(selector) if selector is not None else ()
        told = tuple(shape for shape in chosen if named_in[shape] < NAMED_IN)
        named_in.update(told)
        yield msgspec.structs.replace(budget, shapes=told)


class _Alike(NamedTuple):
    """Shapes of equal labels, by id."""

    labels: Labels
    ids: list[str]


class _Space:
    """The shapes of one namespace. Looking at every shape for every budget would take minutes where there are thousands of
    both: equal labels are judged once, equal selectors once, and of a selector's `In` the rarest says which to look at.
    """

    def __init__(self) -> None:
        self._alike: dict[tuple[tuple[str, str], ...], _Alike] = {}
        self._labelled: dict[tuple[str, str], list[_Alike]] = defaultdict(list)
        self._chosen: dict[tuple[Requirement, ...], tuple[str, ...]] = {}

    def add(self, shape: PodShape) -> None:
        labels = tuple(sorted(shape.labels.items()))
        if labels not in self._alike:
            alike = self._alike[labels] = _Alike(shape.labels, [])
            for label in labels:
                self._labelled[label].append(alike)
        self._alike[labels].ids.append(shape.id)

    def chosen(self, selector: tuple[Requirement, ...]) -> tuple[str, ...]:
        """Ids of those that it selects, in order."""
        if selector not in self._chosen:
            found = (one.ids for one in self._likely(selector) if all(matches(r, one.labels) for r in selector))
            self._chosen[selector] = tuple(sorted(chain.from_iterable(found)))
        return self._chosen[selector]

    def _likely(self, selector: tuple[Requirement, ...]) -> Iterable[_Alike]:
        having = ([self._labelled.get((r.key, value), ()) for value in {*r.values}] for r in selector if r.operator == "In")
        rarest = min(having, key=lambda lists: sum(map(len, lists)), default=[self._alike.values()])
        return chain.from_iterable(rarest)
