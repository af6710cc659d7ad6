"""spec.nodeName: only that node will do."""

from collections.abc import Iterable

from spillway.model.cluster import PodShape
from spillway.model.reason import Code
from spillway.planner.rules.base import NAME_FIELD, Host, Refusal


def part(shape: PodShape) -> str:
    return shape.node_name


def keys(shape: PodShape) -> Iterable[str]:
    return (NAME_FIELD,) if shape.node_name else ()


def refusal(shape: PodShape, host: Host) -> Refusal | None:
    if not shape.node_name or shape.node_name == host.name:
        return None
    return Refusal(Code.SELECTOR, f"is bound to node {shape.node_name}")
