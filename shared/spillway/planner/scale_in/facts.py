"""What the rules of one plan's scale in know beside the view, each found once."""

from collections.abc import Iterable
from functools import cached_property

from spillway.model.fleet import NodeGroup
from spillway.model.memory import NodeMemory, Unavailable
from spillway.planner.scale_in.disruptions import Disruptions
from spillway.planner.scale_in.drain import Drain, Drainability
from spillway.planner.scale_in.silence import Silence
from spillway.planner.scale_in.utilisation import Use, use_of
from spillway.planner.unavailable import passed_over
from spillway.planner.view import LiveNode, View


class Facts:
    """`used` are nodes that pods of this plan go to."""

    def __init__(self, view: View, used: Iterable[str]) -> None:
        self.view, self.used = view, frozenset(used)
        self.disruptions = Disruptions(view)
        self._drainability = Drainability(view, self.disruptions)
        self._drains: dict[str, Drain] = {}
        self._refused: dict[str, Unavailable | None] = {}

    @cached_property
    def silence(self) -> Silence:
        return Silence(self.view)

    def clock(self, live: LiveNode) -> NodeMemory:
        return self.view.clock_of(live)

    def use(self, live: LiveNode) -> Use | None:
        return use_of(self.view, live)

    def refused(self, group: NodeGroup) -> Unavailable | None:
        """Why AWS gives the group no nodes at present."""
        if group.key not in self._refused:
            self._refused[group.key] = passed_over(group, self.view.memory.unavailable, self.view.now)
        return self._refused[group.key]

    def drain(self, live: LiveNode) -> Drain:
        name = live.node.name
        if name not in self._drains:
            self._drains[name] = self._drainability.of(live)
        return self._drains[name]
