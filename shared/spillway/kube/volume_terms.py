"""Alternatives of node affinity that a volume brings: of two sets all that hold in both, and of a volume's zone labels."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import product

from spillway.kube.storage import ZONE_LABELS, Terms
from spillway.model.base import encode
from spillway.model.selector import NodeSelectorTerm, Requirement

_ABSENT = NodeSelectorTerm(expressions=tuple(Requirement(key=key, operator="DoesNotExist") for key in ZONE_LABELS))


def alternatives(choices: Iterable[Terms | None]) -> Terms | None:
    """All of them together; None where one of them is anywhere."""
    found: set[NodeSelectorTerm] = set()
    for terms in choices:
        if terms is None:
            return None
        found.update(terms)
    return tuple(sorted(found, key=encode))


@lru_cache(maxsize=4096)
def of_zones(zones: tuple[tuple[str, str], ...]) -> Terms | None:
    """Labels of a volume that its node must share, unless the node has none of these labels at all.

    Source: plugins/volumezone. A value may be a set, `us-east-1a__us-east-1b`; one with an empty part is passed over. A node
    that lacks a label of the old name is asked for the new one.
    """
    choices = []
    for key, value in zones:
        parts = [part.strip() for part in value.split("__")]
        if not all(parts):
            continue
        wanted = tuple(sorted(set(parts)))
        own = (Requirement(key=key, operator="In", values=wanted),)
        newer = key.replace("failure-domain.beta.", "topology.")
        instead = (Requirement(key=key, operator="DoesNotExist"), Requirement(key=newer, operator="In", values=wanted))
        choices.append((own,) if newer == key else (own, instead))
    if not choices:
        return None
    held = (NodeSelectorTerm(expressions=tuple(r for part in chosen for r in part)) for chosen in product(*choices))
    return (*held, _ABSENT)


def both(one: Terms | None, other: Terms | None) -> Terms | None:
    """Alternatives of which each holds in both."""
    if one is None or other is None:
        return other if one is None else one
    met = {
        NodeSelectorTerm(expressions=(*a.expressions, *b.expressions), fields=(*a.fields, *b.fields))
        for a, b in product(one, other)
        if (a.expressions or a.fields) and (b.expressions or b.fields)
    }
    return tuple(sorted(met, key=encode))
