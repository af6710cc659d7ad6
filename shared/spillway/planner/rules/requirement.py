"""One selector expression against the labels of a node.

Source: k8s.io/apimachinery/pkg/labels/selector.go, Requirement.Matches. NotIn and DoesNotExist hold where the key
is absent; Gt and Lt compare integers, and a value that is none matches nothing. Of a value that nobody knows only Exists is
sure.
"""

import re

from spillway.model.base import Labels
from spillway.model.selector import UNTOLD, Requirement

_INTEGER = re.compile(r"[+-]?[0-9]{1,63}")  # a label's value is no longer


def integer(text: str) -> int | None:
    """As Go's strconv.ParseInt reads it; None when it is no integer of 64 bits."""
    found = int(text) if _INTEGER.fullmatch(text) else None
    return found if found is not None and -(2**63) <= found < 2**63 else None


def matches(requirement: Requirement, labels: Labels) -> bool:
    value = labels.get(requirement.key)
    operator = requirement.operator
    if operator == "In":
        return value is not None and value in requirement.values
    if operator == "NotIn":
        return value is None or (value != UNTOLD and value not in requirement.values)
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    return _compares(requirement, value)


def _compares(requirement: Requirement, value: str | None) -> bool:
    have = integer(value) if value is not None else None
    want = integer(requirement.values[0]) if len(requirement.values) == 1 else None
    if have is None or want is None:
        return False
    return have > want if requirement.operator == "Gt" else requirement.operator == "Lt" and have < want


def show(requirement: Requirement) -> str:
    """`zone in a, b`, for people."""
    words = {"In": "in", "NotIn": "not in", "Gt": ">", "Lt": "<"}
    if requirement.operator in ("Exists", "DoesNotExist"):
        return f"{requirement.key} {'present' if requirement.operator == 'Exists' else 'absent'}"
    return f"{requirement.key} {words.get(requirement.operator, requirement.operator)} {', '.join(requirement.values)}"
