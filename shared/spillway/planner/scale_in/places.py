"""Where the pods of nodes that go would run: every one of them has a place, or its node stays.

Moves are kept, so that two nodes never count on the same room. Pods that wait come first: what this plan gives them is taken
already.
"""

from collections.abc import Sequence
from typing import Protocol

from spillway.model.cluster import PodSet
from spillway.planner.view import LiveNode


class Places(Protocol):
    def move(self, live: LiveNode, pods: Sequence[PodSet]) -> str:
        """Books a place elsewhere for all of them, and the node for gone; else nothing, and says which has none."""
        ...

    def close(self, live: LiveNode) -> None:
        """The node goes in any case: nobody may move there."""
        ...

    def receives(self, live: LiveNode) -> str:
        """The node whose pods move to this one, "" for none."""
        ...
