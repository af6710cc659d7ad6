"""How the time of a plan grows: with the pods of a cluster, and with the groups that may be asked."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import structs

from bench.check import LONG_AGO, check
from bench.figure import Figure, Seconds, timed
from spillway import planner
from spillway.model.cluster import ClusterSnapshot, Machine, Node, PodSet, PodShape, PodState, SpreadConstraint
from spillway.model.fleet import CapacityType, FleetSnapshot, Instance, NodeGroup, NodeTemplate, RegionView
from spillway.model.memory import Memory
from spillway.model.policy import Policy
from spillway.model.selector import Requirement
from spillway_local.dump import Dump

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ZONE = "topology.kubernetes.io/zone"
GIB = 1024**3
PODS, GROUPS = (1_000, 5_000, 20_000, 50_000, 150_000), (10, 100, 500, 2_000)
USUAL_PODS, USUAL_GROUPS = 20_000, 100
PER_NODE, PER_APP = 20, 50
PENDING = 5  # one pod in so many waits


def growth() -> Iterator[Figure]:
    """One row a size; `to_linear` is its time over what the first row's would be if it grew as the size does."""
    yield from _rows("pods", [(pods, USUAL_GROUPS) for pods in PODS])
    yield from _rows("groups", [(USUAL_PODS, groups) for groups in GROUPS])


def _rows(varied: str, sizes: Sequence[tuple[int, int]]) -> Iterator[Figure]:
    first: float | None = None
    for pods, groups in sizes:
        made, planning = world(pods, groups), Seconds()
        with timed(planning):
            plan = planner.plan(made.cluster, made.fleet, made.memory, made.policy, made.now)
        check(made, plan)
        times = pods / sizes[0][0] if varied == "pods" else groups / sizes[0][1]
        first = first or planning.cpu
        yield {
            "figure": "plan_growth",
            "value": round(planning.cpu, 3),
            "unit": "CPU s",
            "goal": None,
            "varied": varied,
            "pods": pods,
            "groups": groups,
            "to_linear": round(planning.cpu / first / times, 3),
            "nodes": len(made.cluster.nodes),
            "pods_pending": plan.summary.pods_pending,
            "pods_unserved": plan.summary.pods_unserved,
            "nodes_new": plan.summary.nodes_new,
            "checked": True,
        }


def world(pods: int, groups: int) -> Dump:
    """Apps of fifty pods in thirty sizes, one in five spread over zones; a fifth of all pods wait, and the rest fill nodes
    of the same groups, twenty to each."""
    fleet = [_group(number) for number in range(groups)]
    shapes = [_shape(number) for number in range(-(-pods // PER_APP))]
    members: list[list[Node]] = [[] for _ in fleet]
    nodes: list[Node] = []
    running = pods - pods // PENDING
    for number in range(-(-running // PER_NODE)):
        place = (5 * number + 2) % groups  # those of 16 cpu, which twenty pods fill
        node = _node(number, fleet[place])
        nodes.append(node)
        members[place].append(node)
    sets = []
    for number, shape in enumerate(shapes):
        names = tuple(f"{shape.id}-{one:02}" for one in range(min(PER_APP, pods - number * PER_APP)))
        waiting = len(names) // PENDING
        sets.append(_pods(shape, PodState.UNSCHEDULABLE, "", names[:waiting]))
        for place, name in enumerate(names[waiting:]):
            node = nodes[(number * (PER_APP - PER_APP // PENDING) + place) % len(nodes)]
            sets.append(_pods(shape, PodState.BOUND, node.name, (name,)))
    cluster = ClusterSnapshot(
        id="growth", cluster="growth", taken_at=NOW, nodes=tuple(nodes), shapes=tuple(shapes),
        pods=tuple(sorted(sets, key=lambda one: (one.shape, one.node, one.state))),
    )  # fmt: skip
    regions = (RegionView(name="us-east-1", known=True),)
    found = FleetSnapshot(
        id="growth", cluster="growth", taken_at=NOW, home_region="us-east-1", regions=regions,
        groups=tuple(_with(group, mine) for group, mine in zip(fleet, members, strict=True)),
    )  # fmt: skip
    return Dump(cluster, found, Policy(), Memory(), NOW)


def _group(number: int) -> NodeGroup:
    """Five sizes of three kinds in three zones, and then the same for the next team."""
    cpu, gib_each = (4, 8, 16, 32, 64)[number % 5], (2, 4, 8)[number // 5 % 3]
    zone, team = "us-east-1" + "abc"[number // 15 % 3], f"team-{number // 45}"
    return NodeGroup(
        region="us-east-1",
        name=f"group-{number:04}",
        min_size=0,
        max_size=100_000,
        desired=0,
        zones=(zone,),
        capacity_type=CapacityType.ON_DEMAND,
        template=NodeTemplate(
            instance_types=(f"bench{gib_each}.{cpu}x",),
            allocatable={"cpu": cpu * 1000 - 100, "memory": (cpu * gib_each - 1) * GIB, "pods": 110},
            labels={ZONE: zone, "topology.kubernetes.io/region": "us-east-1", "team": team},
            price_usd_h=round(cpu * (0.03 + 0.004 * gib_each), 6),
        ),
    )


def _node(number: int, group: NodeGroup) -> Node:
    name, template = f"node-{number:05}", group.template
    assert template is not None
    return Node(
        name=name,
        created=LONG_AGO,
        allocatable=template.allocatable,
        labels={**template.labels, "kubernetes.io/hostname": name},
        machine=Machine(region=group.region, zone=group.zones[0], instance_id=f"i-{name}"),
        ready=True,
        ready_changed=LONG_AGO,
    )


def _with(group: NodeGroup, nodes: Sequence[Node]) -> NodeGroup:
    types = group.template.instance_types if group.template else ("",)
    instances = tuple(
        Instance(id=f"i-{node.name}", zone=group.zones[0], instance_type=types[0], lifecycle="InService", launched_at=LONG_AGO)
        for node in nodes
    )
    return structs.replace(group, desired=len(instances), instances=instances)


def _shape(number: int) -> PodShape:
    """One app in five is spread over zones, another is kept to the first team's nodes."""
    name = f"app-{number:05}"
    selector = (Requirement("app", "In", (name,)),)
    spread = SpreadConstraint(topology_key=ZONE, max_skew=1, when_unsatisfiable="DoNotSchedule", selector=selector)
    return PodShape(
        id=name,
        namespace="default",
        requests={
            "cpu": (100, 250, 500, 1000, 1500, 2000)[number % 6],
            "memory": (GIB // 4, GIB, 2 * GIB, 3 * GIB, 4 * GIB)[number // 6 % 5],
            "pods": 1,
        },
        labels={"app": name},
        spread=(spread,) if number % 5 == 0 else (),
        node_selector={"team": "team-0"} if number % 5 == 1 else {},
        owner_kind="ReplicaSet",
    )


def _pods(shape: PodShape, state: PodState, node: str, names: tuple[str, ...]) -> PodSet:
    return PodSet(shape=shape.id, state=state, node=node, names=names, created=(LONG_AGO,) * len(names))
