"""spec.nodeSelector: every label must be there with this value."""

from collections.abc import Iterable

from spillway.model.cluster import PodShape
from spillway.model.reason import Code
from spillway.model.selector import UNTOLD
from spillway.planner.rules.base import ZONE_KEYS, Host, Refusal


def part(shape: PodShape) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(shape.node_selector.items()))


def keys(shape: PodShape) -> Iterable[str]:
    return shape.node_selector


def refusal(shape: PodShape, host: Host) -> Refusal | None:
    for key, value in sorted(shape.node_selector.items()):
        have = host.labels.get(key)
        if have != value:
            found = "there is none" if have is None else "nobody knows which it is" if have == UNTOLD else f"it is {have}"
            return Refusal(Code.ZONE if key in ZONE_KEYS else Code.SELECTOR, f"selects {key}={value}, {found}")
    return None
