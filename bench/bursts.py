"""The real GPU bursts: what the plan costs over the proven least, and what it costs once every pod is bound.

The bounds are the configuration LP of these very dumps, solved by column generation with exact integer pricing until it
converged: no packing of whole pods on whole nodes is cheaper.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from bench import data, scheduler
from bench.check import LONG_AGO, check, host_of
from bench.figure import Figure, Seconds, timed
from bench.scheduler import Host, Waiting
from spillway import planner
from spillway.model.cluster import ClusterSnapshot, PodSet, PodShape, PodState
from spillway.model.fleet import FleetSnapshot, Instance, NodeGroup
from spillway_local.dump import Dump

BOUND_USD_H = {"burst_300": 450.22, "burst_2000": 2342.17}
KARPENTER_USD_H = {"burst_300": 759.00, "burst_2000": 4090.81}  # its scheduler's first answer for the same pods and types
ARRIVALS = 20
MAX_TICKS = 20


def cost(name: str) -> Iterator[Figure]:
    """The price of one plan over the proven bound."""
    world = data.read(data.folder(name)).world
    planning = Seconds()
    with timed(planning):
        plan = planner.plan(world.cluster, world.fleet, world.memory, world.policy, world.now)
    check(world, plan)
    price = plan.summary.price_usd_h_new
    yield {
        "figure": f"cost_{name}",
        "value": round(price / BOUND_USD_H[name], 4),
        "unit": "ratio",
        "goal": 1.02,
        "peer": round(KARPENTER_USD_H[name] / BOUND_USD_H[name], 4),
        "price_usd_h": round(price, 2),
        "nodes": plan.summary.nodes_new,
        "unserved": plan.summary.pods_unserved,
        "plan_s": round(planning.wall, 3),
        "plan_cpu_s": round(planning.cpu, 3),
        "checked": True,
    }


def bound(name: str) -> Iterator[Figure]:
    """Ticks of plan and scheduler until all pods run; the worst of `ARRIVALS` orders of arrival."""
    world = data.read(data.folder(name)).world
    runs = [until_bound(world, seed) for seed in range(ARRIVALS)]
    worst = max(runs, key=lambda run: run.price_usd_h)
    yield {
        "figure": f"bound_{name}",
        "value": round(worst.price_usd_h / BOUND_USD_H[name], 4),
        "unit": "ratio",
        "goal": 1.25,
        "price_usd_h": round(worst.price_usd_h, 2),
        "ticks": max(run.ticks for run in runs),
        "bound_in_first_tick": round(min(run.first for run in runs), 4),
        "never_bound": max(run.left for run in runs),
        "seeds": ARRIVALS,
        "checked": True,
    }


@dataclass(frozen=True)
class Run:
    """`first` is the share of pods that the first tick's nodes took, `left` the pods that never got a node."""

    price_usd_h: float
    ticks: int
    first: float
    left: int


def until_bound(world: Dump, seed: int) -> Run:
    """Plans, lets all planned nodes come, lets the scheduler bind, and plans again for what it left."""
    draw = random.Random(seed)
    shapes = {shape.id: shape for shape in world.cluster.shapes}
    everyone = [(name, shapes[pods.shape]) for pods in world.cluster.pods for name in pods.names]
    draw.shuffle(everyone)
    waiting, hosts, first, ticks = everyone, list[Host](), 0, 0
    while waiting and ticks < MAX_TICKS:
        now = seen(world, everyone, waiting, hosts)
        plan = planner.plan(now.cluster, now.fleet, now.memory, now.policy, now.now)
        if not plan.scale_out:
            break
        check(now, plan)
        ticks += 1
        groups = {group.key: group for group in world.fleet.groups}
        for step in plan.scale_out:
            group = groups[f"{step.region}/{step.group}"]
            hosts += [host_of(group, f"{group.name}-{len(hosts) + k}") for k in range(step.nodes)]
        took, waiting = scheduler.bind(waiting, hosts, draw)
        first = first or len(took)
    return Run(sum(host.price_usd_h for host in hosts), ticks, first / len(everyone), len(waiting))


def seen(world: Dump, everyone: Waiting, waiting: Waiting, hosts: Sequence[Host]) -> Dump:
    """The world as the next tick reads it: the nodes that came, who runs on them, and who still waits."""
    shape_of = dict(everyone)
    sets = list(_pods(PodState.UNSCHEDULABLE, "", (name for name, _ in waiting), shape_of))
    members: dict[str, list[Host]] = defaultdict(list)
    for host in hosts:
        members[host.group].append(host)
        sets += _pods(PodState.BOUND, host.node.name, host.pods, shape_of)
    cluster: ClusterSnapshot = msgspec.structs.replace(
        world.cluster,
        nodes=tuple(sorted((host.node for host in hosts), key=lambda node: node.name)),
        pods=tuple(sorted(sets, key=lambda pods: (pods.shape, pods.node, pods.state))),
    )
    groups = tuple(_with(group, members[group.key]) for group in world.fleet.groups)
    fleet: FleetSnapshot = msgspec.structs.replace(world.fleet, groups=groups)
    return Dump(cluster, fleet, world.policy, world.memory, world.now)


def _with(group: NodeGroup, hosts: Sequence[Host]) -> NodeGroup:
    types = group.template.instance_types if group.template else ("",)
    instances = tuple(
        Instance(
            id=host.node.machine.instance_id,
            zone=host.node.machine.zone,
            instance_type=types[0],
            lifecycle="InService",
            launched_at=LONG_AGO,
        )
        for host in hosts
        if host.node.machine
    )
    return msgspec.structs.replace(group, desired=len(hosts), instances=instances)


def _pods(state: PodState, node: str, names: Iterable[str], shape_of: Mapping[str, PodShape]) -> Iterator[PodSet]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        found[shape_of[name].id].append(name)
    for shape, mine in found.items():
        yield PodSet(shape=shape, state=state, node=node, names=tuple(mine), created=(LONG_AGO,) * len(mine))
