"""The scheduling rules of a pod, from their raw JSON: affinity, spread and tolerations.

Where their order means nothing they are sorted, so that pods whose rules say the same in another order are one shape.
Source of the meanings: k8s.io/api/core/v1/types.go. What the API server would default is defaulted here,
so that a hand-written dump means the same as a live object.
"""

from collections.abc import Iterable
from typing import TypeVar

import msgspec
from msgspec import Raw

from spillway.kube.fields import ABSENT, LabelSelector, Part, SelectorExpression
from spillway.model import cluster as model
from spillway.model.base import Model, encode
from spillway.model.selector import NodeSelectorTerm, PreferredTerm, Requirement

M = TypeVar("M", bound=Model)


class _NodeTerm(Part):
    match_expressions: list[SelectorExpression] | None = None
    match_fields: list[SelectorExpression] | None = None


class _NodeTerms(Part):
    node_selector_terms: list[_NodeTerm] = []


class _WeightedNodeTerm(Part):
    weight: int
    preference: _NodeTerm


class _NodeAffinity(Part):
    required: _NodeTerms | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[_WeightedNodeTerm] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class _PodTerm(Part):
    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class _WeightedPodTerm(Part):
    weight: int
    pod_affinity_term: _PodTerm


class _PodAffinity(Part):
    required: list[_PodTerm] | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[_WeightedPodTerm] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class _Affinity(Part):
    node_affinity: _NodeAffinity | None = None
    pod_affinity: _PodAffinity | None = None
    pod_anti_affinity: _PodAffinity | None = None


class _Spread(Part):
    topology_key: str
    max_skew: int
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    match_label_keys: list[str] | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class _Toleration(Part):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class Affinity(msgspec.Struct, frozen=True):
    """A pod's affinity as the fields of a PodShape."""

    nodes: tuple[NodeSelectorTerm, ...] | None = None
    preferred_nodes: tuple[PreferredTerm, ...] = ()
    pods: tuple[model.PodAffinityTerm, ...] = ()
    anti: tuple[model.PodAffinityTerm, ...] = ()


_affinity = msgspec.json.Decoder(_Affinity | None)
_spread = msgspec.json.Decoder(list[_Spread] | None)
_tolerations = msgspec.json.Decoder(list[_Toleration] | None)
_node_terms = msgspec.json.Decoder(_NodeTerms | None)


def requirements(selector: LabelSelector | None) -> tuple[Requirement, ...] | None:
    """None for no selector, which matches nothing; () for an empty one, which matches everything."""
    if selector is None:
        return None
    labels = (Requirement(key=k, operator="In", values=(v,)) for k, v in sorted((selector.match_labels or {}).items()))
    return tuple(sorted({*labels, *_expressions(selector.match_expressions)}, key=encode))


def affinity(raw: Raw, namespace: str) -> Affinity:
    """`namespace` is the pod's own, which a term without namespaces means."""
    found = _affinity.decode(raw) if raw != ABSENT else None
    if found is None:
        return Affinity()
    nodes = found.node_affinity or _NodeAffinity()
    return Affinity(
        nodes=None if nodes.required is None else _sorted(_node_term(t) for t in nodes.required.node_selector_terms),
        preferred_nodes=_sorted(PreferredTerm(weight=t.weight, term=_node_term(t.preference)) for t in nodes.preferred or ()),
        pods=_pod_terms(found.pod_affinity, namespace),
        anti=_pod_terms(found.pod_anti_affinity, namespace),
    )


def node_terms(raw: bytes) -> tuple[NodeSelectorTerm, ...]:
    """A NodeSelector's; () is one that no node meets."""
    found = _node_terms.decode(raw)
    return _sorted(_node_term(t) for t in found.node_selector_terms) if found else ()


def spread(raw: Raw) -> tuple[model.SpreadConstraint, ...]:
    found = _spread.decode(raw) if raw != ABSENT else None
    return _sorted(
        model.SpreadConstraint(
            topology_key=s.topology_key,
            max_skew=s.max_skew,
            when_unsatisfiable=s.when_unsatisfiable,
            selector=requirements(s.label_selector),
            min_domains=s.min_domains or 1,
            match_label_keys=tuple(sorted(s.match_label_keys or ())),
            node_affinity_policy=s.node_affinity_policy or "Honor",
            node_taints_policy=s.node_taints_policy or "Ignore",
        )
        for s in found or ()
    )


def tolerations(raw: Raw) -> tuple[model.Toleration, ...]:
    """Sorted, without doubles: their order means nothing."""
    found = _tolerations.decode(raw) if raw != ABSENT else None
    tolerated = {(t.key or "", t.operator or "Equal", t.value or "", t.effect or "") for t in found or ()}
    return tuple(model.Toleration(key=k, operator=o, value=v, effect=e) for k, o, v, e in sorted(tolerated))


def _sorted(rules: Iterable[M]) -> tuple[M, ...]:
    return tuple(sorted(rules, key=encode))


def _expressions(found: list[SelectorExpression] | None) -> tuple[Requirement, ...]:
    return _sorted(Requirement(key=e.key, operator=e.operator, values=tuple(sorted(set(e.values or ())))) for e in found or ())


def _node_term(term: _NodeTerm) -> NodeSelectorTerm:
    return NodeSelectorTerm(expressions=_expressions(term.match_expressions), fields=_expressions(term.match_fields))


def _pod_terms(found: _PodAffinity | None, namespace: str) -> tuple[model.PodAffinityTerm, ...]:
    if found is None:
        return ()
    required = _sorted(_pod_term(t, namespace, 0) for t in found.required or ())
    return (*required, *_sorted(_pod_term(t.pod_affinity_term, namespace, t.weight) for t in found.preferred or ()))


def _pod_term(term: _PodTerm, namespace: str, weight: int) -> model.PodAffinityTerm:
    own = () if term.namespaces or term.namespace_selector is not None else (namespace,)
    return model.PodAffinityTerm(
        topology_key=term.topology_key,
        selector=requirements(term.label_selector),
        namespaces=tuple(sorted(set(term.namespaces or own))),
        namespace_selector=requirements(term.namespace_selector),
        match_label_keys=tuple(sorted(term.match_label_keys or ())),
        mismatch_label_keys=tuple(sorted(term.mismatch_label_keys or ())),
        weight=weight,
    )
