"""What pods say of other pods, as one predicate each, and which shapes meet it: judged once a shape, never a pod.

Sources: plugins interpodaffinity and podtopologyspread of kube-scheduler; KEP-2249 (namespaceSelector), KEP-3633
(matchLabelKeys and mismatchLabelKeys), KEP-3022 (minDomains), KEP-3094 (node policies), KEP-3243 (matchLabelKeys of spread).
The API server may have merged the keys into the selector already; doing it again changes nothing.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from spillway.model.base import Labels
from spillway.model.cluster import PodAffinityTerm, PodShape, SpreadConstraint
from spillway.model.selector import Requirement
from spillway.planner.rules.requirement import matches, show

HOSTNAME = "kubernetes.io/hostname"


class Pods(NamedTuple):
    """Pods by namespace and labels. `namespaces` None: all of them; `selector` None: no pod. Or those that share `volume`."""

    namespaces: frozenset[str] | None
    selector: tuple[Requirement, ...] | None
    volume: str = ""

    def include(self, shape: PodShape) -> bool:
        if self.volume:
            return any(need.shared == self.volume for need in shape.volumes)
        if self.selector is None or (self.namespaces is not None and shape.namespace not in self.namespaces):
            return False
        return all(matches(requirement, shape.labels) for requirement in self.selector)

    @property
    def shown(self) -> str:
        """`app=db`, for people."""
        return (
            f"with volume {self.volume}"
            if self.volume
            else (
                ", ".join(
                    f"{r.key}={r.values[0]}" if r.operator == "In" and len(r.values) == 1 else show(r)
                    for r in self.selector or ()
                )
                or "of any kind"
            )
        )


class Avoid(NamedTuple):
    """Required anti-affinity: no such pod where `key` has the same value, and the pod is in nobody's way who says so."""

    key: str
    pods: Pods


class Near(NamedTuple):
    """Required affinity: for each of `keys`, a pod that all of `pods` include where the key has the same value."""

    keys: tuple[str, ...]
    pods: tuple[Pods, ...]

    def include(self, shape: PodShape) -> bool:
        return all(one.include(shape) for one in self.pods)


class Spread(NamedTuple):
    """A spread that is required. `keys` are those of all the pod's required spreads: a node that lacks one is no domain."""

    key: str
    pods: Pods
    max_skew: int
    min_domains: int
    honors_affinity: bool
    honors_taints: bool
    keys: tuple[str, ...]


class Wish(NamedTuple):
    """What a pod would have rather than not: `weight` for each pod that `pods` include where `key` has the same value, below
    0 where it would rather be without. With a `spread` of ScheduleAnyway each such pod counts against the domain."""

    key: str
    pods: Pods
    weight: int
    spread: Spread | None = None


def where_of(spread: Spread, shape: PodShape) -> Hashable:
    """What of the shape says which nodes its spread counts: equal for pods that count the same ones."""
    affinity = (tuple(sorted(shape.node_selector.items())), shape.node_affinity, shape.node_name)
    return affinity if spread.honors_affinity else (), shape.tolerations if spread.honors_taints else ()


