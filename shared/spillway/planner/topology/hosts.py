"""What pods say of each other on one node, as amounts: so that packing needs to know no rule.

| Rule | Dimension of a node | Who asks for some | Who takes it |
|---|---|---|---|
| anti-affinity | 1 while no pod is there that the rule avoids | the pod that has the rule | each pod that it avoids |
| anti-affinity | 1 while no pod is there that has the rule | the pod that it avoids | each pod that has it |
| affinity | the pods that are there and that the rule looks for | the pod that has the rule | such a pod brings one |
| spread | what the skew leaves | the pod that has the rule | each pod that it counts |

Only the key `kubernetes.io/hostname` is here: every other is a domain of many nodes, see `planner.topology.domains`.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from spillway.model.cluster import PodShape
from spillway.planner.amounts import NOTHING, Need
from spillway.planner.topology.terms import HOSTNAME, Avoid, Near, Pods, Shapes, Spread, Terms, where_of


@dataclass(frozen=True)
class HostSpread:
    """A spread over nodes: its dimension holds minus the pods that a node has; the skew is granted for each plan.

    `owner` stands for all that have it: they go to the same nodes. `counts_itself`: whether its selector finds them, too.
    """

    dimension: int
    spread: Spread
    owner: PodShape
    counts_itself: bool


@dataclass
class _Parts:
    each: dict[int, int] = field(default_factory=dict)
    wants: set[int] = field(default_factory=set)
    drains: dict[int, int] = field(default_factory=dict)
    spread: set[int] = field(default_factory=set)

    def need(self) -> Need:
        each = tuple(sorted(self.each.items()))
        return Need(each, (), tuple(sorted(self.wants)), tuple(sorted(self.drains.items())))


class Hosts:
    """The dimensions of one plan, numbered from 0. `near` are those of affinity, `spreads` those of spread."""

    def __init__(self, waiting: Sequence[PodShape], everyone: Iterable[PodShape], terms: Terms, shapes: Shapes) -> None:
        self.names: list[str] = []
        self.fresh: list[int] = []
        self.near: dict[Near, int] = {}
        self.spreads: list[HostSpread] = []
        self._parts: dict[str, _Parts] = defaultdict(_Parts)
        self._shapes = shapes
        ids = frozenset(shape.id for shape in waiting)
        self._avoid(everyone, ids, terms)
        for shape in waiting:
            near = terms.near(shape)
            if near and HOSTNAME in near.keys:
                self._want(shape, near)
        self._spread(waiting, terms)
        self._needs = {shape: parts.need() for shape, parts in self._parts.items()}

    def need(self, shape_id: str) -> Need:
        return self._needs.get(shape_id, NOTHING)

    def uncounted(self, shape_id: str) -> Iterable[tuple[int, int]]:
        """A spread does not count pods that terminate; affinity does."""
        return ((dimension, 1) for dimension in self._parts[shape_id].spread) if shape_id in self._parts else ()

    def _add(self, name: str, fresh: int) -> int:
        self.names.append(name)
        self.fresh.append(fresh)
        return len(self.names) - 1

    def _avoid(self, everyone: Iterable[PodShape], waiting: frozenset[str], terms: Terms) -> None:
        owners: dict[Pods, list[str]] = defaultdict(list)
        for shape in everyone:
            if shape.pod_anti_affinity:
                for rule in terms.avoided(shape):
                    if rule.key == HOSTNAME:
                        owners[rule.pods].append(shape.id)
        for pods, having in owners.items():
            avoided = self._shapes.included(pods)
            if not waiting.isdisjoint(having):
                self._keep_from(Avoid(HOSTNAME, pods), having, avoided)
            if (avoided & waiting).difference(having) or (avoided & waiting and not avoided.issuperset(having)):
                self._keep_away(Avoid(HOSTNAME, pods), having, avoided)

    def _keep_from(self, rule: Avoid, owners: Sequence[str], avoided: frozenset[str]) -> None:
        """Those that have the rule go to no node where a pod is that it avoids."""
        dimension = self._add(f"nodes without pods {rule.pods.shown}", 1)
        for owner in owners:
            if owner in avoided:
                self._parts[owner].each[dimension] = 1
            else:
                self._parts[owner].wants.add(dimension)
        for shape in avoided.difference(owners):
            self._parts[shape].drains[dimension] = 1

    def _keep_away(self, rule: Avoid, owners: Sequence[str], avoided: frozenset[str]) -> None:
        """Those that it avoids go to no node where a pod is that has it."""
        dimension = self._add(f"nodes without pods that avoid {rule.pods.shown}", 1)
        for owner in owners:
            self._parts[owner].drains[dimension] = 1
        for shape in avoided:
            self._parts[shape].wants.add(dimension)

    def _want(self, shape: PodShape, near: Near) -> None:
        if near not in self.near:
            self.near[near] = self._add(f"nodes with pods {' and '.join(pods.shown for pods in near.pods)}", 0)
            for one in self._shapes.included(*near.pods):
                self._parts[one].drains[self.near[near]] = -1
        self._parts[shape.id].wants.add(self.near[near])

    def _spread(self, waiting: Sequence[PodShape], terms: Terms) -> None:
        known: dict[Hashable, HostSpread] = {}
        for shape in waiting:
            for spread in terms.spreads(shape):
                if spread.key == HOSTNAME:
                    counts_itself = spread.pods.include(shape)
                    key = (spread, counts_itself, where_of(spread, shape))
                    if key not in known:
                        dimension = self._add(f"nodes even in pods {spread.pods.shown}", 0)
                        known[key] = HostSpread(dimension, spread, shape, counts_itself)
                        for one in self._shapes.included(spread.pods):
                            self._parts[one].drains[dimension] = 1
                            self._parts[one].spread.add(dimension)
                    dimension = known[key].dimension
                    if counts_itself:
                        self._parts[shape.id].each[dimension] = self._parts[shape.id].drains.pop(dimension, 1)
                    else:
                        self._parts[shape.id].wants.add(dimension)
        self.spreads = list(known.values())
