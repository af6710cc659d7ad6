"""Both snapshots as one picture: which node is which instance of which group, and what runs on it."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

import msgspec

from spillway.model.cluster import ClusterSnapshot, Node, PodSet, PodShape, PodState
from spillway.model.fleet import FleetSnapshot, Instance, NodeGroup, NodeTemplate
from spillway.model.memory import Memory, NodeMemory
from spillway.model.policy import GroupPolicy, Mode, Policy
from spillway.model.reason import Reason
from spillway.planner import autoscalers, noticed, taught
from spillway.planner.autoscalers import Autoscalers
from spillway.planner.machines import matched
from spillway.planner.queues import Queue, queues

RUNNING = (PodState.BOUND, PodState.TERMINATING)
EKS_NODE_GROUP = "eks.amazonaws.com/nodegroup"


@dataclass(frozen=True)
class LiveNode:
    """A node object, with the group and instance behind it where we know them.

    `pods` are bound or nominated to it; `workload` are those that run there and keep it, also while they leave. AWS takes its
    instance at `ends_at`, None as far as we know.
    """

    node: Node
    group: NodeGroup | None
    instance: Instance | None
    pods: tuple[PodSet, ...]
    workload: tuple[PodSet, ...]
    ends_at: datetime | None = None

    @property
    def born(self) -> datetime:
        return (self.instance.launched_at if self.instance else None) or self.node.created

    @property
    def is_leaving(self) -> bool:
        """Being deleted or ended, soon to be, or waiting in a warm pool: neither capacity nor a candidate."""
        ends = self.instance is not None and (self.instance.lifecycle.startswith("Terminating") or self.instance.is_warm)
        return self.node.deleting or ends or self.ends_at is not None


@dataclass(frozen=True)
class View:
    """`joined` are ids of instances that have a node object, `unread` of those whose node does not read; `warnings` say of
    which nodes it is not clear what they are.
    """

    cluster: ClusterSnapshot
    fleet: FleetSnapshot
    memory: Memory
    policy: Policy
    now: datetime
    shapes: dict[str, PodShape]
    groups: dict[str, NodeGroup]
    nodes: tuple[LiveNode, ...]
    joined: frozenset[str]
    unread: frozenset[str]
    unknown_regions: frozenset[str]
    draining: frozenset[str]
    warnings: tuple[Reason, ...]
    _policies: dict[str, GroupPolicy] = field(default_factory=dict)
    _templates: dict[tuple[str, str, str], NodeTemplate] = field(default_factory=dict)

    def policy_of(self, group: NodeGroup) -> GroupPolicy:
        name = group.name if self.policy.groups else ""
        if name not in self._policies:
            self._policies[name] = self.policy.for_group(name)
        return self._policies[name]

    def template_of(self, group: NodeGroup, instance: Instance | None) -> NodeTemplate | None:
        """What a node of this instance is to become: of a group of several types what is known of its own."""
        choice = group.template.choice_of(instance.instance_type, instance.definition) if group.template and instance else None
        if group.template is None or choice is None:
            return group.template
        key = (group.key, choice.instance_type, choice.definition)
        if key not in self._templates:
            self._templates[key] = group.template.of(choice)
        return self._templates[key]

    def seen_at(self, region: str) -> datetime:
        """When what is known of its groups was read: of a region that does not answer that may be a while ago."""
        asked = next((one for one in self.fleet.regions if one.name == region), None)
        return asked.as_of if asked and asked.as_of and not asked.known else self.fleet.taken_at

    def min_of(self, group: NodeGroup) -> int:
        return max(group.min_size, self.policy_of(group).min or 0)

    def max_of(self, group: NodeGroup) -> int:
        own = self.policy_of(group).max
        return group.max_size if own is None else min(group.max_size, own)

    @property
    def may_grow(self) -> bool:
        """Whether the policy's mode lets nodes come, or come back."""
        return self.policy.mode not in (Mode.SCALE_IN_ONLY, Mode.OFF)

    def is_young(self, moment: datetime | None, group: NodeGroup) -> bool:
        """Less than the provision time ago."""
        limit = timedelta(seconds=self.policy_of(group).scale_out.provision_time_s)
        return moment is not None and self.now - moment < limit

    @cached_property
    def _clocks(self) -> dict[str, NodeMemory]:
        return {node.node: node for node in self.memory.nodes}

    def clock_of(self, live: LiveNode) -> NodeMemory:
        """What is remembered of the node; nothing of one that is seen for the first time."""
        at = self.cluster.taken_at
        return self._clocks.get(live.node.name) or NodeMemory(node=live.node.name, first_seen=at, last_seen=at)

    @cached_property
    def cluster_age(self) -> timedelta:
        """Against the newest view of either kind, and by one clock: the API server's may differ from that of the fleet."""
        return self._newest - self._cluster_at

    @property
    def is_stale(self) -> bool:
        limit = timedelta(seconds=self.policy.max_snapshot_age_s)
        return max(self.cluster_age, self._newest - self.fleet.taken_at) > limit

    @property
    def _cluster_at(self) -> datetime:
        return self.cluster.taken_at - timedelta(seconds=self.cluster.clock_ahead_s)

    @property
    def _newest(self) -> datetime:
        """`now`, unless that is the API server's."""
        return self.now if self.now > self.cluster.taken_at else max(self._cluster_at, self.fleet.taken_at)

    @cached_property
    def queues(self) -> Mapping[str, Queue]:
        """Pods without a node, by shape."""
        return queues(self.cluster)

    @cached_property
    def autoscalers(self) -> Autoscalers:
        """Others than we that run in the cluster."""
        return autoscalers.running(self.cluster)

    @cached_property
    def is_eks(self) -> bool:
        """Where nodes of other regions cannot live: they must be in the cluster's own VPC."""
        return "-eks-" in self.cluster.server_version or any(EKS_NODE_GROUP in n.node.labels for n in self.nodes)


