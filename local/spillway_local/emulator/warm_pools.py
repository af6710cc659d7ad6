"""Instances that wait in a group's warm pool, apart from its members. moto's pools have none."""

from collections.abc import Mapping
from typing import Any

RUNNING = "Warmed:Running"
_READY = ("Warmed:Stopped", RUNNING, "Warmed:Hibernated")


def put(group: Any, state: Any, told: Mapping[str, Any]) -> None:
    """`told` is its item of DescribeWarmPool."""
    group.prepared = [*_prepared(group), (state, told)]


def take(group: Any) -> Any | None:
    """The next that is ready, which leaves the pool; None when there is none. The pool is not filled again."""
    for state, told in _prepared(group):
        if state.lifecycle_state in _READY:
            group.prepared = [one for one in group.prepared if one[1] is not told]
            group.warm_pool_size = len(group.prepared)
            return state
    return None


def listed(group: Any) -> list[Mapping[str, Any]]:
    return [told for _, told in _prepared(group)]


def _prepared(group: Any) -> list[tuple[Any, Mapping[str, Any]]]:
    return list(getattr(group, "prepared", ()))
