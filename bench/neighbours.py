"""What pods say of each other, judged pod by pod: required affinity, anti-affinity in both directions, and hard spread.

It shares no code with the planner. A plan holds if its pods come in the order in which it hands them out, shape by shape; who
is refused is tried again as long as others come. Written from kubernetes/pkg/scheduler/framework/plugins/
{interpodaffinity,podtopologyspread}/filtering.go: affinity counts pods that terminate, spread does not.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from bench.scheduler import selects, tolerates
from spillway.model.cluster import Node, PodAffinityTerm, PodShape, SpreadConstraint
from spillway.model.selector import Requirement
from spillway.model.workloads import Namespace

Placed = tuple[str, PodShape, Node]
"""A pod's name, its shape, and the node where it is meant to be."""


@dataclass(frozen=True)
class _Who:
    """The pods that a term means: all of these selectors must match."""

    namespaces: frozenset[str]
    selector: tuple[Requirement, ...]


_Term = tuple[_Who, str]
"""Whom it means, and the topology key."""

Place = tuple[str, str]
"""A shape's id and a node's name."""

_HARD = "DoNotSchedule"


def refused(
    nodes: Iterable[Node],
    there: Iterable[tuple[PodShape, Node, bool]],
    placed: Sequence[Placed],
    namespaces: Iterable[Namespace],
) -> list[tuple[str, str, str]]:
    """(pod, node, rule) of those that do not come to their node, where `placed` is in the order of the plan.

    `nodes` are all, `there` the pods that run, each with whether it terminates.
    """
    known = {shape.id: shape for _, shape, _ in placed}
    state = _State(list(nodes), {one.name: one.labels for one in namespaces}, known)
    for shape, node, leaves in there:
        state.bind(shape, node, leaves)
    of: dict[Place, tuple[PodShape, Node]] = {}
    names: dict[Place, list[str]] = defaultdict(list)
    for pod, shape, node in placed:
        of[shape.id, node.name] = shape, node
        names[shape.id, node.name].append(pod)
    left: list[Place] = []
    for _, same in groupby(placed, key=lambda one: one[1].id):
        left += _evenly([(shape.id, node.name) for _, shape, node in same], of)
        while left and len(later := _pass(state, left, of)) < len(left):
            left = later
    return [(names[place].pop(), place[1], state.refusal(*of[place]).text) for place in left]


def _evenly(places: Sequence[Place], of: Mapping[Place, tuple[PodShape, Node]]) -> list[Place]:
    """Pods of one kind take turns over the domains of what they spread over, each as it has more or fewer of them."""

    def domain(place: Place) -> Hashable:
        shape, node = of[place]
        return tuple(sorted(shape.labels.items())), tuple(node.labels.get(one.topology_key) for one in shape.spread)

    domains = [domain(place) for place in places]
    total, seen = Counter(domains), Counter[Hashable]()
    order: list[tuple[float, int]] = []
    for number, one in enumerate(domains):
        seen[one] += 1
        order.append((seen[one] / total[one], number))
    return [places[number] for _, number in sorted(order)]


def _pass(state: "_State", places: Sequence[Place], of: Mapping[Place, tuple[PodShape, Node]]) -> list[Place]:
    """Tries each pod once, but for those of a shape that a spread refused in the same domain just now: who is left."""
    later, full = [], set[tuple[str, str, str | None]]()
    for place in places:
        shape, node = of[place]
        refusal = state.refusal(shape, node, full)
        if refusal.text:
            later.append(place)
        else:
            state.bind(shape, node, leaves=False)
    return later


class _Refusal(NamedTuple):
    """`key` is the topology key of a spread, in whose domain it holds for all nodes."""

    text: str
    key: str = ""


