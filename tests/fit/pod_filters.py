"""What other pods say: required affinity, anti-affinity in both directions, and spread.

Source: plugins interpodaffinity/filtering.go and podtopologyspread/{filtering,common}.go. Affinity counts pods that are
terminating, spread does not.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.fit.node_filters import is_selected, repels_none
from tests.fit.selectors import is_empty, labels_match, narrowed
from tests.fit.state import State, labels_of

Object = Mapping[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def has_company(state: State, pod: Object, node: Object) -> bool:
    """Required affinity. In the node's domain of each term is a pod that meets all terms at once; or no such pod is in any
    domain of the cluster, and this one meets them itself. The node has each of the keys in either case."""
    terms = _terms(pod, "podAffinity")
    if not all(term["topologyKey"] in labels_of(node) for term in terms):
        return False
    companions = [where for where, other in state.everywhere() if all(_meets(state, pod, term, other) for term in terms)]
    beside = all(any(_same_domain(where, node, term) for where in companions) for term in terms)
    elsewhere = any(term["topologyKey"] in labels_of(where) for where in companions for term in terms)
    return beside or (not elsewhere and all(_meets(state, pod, term, pod) for term in terms))


def avoids_none(state: State, pod: Object, node: Object) -> bool:
    """The pod's own anti-affinity."""
    return not any(
        _same_domain(where, node, term) and _meets(state, pod, term, other)
        for term in _terms(pod, "podAntiAffinity")
        for where, other in state.everywhere()
    )


def is_avoided_by_none(state: State, pod: Object, node: Object) -> bool:
    """The anti-affinity of those that run."""
    return not any(
        _same_domain(where, node, term) and _meets(state, other, term, pod)
        for where, other in state.everywhere()
        for term in _terms(other, "podAntiAffinity")
    )


def _terms(pod: Object, kind: str) -> Sequence[Object]:
    return ((pod["spec"].get("affinity") or {}).get(kind) or {}).get(REQUIRED) or ()


def _same_domain(one: Object, other: Object, term: Object) -> bool:
    """Nodes without the label are in no domain."""
    key = term["topologyKey"]
    return key in labels_of(one) and labels_of(one)[key] == labels_of(other).get(key)


def _meets(state: State, owner: Object, term: Object, other: Object) -> bool:
    """Whether `other` is one of the pods that the owner's term means."""
    namespace, listed, chosen = other["metadata"]["namespace"], term.get("namespaces"), term.get("namespaceSelector")
    if listed or chosen is not None:
        space = state.get("Namespace", namespace)
        within = namespace in (listed or ()) or labels_match(chosen, labels_of(space) if space else {})
    else:
        within = namespace == owner["metadata"]["namespace"]
    selector = narrowed(term.get("labelSelector"), term.get("matchLabelKeys") or (), labels_of(owner))
    selector = narrowed(selector, term.get("mismatchLabelKeys") or (), labels_of(owner), "NotIn")
    return within and labels_match(selector, labels_of(other))


def is_spread(state: State, pod: Object, node: Object) -> bool:
    """All constraints with DoNotSchedule."""
    constraints = [
        one for one in pod["spec"].get("topologySpreadConstraints") or () if one["whenUnsatisfiable"] == "DoNotSchedule"
    ]
    return all(_is_within_skew(state, pod, node, constraints, one) for one in constraints)


def _is_within_skew(state: State, pod: Object, node: Object, constraints: Sequence[Object], constraint: Object) -> bool:
    key = constraint["topologyKey"]
    if key not in labels_of(node):
        return False
    selector = narrowed(constraint.get("labelSelector"), constraint.get("matchLabelKeys") or (), labels_of(pod))
    counts = Counter[str]()
    for name, where in _eligible(state, pod, constraints, constraint):
        counts[labels_of(where)[key]] += sum(_counts(selector, pod, other) for other in state.pods[name])
    least = min(counts.values(), default=0) if len(counts) >= (constraint.get("minDomains") or 1) else 0
    itself = labels_match(selector, labels_of(pod))
    return counts[labels_of(node)[key]] + itself - least <= constraint["maxSkew"]


def _eligible(state: State, pod: Object, constraints: Sequence[Object], one: Object) -> Iterator[tuple[str, Object]]:
    """Nodes that make up domains: they have the keys of all constraints and, where its policies say so, suit the pod."""
    for name, node in state.nodes.items():
        if (
            all(constraint["topologyKey"] in labels_of(node) for constraint in constraints)
            and ((one.get("nodeAffinityPolicy") or "Honor") == "Ignore" or is_selected(pod, node))
            and ((one.get("nodeTaintsPolicy") or "Ignore") == "Ignore" or repels_none(pod, node))
        ):
            yield name, node


def _counts(selector: Object | None, pod: Object, other: Object) -> bool:
    """An empty selector counts nobody, though it would match everybody."""
    meta = other["metadata"]
    return (
        not is_empty(selector)
        and meta["namespace"] == pod["metadata"]["namespace"]
        and not meta.get("deletionTimestamp")
        and labels_match(selector, labels_of(other))
    )
