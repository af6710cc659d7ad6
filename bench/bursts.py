"""The real GPU bursts: what the plan costs over the proven least, and what it costs once every pod is bound.

The bounds are the configuration LP, solved by column generation with exact integer pricing until it converged.
"""

import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from bench import data, scheduler
from spillway import planner
from spillway.model.cluster import ClusterSnapshot, Machine, Node, PodSet, PodShape, PodState
from spillway.model.fleet import FleetSnapshot, Instance, NodeGroup
from spillway_local import dump

BOUND_USD_H = {"burst_300": 450.22, "burst_2000": 2342.17}
ARRIVALS = 20
MAX_TICKS = 20
_LONG_AGO = datetime(2025, 12, 31, tzinfo=UTC)

Waiting = list[tuple[str, PodShape]]


def cost(name: str) -> Iterator[dict[str, object]]:
    world = dump.read(data.dump(name))
    start = time.perf_counter()
    plan = planner.plan(world.cluster, world.fleet, world.memory, world.policy, world.now)
    seconds = time.perf_counter() - start
    price = plan.summary.price_usd_h_new
    yield {
        "figure": f"cost_{name}",
        "value": round(price / BOUND_USD_H[name], 4),
        "unit": "ratio",
        "goal": 1.02,
        "peer": round({"burst_300": 759.00, "burst_2000": 4090.81}[name] / BOUND_USD_H[name], 4),
        "price_usd_h": round(price, 2),
        "nodes": plan.summary.nodes_new,
        "unserved": plan.summary.pods_unserved,
        "plan_s": round(seconds, 3),
    }


def bound(name: str) -> Iterator[dict[str, object]]:
    """Ticks of plan and scheduler until all pods run; the worst of `ARRIVALS` seeds of the order of arrival."""
    world = dump.read(data.dump(name))
    runs = [_until_bound(world, seed) for seed in range(ARRIVALS)]
    worst = max(runs, key=lambda run: run["price"])
    yield {
        "figure": f"bound_{name}",
        "value": round(worst["price"] / BOUND_USD_H[name], 4),
        "unit": "ratio",
        "goal": 1.25,
        "price_usd_h": round(worst["price"], 2),
        "ticks": int(max(run["ticks"] for run in runs)),
        "bound_in_first_round": round(min(run["first"] for run in runs), 4),
        "left": int(max(run["left"] for run in runs)),
        "seeds": ARRIVALS,
    }


def _until_bound(world: dump.Dump, seed: int) -> Mapping[str, float]:
    draw = random.Random(seed)
    shapes = {shape.id: shape for shape in world.cluster.shapes}
    waiting: Waiting = [(name, shapes[pods.shape]) for pods in world.cluster.pods for name in pods.names]
    draw.shuffle(waiting)
    total, first, hosts = len(waiting), 0, list[scheduler.Host]()
    for tick in range(1, MAX_TICKS + 1):
        fleet, cluster = _seen(world, hosts, waiting, shapes)
        plan = planner.plan(cluster, fleet, world.memory, world.policy, world.now)
        if not plan.scale_out:
            break
        groups = {group.key: group for group in fleet.groups}
        for step in plan.scale_out:
            hosts += [_host(groups[f"{step.region}/{step.group}"], len(hosts) + k) for k in range(step.nodes)]
        bound_now, waiting = scheduler.bind(waiting, hosts, draw)
        first = first or len(bound_now)
        if not waiting:
            break
    return {"price": sum(host.price_usd_h for host in hosts), "ticks": tick, "first": first / total, "left": len(waiting)}


def _host(group: NodeGroup, number: int) -> scheduler.Host:
    assert group.template is not None
    name = f"{group.name}-{number}"
    labels = {**group.template.labels, "kubernetes.io/hostname": name}
    node = Node(
        name=name,
        created=_LONG_AGO,
        allocatable=group.template.allocatable,
        labels=labels,
        taints=group.template.taints,
        machine=Machine(region=group.region, zone=group.zones[0], instance_id=f"i-{name}"),
        ready=True,
        ready_changed=_LONG_AGO,
    )
    return scheduler.Host(node, group.key, group.template.price_usd_h or 0.0)


def _seen(
    world: dump.Dump, hosts: list[scheduler.Host], waiting: Waiting, shapes: Mapping[str, PodShape]
) -> tuple[FleetSnapshot, ClusterSnapshot]:
    """Both snapshots as the next tick reads them."""
    by_group: dict[str, list[scheduler.Host]] = defaultdict(list)
    for host in hosts:
        by_group[host.group].append(host)
    groups = tuple(_with_members(group, by_group[group.key]) for group in world.fleet.groups)
    left = {name for name, _ in waiting}
    created = world.cluster.pods[0].created[0]
    shape_of = {name: pods.shape for pods in world.cluster.pods for name in pods.names}
    sets = [_pods(PodState.UNSCHEDULABLE, shape, names, created) for shape, names in _by_shape(left, shape_of).items()]
    for host in hosts:
        sets += [
            _pods(PodState.BOUND, s, names, created, host.node.name) for s, names in _by_shape(host.pods, shape_of).items()
        ]
    cluster = msgspec.structs.replace(
        world.cluster,
        nodes=tuple(sorted((host.node for host in hosts), key=lambda node: node.name)),
        pods=tuple(sorted(sets, key=lambda pods: (pods.shape, pods.node, pods.state))),
    )
    return msgspec.structs.replace(world.fleet, groups=groups), cluster


def _with_members(group: NodeGroup, hosts: list[scheduler.Host]) -> NodeGroup:
    instances = tuple(
        Instance(
            id=host.node.machine.instance_id,
            zone=host.node.machine.zone,
            instance_type=group.template.instance_types[0],
            lifecycle="InService",
            launched_at=_LONG_AGO,
        )
        for host in hosts
        if host.node.machine and group.template
    )
    return msgspec.structs.replace(group, desired=len(hosts), instances=instances)


def _by_shape(names: Iterable[str], shape_of: Mapping[str, str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        found[shape_of[name]].append(name)
    return found


def _pods(state: PodState, shape: str, names: list[str], created: datetime, node: str = "") -> PodSet:
    return PodSet(shape=shape, state=state, node=node, names=tuple(names), created=(created,) * len(names))
