"""Selectors, as the scheduler matches them against labels.

Source: k8s.io/apimachinery/pkg/labels/selector.go and k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]
Labels = Mapping[str, str]

_INTEGER = re.compile(r"[+-]?[0-9]+")


def labels_match(selector: Object | None, labels: Labels) -> bool:
    """Of a LabelSelector: none at all selects nothing, an empty one everything."""
    if selector is None:
        return False
    equal = (selector.get("matchLabels") or {}).items() <= labels.items()
    return equal and all(holds(one, labels) for one in selector.get("matchExpressions") or ())


def is_empty(selector: Object | None) -> bool:
    return selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions")


def narrowed(selector: Object | None, keys: Iterable[str], labels: Labels, operator: str = "In") -> Object | None:
    """As the API server merges matchLabelKeys (`In`) and mismatchLabelKeys (`NotIn`): keys that the pod lacks are left out."""
    if selector is None:
        return None
    more = [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys if key in labels]
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *more]}


def holds(requirement: Object, labels: Labels) -> bool:
    value, wanted = labels.get(requirement["key"]), requirement.get("values") or []
    ways: dict[str, Callable[[], bool]] = {
        "In": lambda: value in wanted,
        "NotIn": lambda: value is None or value not in wanted,
        "Exists": lambda: value is not None,
        "DoesNotExist": lambda: value is None,
        "Gt": lambda: _compares(value, wanted, above=True),
        "Lt": lambda: _compares(value, wanted, above=False),
    }
    return ways[requirement["operator"]]()


def _compares(value: str | None, wanted: list[str], above: bool) -> bool:
    have, bound = integer(value), integer(wanted[0] if len(wanted) == 1 else None)
    return have is not None and bound is not None and (have > bound if above else have < bound)


def integer(text: str | None) -> int | None:
    """Of 64 bits, else None."""
    found = int(text) if text is not None and _INTEGER.fullmatch(text) else None
    return found if found is not None and -(2**63) <= found < 2**63 else None


def node_matches(terms: Iterable[Object], node: Object) -> bool:
    """Of a NodeSelector's terms one holds as a whole; one without expressions and fields never does."""
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(_term_holds(term, node["metadata"].get("labels") or {}, fields) for term in terms)


def _term_holds(term: Object, labels: Labels, fields: Labels) -> bool:
    expressions, about_fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not about_fields:
        return False
    return all(holds(one, labels) for one in expressions) and all(holds(one, fields) for one in about_fields)
