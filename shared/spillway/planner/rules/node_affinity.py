"""Required node affinity: one of the terms must hold as a whole.

Source: k8s.io/component-helpers/scheduling/corev1/nodeaffinity. A term without expressions and fields matches no
node, and neither does an affinity without terms.
"""

from collections.abc import Iterable, Sequence

from spillway.model.cluster import PodShape
from spillway.model.reason import Code
from spillway.model.selector import NodeSelectorTerm, Requirement
from spillway.planner.rules import requirement
from spillway.planner.rules.base import NAME_FIELD, ZONE_KEYS, Host, Refusal


def part(shape: PodShape) -> tuple[NodeSelectorTerm, ...] | None:
    return shape.node_affinity


def keys(shape: PodShape) -> Iterable[str]:
    return keys_of(shape.node_affinity)


def refusal(shape: PodShape, host: Host) -> Refusal | None:
    return missed(shape.node_affinity, host)


def keys_of(terms: Sequence[NodeSelectorTerm] | None) -> Iterable[str]:
    for term in terms or ():
        yield from (r.key for r in term.expressions)
        if term.fields:
            yield NAME_FIELD


def missed(terms: Sequence[NodeSelectorTerm] | None, host: Host) -> Refusal | None:
    """Why none of the alternatives holds, None when one does. Its text goes on from "the pod …"."""
    if terms is None:
        return None
    missing = [unmet for term in terms if (unmet := _missed(term, host)) is not None]
    if len(missing) < len(terms):
        return None
    wanted = [requirement.show(r) for r in missing if r.key]
    if not wanted:
        return Refusal(Code.AFFINITY, "has a node affinity that matches no node")
    only_zone = all(r.key in ZONE_KEYS for r in missing)
    return Refusal(Code.ZONE if only_zone else Code.AFFINITY, f"wants {' or '.join(dict.fromkeys(wanted))}")


_EMPTY = Requirement(key="", operator="In")


def _missed(term: NodeSelectorTerm, host: Host) -> Requirement | None:
    """The first requirement that does not hold, `_EMPTY` for a term without any, None when all hold."""
    if not term.expressions and not term.fields:
        return _EMPTY
    for r in term.expressions:
        if not requirement.matches(r, host.labels):
            return r
    # A node to come is none of those that have a name.
    named = {NAME_FIELD: host.name} if host.name else {}
    return next((r for r in term.fields if r.key != NAME_FIELD or not requirement.matches(r, named)), None)
