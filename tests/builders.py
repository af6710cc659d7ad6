"""Worlds for planner tests, in one line each: pods, nodes and groups that fit together by name.

plan = plan_for(pod("a", cpu="3"), group("g", nodes=[node("n1", cpu="4")]))
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from spillway import planner
from spillway.model import quantity
from spillway.model.base import encode
from spillway.model.cluster import ClusterSnapshot, Machine, Node, PodSet, PodShape, PodState, Taint, Toleration
from spillway.model.fleet import (
    CapacityType,
    Choice,
    FailureClass,
    FleetSnapshot,
    Instance,
    LaunchFailure,
    NodeGroup,
    NodeTemplate,
    RegionView,
    Scope,
    Variant,
)
from spillway.model.market import Ceiling, CeilingKind
from spillway.model.memory import Memory, OpenRequest
from spillway.model.plan import Plan
from spillway.model.policy import Policy
from spillway.model.workloads import Daemon
from spillway.planner import clocks, explain

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YESTERDAY = NOW - timedelta(days=1)
GPU = "nvidia.com/gpu"


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


@dataclass(frozen=True)
class Pods:
    """Equal pods, in one state on one node."""

    shape: PodShape
    state: PodState
    names: tuple[str, ...]
    created: tuple[datetime, ...]
    node: str


def amounts(cpu: str, memory: str, gpu: int, others: Mapping[str, Any]) -> dict[str, int]:
    return quantity.resources({"cpu": cpu, "memory": memory} | ({GPU: gpu} if gpu else {}) | dict(others))


def pod(
    name: str = "p",
    *,
    cpu: str = "1",
    memory: str = "1Gi",
    gpu: int = 0,
    count: int = 1,
    node: str = "",
    state: PodState | None = None,
    age_s: float = 600,
    owner: str = "ReplicaSet",
    requests: Mapping[str, Any] | None = None,
    **rules: Any,
) -> Pods:
    """`count` pods `name-0` and so on (`name` alone for one); unschedulable, or bound when `node` is given."""
    asked = {name: amount for name, amount in amounts(cpu, memory, gpu, requests or {}).items() if amount}
    shape = PodShape(
        id="", namespace=rules.pop("namespace", "default"), requests={**asked, "pods": 1}, owner_kind=owner, **rules
    )
    shape = msgspec.structs.replace(shape, id=hashlib.sha256(encode(shape)).hexdigest()[:12])
    names = (name,) if count == 1 else tuple(sorted(f"{name}-{number}" for number in range(count)))
    default = PodState.BOUND if node else PodState.UNSCHEDULABLE
    return Pods(shape, state or default, names, (ago(age_s),) * count, node)


def node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    gpu: int = 0,
    slots: int = 110,
    zone: str = "us-east-1a",
    age_s: float = 86400,
    ready: bool = True,
    ec2: bool = True,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Taint] = (),
    resources: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Node:
    """A node of a day's age, whose instance is `i-<name>`; `ec2=False` for a physical machine."""
    return Node(
        name=name,
        created=ago(age_s),
        allocatable={**amounts(cpu, memory, gpu, resources or {}), "pods": slots},
        labels={"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, **(labels or {})},
        taints=tuple(taints),
        machine=Machine(region=zone[:-1], zone=zone, instance_id=f"i-{name}") if ec2 else None,
        ready=ready,
        **fields,
    )


def instance(
    name: str, *, zone: str = "us-east-1a", lifecycle: str = "InService", age_s: float = 86400, **fields: Any
) -> Instance:
    return Instance(id=f"i-{name}", zone=zone, instance_type="m5.xlarge", lifecycle=lifecycle, launched_at=ago(age_s), **fields)


def group(
    name: str,
    *,
    nodes: Iterable[Node] = (),
    instances: Iterable[Instance] = (),
    region: str = "us-east-1",
    zones: Iterable[str] | None = None,
    cpu: str = "4",
    memory: str = "16Gi",
    gpu: int = 0,
    slots: int = 110,
    price: float | None = 0.2,
    min_size: int = 0,
    max_size: int = 10,
    desired: int | None = None,
    spot: bool = False,
    types: Iterable[str] = ("m5.xlarge",),
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Taint] = (),
    resources: Mapping[str, Any] | None = None,
    readable: bool = True,
    sorts: Mapping[str, Variant] | None = None,
    **fields: Any,
) -> NodeGroup:
    """A group of one zone whose members are the instances of `nodes`, and `instances` that are no nodes.

    `sorts` are what each of its instance types has of its own, instead of `types`.
    """
    where = tuple(zones or (f"{region}a",))
    zonal = {"topology.kubernetes.io/zone": where[0]} if len(where) == 1 else {}
    have = {**amounts(cpu, memory, gpu, resources or {}), "pods": slots}
    template = NodeTemplate(
        instance_types=tuple(sorts or types),
        allocatable=have,
        labels={"topology.kubernetes.io/region": region, **zonal, **(labels or {})},
        taints=tuple(taints),
        price_usd_h=price,
        choices=tuple(Choice(instance_type=name, allocatable=have, own=own) for name, own in (sorts or {}).items()),
    )
    joined = [
        instance(one.name, zone=one.machine.zone, age_s=(NOW - one.created).total_seconds()) for one in nodes if one.machine
    ]
    known = {one.id: one for one in [*joined, *instances]}
    members = tuple(known.values())
    return NodeGroup(
        region=region,
        name=name,
        min_size=min_size,
        max_size=max_size,
        desired=sum(one.is_member for one in members) if desired is None else desired,
        zones=where,
        capacity_type=CapacityType.SPOT if spot else CapacityType.ON_DEMAND,
        instances=members,
        template=template if readable else None,
        problem="" if readable else "type x9.large is not known",
        **fields,
    )