def view(cluster: ClusterSnapshot, fleet: FleetSnapshot, memory: Memory, policy: Policy, now: datetime) -> View:
    known = matched(cluster.nodes, fleet.groups)
    draining = frozenset(drain.node for drain in memory.drains if not drain.orphan)
    ours = frozenset(machine.instance_id for name, machine in known.machines.items() if name in draining)
    fleet = noticed.applied(fleet, memory.notices, ours)
    ends = noticed.ends(fleet, memory.notices, now)
    shown, overheads = {one.key: one for one in memory.templates}, taught.overheads(memory.templates)
    groups = {
        group.key: taught.applied(group, shown, overheads) for group in sorted(fleet.groups, key=lambda g: (g.region, g.name))
    }
    homes = {instance.id: (group, instance) for group in groups.values() for instance in (*group.instances, *group.warm)}
    unread = matched(cluster.unread_nodes, fleet.groups).joined
    shapes = {shape.id: shape for shape in sorted(cluster.shapes, key=lambda s: s.id)}
    on_node: dict[str, list[PodSet]] = defaultdict(list)
    for pods in cluster.pods:
        if pods.node:
            on_node[pods.node].append(pods)
    working = {i for i, s in shapes.items() if not s.is_daemon and s.priority >= policy.pods.priority_cutoff}
    nodes = []
    for said in sorted(cluster.nodes, key=lambda n: n.name):
        node = msgspec.structs.replace(said, machine=known.machines.get(said.name))
        group, instance = homes.get(node.machine.instance_id, (None, None)) if node.machine else (None, None)
        here = sorted(on_node.get(node.name, ()), key=lambda p: (p.shape, p.state, p.names))
        workload = [p for p in here if p.shape in working and p.state in RUNNING]
        ends_at = ends.get(instance.id) if instance else None
        nodes.append(LiveNode(node, group, instance, tuple(here), tuple(workload), ends_at))
    return View(
        cluster=cluster,
        fleet=fleet,
        memory=memory,
        policy=policy,
        now=now,
        shapes=shapes,
        groups=groups,
        nodes=tuple(nodes),
        joined=known.joined | unread,
        unread=unread,
        warnings=known.warnings,
        unknown_regions=frozenset(region.name for region in fleet.regions if not region.known),
        draining=draining,
    )
