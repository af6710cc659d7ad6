"""Whether a plan's pods fit where it puts them, by plain arithmetic and the bench's own filters, none of the planner's."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from bench import neighbours
from bench.scheduler import Host, admits
from spillway.model.cluster import Machine, Node, PodShape, PodState
from spillway.model.fleet import NodeGroup
from spillway.model.plan import Plan
from spillway.planner import explain
from spillway_local.dump import Dump

LONG_AGO = datetime(2025, 12, 31, tzinfo=UTC)
_ON_A_NODE = (PodState.BOUND, PodState.TERMINATING)


class Wrong(Exception):
    """A result that the bench's own check refuses; the figure fails and says why."""


def check(world: Dump, plan: Plan) -> None:
    """Every waiting pod has one place or is unserved, every place exists, is paid for and holds its pods.

    Judged are requests, node selectors, required node affinity, taints, and what pods say of each other. Raises Wrong.
    """
    hosts = {host.node.name: host for host in _live(world)} | {host.node.name: host for host in _bought(world, plan)}
    shapes = {shape.id: shape for shape in world.cluster.shapes}
    waiting = {
        f"{shapes[pods.shape].namespace}/{name}": shapes[pods.shape]
        for pods in world.cluster.pods
        if pods.state == PodState.UNSCHEDULABLE
        for name in pods.names
    }
    placed: dict[str, neighbours.Placed] = {}
    for row in explain.assignments(plan, world.cluster, world.fleet):
        if row["node"] not in hosts:
            raise Wrong(f"the plan puts pods on {row['node']}, which is neither there nor bought")
        for pod in row["pods"]:
            if pod not in waiting or pod in placed:
                raise Wrong(
                    f"the plan puts {pod} on {row['node']}, and it {'has a place' if pod in placed else 'does not wait'}"
                )
            placed[pod] = pod, waiting[pod], hosts[row["node"]].node
            _put(hosts[row["node"]], pod, waiting[pod])
    _judge_neighbours(world, [host.node for host in hosts.values()], list(placed.values()))
    unserved = sum(one.pods for one in plan.unserved)
    if len(placed) + unserved != len(waiting):
        raise Wrong(f"{len(waiting)} pods wait, {len(placed)} have a place and {unserved} are unserved")
    price = sum(host.price_usd_h for host in hosts.values())
    if abs(price - plan.summary.price_usd_h_new) > 0.01:
        raise Wrong(f"the bought nodes cost {price:.2f} USD an hour, the plan says {plan.summary.price_usd_h_new:.2f}")


def unchecked(world: Dump) -> list[str]:
    """Rules that waiting pods carry and that `check` does not look at: whether they hold, it cannot say."""
    waiting = {pods.shape for pods in world.cluster.pods if pods.state == PodState.UNSCHEDULABLE}
    shapes = [shape for shape in world.cluster.shapes if shape.id in waiting]
    carried = {
        "volumes": any(shape.volumes for shape in shapes),
        "host ports": any(shape.host_ports for shape in shapes),
    }
    return [rule for rule, is_there in carried.items() if is_there]


def _judge_neighbours(world: Dump, nodes: Sequence[Node], placed: Sequence[neighbours.Placed]) -> None:
    shapes, by_name = {shape.id: shape for shape in world.cluster.shapes}, {node.name: node for node in nodes}
    there = [
        (shapes[pods.shape], by_name[pods.node], pods.state == PodState.TERMINATING)
        for pods in world.cluster.pods
        if pods.state in _ON_A_NODE and pods.node in by_name
        for _ in pods.names
    ]
    found = neighbours.refused(nodes, there, placed, world.cluster.namespaces)
    if found:
        pod, node, rule = found[0]
        raise Wrong(f"{len(found)} pods do not come where the plan puts them, in its order; {pod} on {node}: {rule}")


def host_of(group: NodeGroup, name: str) -> Host:
    """A new, ready and empty node of the group."""
    if group.template is None:
        raise Wrong(f"the plan buys nodes of {group.key}, of which nobody knows what they bring")
    node = Node(
        name=name,
        created=LONG_AGO,
        allocatable=group.template.allocatable,
        labels={**group.template.labels, "kubernetes.io/hostname": name},
        taints=group.template.taints,
        machine=Machine(region=group.region, zone=group.zones[0], instance_id=f"i-{name}"),
        ready=True,
        ready_changed=LONG_AGO,
    )
    return Host(node, group.key, group.template.price_usd_h or 0.0)


def _put(host: Host, pod: str, shape: PodShape) -> None:
    if not admits(host.node, shape):
        raise Wrong(f"the plan puts {pod} on {host.node.name}, which its selectors or the node's taints refuse")
    if not host.fits(shape.requests):
        raise Wrong(f"the plan puts {pod} on {host.node.name}, where too little is left: {_left(host, shape.requests)}")
    host.add(pod, shape.requests)


def _left(host: Host, requests: Mapping[str, int]) -> str:
    return ", ".join(
        f"{name} {host.node.allocatable.get(name, 0) - host.used.get(name, 0)} of {value} wanted"
        for name, value in requests.items()
    )


def _live(world: Dump) -> Iterable[Host]:
    """Nodes that are there, with the pods that run on them; they cost the plan nothing."""
    shapes = {shape.id: shape for shape in world.cluster.shapes}
    found = {node.name: Host(node, "", 0.0) for node in world.cluster.nodes}
    for pods in world.cluster.pods:
        if pods.state in _ON_A_NODE and pods.node in found:
            for name in pods.names:
                found[pods.node].add(name, shapes[pods.shape].requests)
    return found.values()


def _bought(world: Dump, plan: Plan) -> Iterable[Host]:
    """The k-th new node of a group is `group#k`, as the plan's assignments call it: these worlds have none coming."""
    groups = {group.key: group for group in world.fleet.groups}
    names = [group.name for group in world.fleet.groups]
    for step in plan.scale_out:
        shown = step.group if names.count(step.group) == 1 else f"{step.region}/{step.group}"
        for number in range(step.nodes):
            yield host_of(groups[f"{step.region}/{step.group}"], f"{shown}#{number}")