class Terms:
    """Compiles the rules of shapes. `namespaces` are labels by namespace."""

    def __init__(self, namespaces: Mapping[str, Labels]) -> None:
        self._namespaces = namespaces
        self._selected: dict[tuple[Requirement, ...], frozenset[str]] = {}

    def avoided(self, shape: PodShape) -> list[Avoid]:
        required = (term for term in shape.pod_anti_affinity if term.weight == 0)
        return list(dict.fromkeys(Avoid(term.topology_key, self._pods(term, shape)) for term in required))

    def beside(self, shape: PodShape) -> list[Near]:
        """Each by itself. All terms of affinity hold together, and of the same pod: source interpodaffinity/filtering.go,
        podMatchesAllAffinityTerms. Pods whose shared volume is not made yet want to be where the first of them goes: plugin
        volumebinding.
        """
        required = [term for term in shape.pod_affinity if term.weight == 0]
        found = [Near((need.first_decides,), (Pods(None, (), need.shared),)) for need in shape.volumes if need.first_decides]
        if required:
            pods = dict.fromkeys(self._pods(term, shape) for term in required)
            found.append(Near(tuple(sorted({term.topology_key for term in required})), tuple(pods)))
        return list(dict.fromkeys(found))

    def near(self, shape: PodShape) -> Near | None:
        """All of `beside` as one, for dealing: a pod that all of them look for."""
        found = self.beside(shape)
        if not found:
            return None
        keys = sorted({key for one in found for key in one.keys})
        return Near(tuple(keys), tuple(dict.fromkeys(pods for one in found for pods in one.pods)))

    def spreads(self, shape: PodShape) -> list[Spread]:
        required = [one for one in shape.spread if one.when_unsatisfiable == "DoNotSchedule"]
        keys = tuple(sorted({one.topology_key for one in required}))
        return list(dict.fromkeys(self._spread(one, shape, keys) for one in required))

    def wishes(self, shape: PodShape) -> list[Wish]:
        """Preferred affinity and anti-affinity, and the spreads with ScheduleAnyway."""
        near = (Wish(one.topology_key, self._pods(one, shape), one.weight) for one in shape.pod_affinity if one.weight)
        apart = (Wish(one.topology_key, self._pods(one, shape), -one.weight) for one in shape.pod_anti_affinity if one.weight)
        soft = [one for one in shape.spread if one.when_unsatisfiable == "ScheduleAnyway"]
        keys = tuple(sorted({one.topology_key for one in soft}))
        spreads = (self._spread(one, shape, keys) for one in soft)
        return [*near, *apart, *(Wish(spread.key, spread.pods, -1, spread) for spread in spreads)]

    def _spread(self, one: SpreadConstraint, shape: PodShape, keys: tuple[str, ...]) -> Spread:
        selector = _merged(one.selector, one.match_label_keys, (), shape)
        return Spread(
            key=one.topology_key,
            pods=Pods(frozenset({shape.namespace}), selector),
            max_skew=one.max_skew,
            min_domains=one.min_domains,
            honors_affinity=one.node_affinity_policy == "Honor",
            honors_taints=one.node_taints_policy == "Honor",
            keys=keys,
        )

    def _pods(self, term: PodAffinityTerm, shape: PodShape) -> Pods:
        selector = _merged(term.selector, term.match_label_keys, term.mismatch_label_keys, shape)
        if term.namespace_selector == ():
            return Pods(None, selector)
        if term.namespace_selector is None:
            return Pods(frozenset(term.namespaces or (shape.namespace,)), selector)
        return Pods(self._select(term.namespace_selector).union(term.namespaces), selector)

    def _select(self, selector: tuple[Requirement, ...]) -> frozenset[str]:
        if selector not in self._selected:
            self._selected[selector] = frozenset(
                name for name, labels in self._namespaces.items() if all(matches(r, labels) for r in selector)
            )
        return self._selected[selector]


def _merged(
    selector: tuple[Requirement, ...] | None, match: Sequence[str], mismatch: Sequence[str], shape: PodShape
) -> tuple[Requirement, ...] | None:
    """Keys that the pod does not have say nothing."""
    if selector is None:
        return None
    more = [Requirement(key=key, operator="In", values=(shape.labels[key],)) for key in match if key in shape.labels]
    more += [Requirement(key=key, operator="NotIn", values=(shape.labels[key],)) for key in mismatch if key in shape.labels]
    return tuple(dict.fromkeys((*selector, *more)))


class Shapes:
    """Shapes by their labels, so that a predicate looks only at those that it may include."""

    def __init__(self, shapes: Iterable[PodShape]) -> None:
        self._all = list(shapes)
        self._by_label: dict[tuple[str, str], list[PodShape]] = defaultdict(list)
        for shape in self._all:
            for label in shape.labels.items():
                self._by_label[label].append(shape)
        self._known: dict[tuple[Pods, ...], frozenset[str]] = {}

    def included(self, *pods: Pods) -> frozenset[str]:
        """Ids of the shapes that all of them include."""
        if pods not in self._known:
            self._known[pods] = frozenset(
                shape.id for shape in self._candidates(pods[0]) if all(one.include(shape) for one in pods)
            )
        return self._known[pods]

    def _candidates(self, pods: Pods) -> Iterable[PodShape]:
        for requirement in pods.selector or ():
            if requirement.operator == "In":
                return [shape for value in requirement.values for shape in self._by_label.get((requirement.key, value), ())]
        return self._all
