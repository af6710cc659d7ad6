"""Room that is there or coming, in the order in which it is used: live nodes, coming nodes, nodes that we cordoned."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from spillway.model.base import Labels
from spillway.model.cluster import Node, PodState, Taint
from spillway.model.fleet import NodeGroup, NodeTemplate, Variant
from spillway.planner import prices
from spillway.planner.amounts import Dimensions, Need, subtract
from spillway.planner.daemons import Daemons
from spillway.planner.fit import Fit
from spillway.planner.gaps import Gap, is_coming
from spillway.planner.new_nodes import NewNodes
from spillway.planner.preferences.wishes import Preferences
from spillway.planner.rules.base import ZONE_KEYS, Host
from spillway.planner.starting import is_starting, is_startup, promised, repelling, soft
from spillway.planner.view import LiveNode, View

CORDON_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
OUR_TAINTS = frozenset({CORDON_TAINT.key, "ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler"})


class Kind(IntEnum):
    """The order of use."""

    LIVE = 0
    COMING = 1
    CORDONED = 2


@dataclass(slots=True)
class Room:
    """`target` as in Placement; `group` is the group's key, "" for none. `price` is a coming node's, 0 once it holds a pod.

    `host` is the node's kind in Fit, `like` in Preferences.
    """

    kind: Kind
    target: str
    host: int
    like: int
    free: list[int]
    group: str = ""
    is_empty: bool = False
    price: float = 0.0

    @property
    def is_new(self) -> bool:
        """Still to come and held by nobody: to be packed as when it was asked for."""
        return self.kind is Kind.COMING and self.price > 0


@dataclass(frozen=True)
class Rooms:
    """Makes rooms in the terms of one plan's dimensions and host kinds."""

    view: View
    dimensions: Dimensions
    fit: Fit
    new_nodes: NewNodes
    daemons: Daemons
    preferences: Preferences
    needs: dict[str, Need] = field(default_factory=dict)

    def all(self, gaps: dict[str, Gap]) -> list[Room]:
        found = [room for live in self.view.nodes if (room := self._of_node(live)) is not None]
        found += [room for key, group in self.view.groups.items() for room in self._of_group(group, gaps[key])]
        return sorted(found, key=lambda room: (room.kind, room.is_empty))

    def _of_node(self, live: LiveNode) -> Room | None:
        node, view = live.node, self.view
        if live.is_leaving or node.name in view.draining:
            return None
        group = live.group.key if live.group else ""
        is_empty = not live.workload
        if node.cordon and live.group:
            if not node.ready or not view.may_grow:
                return None
            taints = tuple(taint for taint in node.taints if taint.key not in OUR_TAINTS)
            host = Host(node.name, node.labels, repelling(taints), soft=soft(taints, view))
            return Room(Kind.CORDONED, node.name, *self._kinds(host), self._free(live, host), group, is_empty)
        taints, mild = keeping_off(node), soft(node.taints, view)
        template = view.template_of(live.group, live.instance) if live.group and is_starting(view, live) else None
        if template is not None:
            taints = tuple(taint for taint in taints if not is_startup(taint, view))
            zonal = dict.fromkeys(ZONE_KEYS, live.instance.zone) if live.instance else {}
            host = Host(
                node.name, {**zonal, **template.labels, **node.labels}, taints, variants=_open(template, node.labels), soft=mild
            )
            price = prices.weight(self.view, live.group) if live.group and is_empty else 0.0
            free = self._free(live, host, template)
            return Room(Kind.COMING, node.name, *self._kinds(host), free, group, is_empty, price)
        if not node.ready:
            return None
        host = Host(node.name, node.labels, taints, soft=mild)
        return Room(Kind.LIVE, node.name, *self._kinds(host), self._free(live, host), group, is_empty)

    def _free(self, live: LiveNode, host: Host, template: NodeTemplate | None = None) -> list[int]:
        """Filler pods, below the priority cutoff, give way and take no room. `template` of a node that starts."""
        node = live.node
        have = promised(node.allocatable, template.allocatable) if template else node.allocatable
        # A driver that a node lacks while it starts comes with a limit that nobody knows yet.
        limits = {driver: limit for driver, limit in node.attach_limits.items() if limit or not template}
        left = {driver: limit - node.attached.get(driver, 0) for driver, limit in limits.items()}
        free, shared = self.dimensions.room(have, left), set[tuple[int, str]]()
        for pods in live.pods:
            shape = self.view.shapes[pods.shape]
            if shape.priority >= self.view.policy.pods.priority_cutoff or shape.is_daemon:
                subtract(free, self._need(pods.shape), len(pods.names))
                if pods.state == PodState.TERMINATING:
                    for dimension, amount in self.dimensions.uncounted(pods.shape):
                        free[dimension] += amount * len(pods.names)
                for dimension, identity in self.dimensions.shared_elsewhere(shape):
                    again = len(pods.names) - ((dimension, identity) not in shared)
                    free[dimension] += again  # each pod took one of its own above
                    shared.add((dimension, identity))
        for dimension, amount in self.daemons.missing(live, host).items():
            free[dimension] = max(0, free[dimension] - amount)
        return free

    def _need(self, shape_id: str) -> Need:
        if shape_id not in self.needs:
            self.needs[shape_id] = self.dimensions.need(self.view.shapes[shape_id])
        return self.needs[shape_id]

    def _of_group(self, group: NodeGroup, gap: Gap) -> Iterator[Room]:
        if group.template is None or not group.is_countable:  # nobody knows how many nodes its desired stands for
            return
        template = group.template
        for instance in sorted(group.instances, key=lambda i: i.id):
            if instance.id not in self.view.joined and is_coming(self.view, group, instance):
                host, free = self.new_nodes.of_instance(group, template, instance)
                yield self._coming(instance.id, group, self._kinds(host), free)
        host, free = self.new_nodes.of(group, template)
        kinds = self._kinds(host)
        for number in range(gap.coming):
            yield self._coming(f"{group.key}#{number}", group, kinds, free)

    def _coming(self, target: str, group: NodeGroup, kinds: tuple[int, int], free: Sequence[int]) -> Room:
        return Room(Kind.COMING, target, *kinds, list(free), group.key, price=prices.weight(self.view, group))

    def _kinds(self, host: Host) -> tuple[int, int]:
        return self.fit.host_kind(host), self.preferences.like(host)


def keeping_off(node: Node) -> tuple[Taint, ...]:
    """Its taints that repel; a cordon is one, also before Kubernetes has written it as such."""
    taints = repelling(node.taints)
    if node.unschedulable and not any(taint.key == CORDON_TAINT.key for taint in taints):
        return (*taints, CORDON_TAINT)
    return taints


def _open(template: NodeTemplate, known: Labels) -> tuple[Variant, ...]:
    """What is open of a node that starts and of whose type no choice tells: labels that it does not have yet."""
    return tuple(
        Variant(labels={key: value for key, value in one.labels.items() if key not in known}) for one in template.variants
    )
