"""What a group takes from its warm pool when desired rises: Auto Scaling does so by itself, before it launches anything.

The pool's largest size bounds what is prepared, never desired. An instance that runs there holds its capacity and its part of
each quota and reservation. One that is stopped or hibernated has to find them when it is started, as one that is launched
anew has: where EC2 lacks capacity, that is a failed launch, and the instance is ended.
Source: EC2 Auto Scaling User Guide, "Decrease latency for applications with long boot times using warm pools", limitations.
"""

from typing import NamedTuple

from spillway.model.fleet import Instance, NodeGroup, Scope
from spillway.model.memory import Unavailable
from spillway.planner.gaps import Gap

_OF_AWS = frozenset({Scope.ZONE, Scope.OFFERING, Scope.QUOTA, Scope.REGION})


class Warm(NamedTuple):
    """Instances that the group's next raise takes first; `held` of them run."""

    ready: int
    held: int


def prepared(group: NodeGroup) -> Warm:
    """Those that are on their way into the pool or out of it are not; a pool that is being deleted ends all it has."""
    if group.warm_pool is None or group.warm_pool.deleting:
        return Warm(0, 0)
    ready = [one for one in group.warm if one.is_ready_to_start]
    return Warm(len(ready), sum(map(is_held, ready)))


def left(group: NodeGroup, gap: Gap) -> Warm:
    """Once what is coming without an instance has taken its part, of those that run first."""
    ready, held = prepared(group)
    return Warm(max(0, ready - gap.coming), max(0, held - gap.coming))


def is_held(instance: Instance) -> bool:
    """It runs in the pool, and so has its capacity."""
    return instance.lifecycle == "Warmed:Running"


def is_spared(record: Unavailable) -> bool:
    """Whether the refusal says nothing of instances that hold their capacity: it is of what AWS gives out, in a zone, of a
    type, under a quota or in a region. What is wrong with the group itself is so for them, too."""
    return record.scope in _OF_AWS