def refusal(
    age_s: float = 60,
    scope: Scope = Scope.GROUP,
    failure: FailureClass = FailureClass.CAPACITY,
    zone: str = "",
    instance_type: str = "",
    capacity_type: CapacityType | None = None,
) -> LaunchFailure:
    return LaunchFailure(
        activity_id=f"a-{age_s}",
        at=ago(age_s),
        failure=failure,
        scope=scope,
        text="no capacity",
        zone=zone,
        instance_type=instance_type,
        capacity_type=capacity_type,
    )


def quota(key: str = "L-1216C47A", limit: int = 64, used: int | None = 0, region: str = "us-east-1", **fields: Any) -> Ceiling:
    """A quota in vCPUs, its use as of a minute ago; `draws=({key: 4 * WHOLE},)` of a group takes 4 of them a node."""
    given = {"name": "Running On-Demand Standard instances", "as_of": ago(60), **fields}
    return Ceiling(region=region, key=key, kind=CeilingKind.QUOTA, limit=limit, used=used, **given)


def reservation(key: str = "cr-1", total: int = 3, free: int = 1, **fields: Any) -> Ceiling:
    """A capacity reservation; `draws=({key: WHOLE},)` of a group launches into it."""
    given = {"region": "us-east-1", "kind": CeilingKind.RESERVATION, "name": f"{key} (m5.xlarge in us-east-1a)", **fields}
    return Ceiling(key=key, limit=total, used=total - free, **given)


def open_request(**fields: Any) -> OpenRequest:
    """Two nodes of group `g`, asked for a minute ago by a run that is still at work."""
    return OpenRequest(**{
        "id": "p#1#0", "plan_id": "p", "step": 1, "hop": 0, "region": "us-east-1", "group": "g",
        "from_desired": 0, "to_desired": 2, "nodes": 2, "asked_at": ago(60),
    } | fields)  # fmt: skip