class _State:
    """Counts for the rules of `shapes`, kept up as pods are bound."""

    def __init__(
        self, nodes: Sequence[Node], namespaces: Mapping[str, Mapping[str, str]], shapes: Mapping[str, PodShape]
    ) -> None:
        self._nodes, self._namespaces = nodes, namespaces
        self._affinity: dict[str, list[_Term]] = {}
        self._anti_affinity: dict[str, list[_Term]] = {}
        self._hard: dict[str, list[tuple[SpreadConstraint, _Who, _Levels]]] = {}
        self._counts: dict[tuple[tuple[_Who, ...], str], Counter[str]] = {}
        self._owners: dict[_Term, Counter[str]] = defaultdict(Counter)
        self._spreads: dict[tuple[_Who, str, int], _Levels] = {}
        self._eligible: dict[str, Mapping[str, str]] = {}
        self._watchers: dict[str, list[Callable[[Node, bool], None]]] = {}
        for shape in shapes.values():
            self._affinity[shape.id] = self._terms(shape, shape.pod_affinity)
            self._hard[shape.id] = [self._levels(shape, one) for one in shape.spread if one.when_unsatisfiable == _HARD]
            every = tuple(dict.fromkeys(who for who, _ in self._affinity[shape.id]))
            for _, key in self._affinity[shape.id]:
                self._counts[every, key] = Counter()
            for who, key in self._terms(shape, shape.pod_anti_affinity):
                self._counts[(who,), key] = Counter()

    def bind(self, shape: PodShape, node: Node, leaves: bool) -> None:
        for who, key in self._avoided(shape):
            if key in node.labels:
                self._owners[who, key][node.labels[key]] += 1
        for count in self._counted_by(shape):
            count(node, leaves)

    def refusal(self, shape: PodShape, node: Node, full: set[tuple[str, str, str | None]] | None = None) -> "_Refusal":
        """The rule that keeps the pod off the node now; without a text where none does. `full` are a shape, a topology key
        and a value of it where a spread is known to refuse; more are added."""
        for one, _, _ in self._hard[shape.id] if full else ():
            if full and (shape.id, one.topology_key, node.labels.get(one.topology_key)) in full:
                return _Refusal("topology spread, as for the one before", one.topology_key)
        if text := self._lonely(shape, node) or self._avoids(shape, node):
            return _Refusal(text)
        found = self._uneven(shape, node)
        if found.key and full is not None:
            full.add((shape.id, found.key, node.labels[found.key]))
        return found

    def _lonely(self, shape: PodShape, node: Node) -> str:
        terms = self._affinity[shape.id]
        every = tuple(dict.fromkeys(who for who, _ in terms))
        for _, key in terms:
            if key not in node.labels:
                return f"pod affinity: the node has no {key}"
        counts = [(key, self._counts[every, key]) for _, key in terms]
        if all(count[node.labels[key]] for key, count in counts):
            return ""
        if not any(count.total() for _, count in counts) and all(self._means(who, shape) for who in every):
            return ""  # the first of its kind
        return f"pod affinity: no pod that it looks for in its {' and '.join(key for _, key in terms)}"

    def _avoids(self, shape: PodShape, node: Node) -> str:
        for who, key in self._avoided(shape):
            if key in node.labels and self._counts[(who,), key][node.labels[key]]:
                return f"pod anti-affinity: one that it avoids is in its {key}"
        for (who, key), owners in self._owners.items():
            if key in node.labels and owners[node.labels[key]] and self._means(who, shape):
                return f"pod anti-affinity: one that avoids it is in its {key}"
        return ""

    def _uneven(self, shape: PodShape, node: Node) -> "_Refusal":
        for one, who, levels in self._hard[shape.id]:
            value = node.labels.get(one.topology_key)
            if value is None:
                return _Refusal(f"topology spread: the node has no {one.topology_key}")
            skew = levels.above_least(value, one.min_domains) + self._means(who, shape)
            if skew > one.max_skew:
                text = f"topology spread: a skew of {skew} over {one.topology_key}, at most {one.max_skew}"
                return _Refusal(text, one.topology_key)
        return _Refusal("")

    def _avoided(self, shape: PodShape) -> list[_Term]:
        if shape.id not in self._anti_affinity:
            self._anti_affinity[shape.id] = self._terms(shape, shape.pod_anti_affinity)
        return self._anti_affinity[shape.id]

    def _terms(self, shape: PodShape, terms: Iterable[PodAffinityTerm]) -> list[_Term]:
        return [(self._who(shape, one), one.topology_key) for one in terms if one.weight == 0]

    def _who(self, shape: PodShape, term: PodAffinityTerm) -> _Who:
        """A term without a selector means nobody."""
        if term.selector is None:
            return _Who(frozenset(), ())
        spaces = set(term.namespaces)
        if term.namespace_selector is not None:
            spaces |= {name for name, labels in self._namespaces.items() if _matches(term.namespace_selector, labels)}
        elif not term.namespaces:
            spaces = {shape.namespace}
        more = [Requirement(key, "In", (shape.labels[key],)) for key in term.match_label_keys if key in shape.labels]
        more += [Requirement(key, "NotIn", (shape.labels[key],)) for key in term.mismatch_label_keys if key in shape.labels]
        return _Who(frozenset(spaces), (*term.selector, *more))

    def _means(self, who: _Who, shape: PodShape) -> bool:
        return shape.namespace in who.namespaces and _matches(who.selector, shape.labels)

    def _levels(self, shape: PodShape, one: SpreadConstraint) -> tuple[SpreadConstraint, _Who, "_Levels"]:
        more = [Requirement(key, "In", (shape.labels[key],)) for key in one.match_label_keys if key in shape.labels]
        selector = () if one.selector is None else (*one.selector, *more)
        who = _Who(frozenset() if one.selector is None else frozenset({shape.namespace}), selector)
        names = self._names_of(shape, one)
        known = (who, one.topology_key, id(names))
        if known not in self._spreads:
            self._spreads[known] = _Levels(names)
        return one, who, self._spreads[known]

    def _names_of(self, shape: PodShape, one: SpreadConstraint) -> Mapping[str, str]:
        """The nodes that the spread counts, with their values of its key: asked once for shapes that agree."""
        keys = [other.topology_key for other in shape.spread if other.when_unsatisfiable == _HARD]
        honors = one.node_affinity_policy == "Honor", one.node_taints_policy == "Honor"
        selected = (shape.node_selector, shape.node_affinity) if honors[0] else ()
        known = repr((one.topology_key, keys, honors, selected, shape.tolerations if honors[1] else ()))
        if known not in self._eligible:
            self._eligible[known] = {
                node.name: node.labels[one.topology_key]
                for node in self._nodes
                if all(key in node.labels for key in keys)
                and (not honors[0] or selects(node, shape))
                and (not honors[1] or tolerates(node, shape))
            }
        return self._eligible[known]

    def _counted_by(self, shape: PodShape) -> list[Callable[[Node, bool], None]]:
        """Every count that a pod of the shape is in; it waits for all rules to be known."""
        if shape.id not in self._watchers:
            found: list[Callable[[Node, bool], None]] = []
            for (every, key), counter in self._counts.items():
                if all(self._means(who, shape) for who in every):
                    found.append(_adding(counter, key))
            found += [levels.add for (who, _, _), levels in self._spreads.items() if self._means(who, shape)]
            self._watchers[shape.id] = found
        return self._watchers[shape.id]


