"""Where the volumes of a pod can be had: each of them by one of its terms.

Source: plugins volumebinding and volumezone of kube-scheduler, of which the snapshot has made terms. Attach limits are
amounts and live in `planner.amounts`.
"""

from collections.abc import Iterable

from spillway.model.cluster import PodShape
from spillway.model.reason import Code
from spillway.model.selector import NodeSelectorTerm
from spillway.planner.rules import node_affinity
from spillway.planner.rules.base import Host, Refusal


def part(shape: PodShape) -> tuple[tuple[tuple[NodeSelectorTerm, ...] | None, str], ...]:
    return tuple((need.terms, need.problem) for need in shape.volumes if need.terms is not None or need.problem)


def keys(shape: PodShape) -> Iterable[str]:
    for need in shape.volumes:
        yield from node_affinity.keys_of(need.terms)


def refusal(shape: PodShape, host: Host) -> Refusal | None:
    for need in shape.volumes:
        if need.problem:
            return Refusal(Code.VOLUME, f"cannot have a volume: {need.problem}")
        missed = node_affinity.missed(need.terms, host)
        if missed is not None:
            return Refusal(missed.code, f"has a volume that {missed.text}")
    return None
