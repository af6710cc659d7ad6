"""The same burst in a home region that never runs dry: the planner and the scheduler alone, every machine there at once."""

from collections import defaultdict

import msgspec

from spillway import planner
from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.base import encode
from spillway.model.cluster import ClusterSnapshot
from spillway.model.fleet import FleetSnapshot, Instance
from spillway.model.memory import Memory
from spillway.model.plan import ScaleOut
from spillway.model.policy_document import parse
from spillway_local.clock import VirtualClock
from spillway_local.demo.story import POLICY, Story
from spillway_local.kube_api import FakeCluster
from spillway_local.world_dump import fleet_of
from spillway_local.world_nodes import node_of

TICK_S = 60.0
TICKS = 20


def price_usd_h(told: Story) -> float:
    """What all machines cost an hour once every pod has one, planned tick by tick as the scheduler strands some."""
    clock, fleet, policy = VirtualClock(told.raw.now), fleet_of(told.raw), parse(POLICY, "of the demo")
    cluster = FakeCluster(clock)
    for item in told.raw.objects:
        cluster.add(dict(item))
    members: dict[str, list[Instance]] = defaultdict(list)
    for _ in range(TICKS):
        clock.run(limit_s=TICK_S)
        seen = _seen(cluster, told, clock)
        plan = planner.plan(seen, _with(fleet, members), Memory(), policy, clock.now())
        if not plan.scale_out:
            break
        for step in plan.scale_out:
            _join(cluster, fleet, step, members[f"{step.region}/{step.group}"])
    prices = {group.key: group.template.price_usd_h or 0.0 for group in fleet.groups if group.template}
    return sum(prices[key] * len(machines) for key, machines in members.items())


def _seen(cluster: FakeCluster, told: Story, clock: VirtualClock) -> ClusterSnapshot:
    objects = Objects()
    for kind in ("Pod", "Node"):
        items = [{"kind": kind, **item} for item in cluster.objects(kind)]
        objects.add(encode({"kind": "List", "items": items}))
    return reduce(objects, cluster=told.raw.cluster, taken_at=clock.now())


def _with(fleet: FleetSnapshot, members: dict[str, list[Instance]]) -> FleetSnapshot:
    groups = [
        msgspec.structs.replace(group, desired=len(members[group.key]), instances=tuple(members[group.key]))
        for group in fleet.groups
    ]
    return msgspec.structs.replace(fleet, groups=tuple(groups))


def _join(cluster: FakeCluster, fleet: FleetSnapshot, step: ScaleOut, machines: list[Instance]) -> None:
    group = next(group for group in fleet.groups if (group.region, group.name) == (step.region, step.group))
    assert group.template is not None  # the planner asks no group without one
    for _ in range(step.nodes):
        name = f"i-{step.region}-{step.group}-{len(machines)}"
        machine = Instance(
            id=name, zone=group.zones[0], instance_type=group.template.instance_types[0], lifecycle="InService",
            launched_at=cluster.clock.now(),
        )  # fmt: skip
        machines.append(machine)
        cluster.join(node_of(step.region, name, machine.instance_type, machine.zone, group.template))