def _adding(counter: Counter[str], key: str) -> Callable[[Node, bool], None]:
    def add(node: Node, leaves: bool) -> None:
        if key in node.labels:
            counter[node.labels[key]] += 1

    return add


@dataclass
class _Levels:
    """Pods by domain, of the nodes that a spread counts (`names`, with the value of the key). `domains` counts them by pods."""

    names: Mapping[str, str]

    def __post_init__(self) -> None:
        self.pods = Counter(dict.fromkeys(self.names.values(), 0))
        self.domains, self._least = Counter({0: len(self.pods)}), 0

    def add(self, node: Node, leaves: bool) -> None:
        if node.name in self.names and not leaves:
            value = self.names[node.name]
            self.domains[self.pods[value]] -= 1
            self.pods[value] += 1
            self.domains[self.pods[value]] += 1
            while not self.domains[self._least]:  # pods only come
                self._least += 1

    def above_least(self, value: str, min_domains: int) -> int:
        """A value that the spread does not count has no pods."""
        return self.pods[value] - (self._least if len(self.pods) >= min_domains else 0)


def _matches(selector: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    for one in selector:
        value = labels.get(one.key)
        holds = {
            "In": value in one.values,
            "NotIn": value not in one.values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }[one.operator]
        if not holds:
            return False
    return True