def tolerate(key: str, value: str = "", effect: str = "", operator: str = "Equal") -> Toleration:
    return Toleration(key=key, value=value, effect=effect, operator=operator)


def cluster(*objects: Pods | Node, daemons: Iterable[Pods] = (), **fields: Any) -> ClusterSnapshot:
    """`daemons` are DaemonSets, by the pods that they would make."""
    pods, made = [one for one in objects if isinstance(one, Pods)], list(daemons)
    given = {
        "nodes": tuple(one for one in objects if isinstance(one, Node)),
        "shapes": tuple({one.shape.id: one.shape for one in (*pods, *made)}.values()),
        "daemons": tuple(Daemon(namespace=one.shape.namespace, name=one.names[0], shape=one.shape.id) for one in made),
        "pods": tuple(_together(pods)),
        "taken_at": NOW,
    }
    return ClusterSnapshot(cluster="test", **given | fields)


def _together(pods: Iterable[Pods]) -> Iterable[PodSet]:
    found: dict[tuple[str, PodState, str], list[tuple[datetime, str]]] = {}
    for one in pods:
        found.setdefault((one.shape.id, one.state, one.node), []).extend(zip(one.created, one.names, strict=True))
    for (shape, state, where), members in found.items():
        created, names = zip(*sorted(members), strict=True)
        yield PodSet(shape=shape, state=state, node=where, created=created, names=names)


def fleet(*groups: NodeGroup, silent: Iterable[str] = (), **fields: Any) -> FleetSnapshot:
    """`silent` regions have not answered for two minutes."""
    quiet = set(silent)
    regions = sorted({one.region for one in groups} | quiet)
    return FleetSnapshot(
        cluster="test",
        regions=tuple(
            RegionView(name=name, known=False, as_of=ago(120), problem="timeout")
            if name in quiet
            else RegionView(name=name, known=True, as_of=NOW)
            for name in regions
        ),
        groups=tuple(groups),
        **{"home_region": "us-east-1", "taken_at": NOW, **fields},
    )


def policy(**fields: Any) -> Policy:
    return Policy.model_validate(fields)


def plan_for(
    *objects: Pods | Node | NodeGroup,
    idle_since: datetime | None = None,
    memory: Memory | None = None,
    rules: Policy | None = None,
    silent: Iterable[str] = (),
    server_version: str = "",
    daemons: Iterable[Pods] = (),
    ceilings: Iterable[Ceiling] = (),
) -> Plan:
    """What the planner says to a world. Nodes that the memory does not know are idle since `idle_since`."""
    rules = rules or Policy()
    seen = cluster(*(one for one in objects if not isinstance(one, NodeGroup)), server_version=server_version, daemons=daemons)
    groups = (one for one in objects if isinstance(one, NodeGroup))
    supply = fleet(*groups, silent=silent, ceilings=tuple(ceilings))
    remembered = clocks.observe(memory or Memory(), seen, supply, rules, NOW, idle_since)
    return planner.plan(seen, supply, remembered, rules, NOW)


def desired(plan: Plan) -> dict[str, int]:
    """Desired after the plan, of the groups that it raises."""
    return {step.group: step.to_desired for step in plan.scale_out}


def removed(plan: Plan) -> list[str]:
    return [step.node for step in plan.scale_in]


def kept(plan: Plan) -> dict[str, str]:
    """Why nodes stay: codes by name."""
    return {one.node: str(one.reason.code) for one in plan.kept}


def refusals(plan: Plan) -> dict[str, str]:
    """Why the first unserved shape gets no node: codes by group."""
    return {reason.group: str(reason.code) for reason in plan.unserved[0].reasons}


def warned(plan: Plan) -> set[str]:
    return {str(warning.code) for warning in plan.warnings}


def places(plan: Plan, seen: ClusterSnapshot) -> dict[str, str]:
    """Where each served pod goes."""
    return {name: entry["node"] for entry in explain.assignments(plan, seen) for name in entry["pods"]}
