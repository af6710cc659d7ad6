"""What holds for every world: limits, order, fit, and that more choice never hurts."""

from collections import defaultdict
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spillway import planner
from spillway.model.base import encode
from spillway.model.cluster import ClusterSnapshot, Node, PodShape, Taint
from spillway.model.fleet import FleetSnapshot, NodeGroup
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from spillway.model.policy import Policy
from spillway.planner import clocks
from tests.builders import NOW, YESTERDAY, Pods, cluster, fleet, group, node, pod, tolerate

DEDICATED = Taint(key="dedicated", value="x", effect="NoSchedule")
disks = st.sampled_from(["ssd", "hdd"])


@st.composite
def waiting(draw: st.DrawFn, name: str) -> Pods:
    return pod(
        name,
        count=draw(st.integers(1, 6)),
        cpu=f"{draw(st.sampled_from([100, 500, 1500, 3000, 7000]))}m",
        memory=f"{draw(st.sampled_from([1, 4, 12]))}Gi",
        gpu=draw(st.sampled_from([0, 0, 0, 1])),
        priority=draw(st.sampled_from([0, 0, 10])),
        age_s=draw(st.sampled_from([60, 600])),
        node_selector={"disk": draw(disks)} if draw(st.booleans()) else {},
        tolerations=(tolerate("dedicated", operator="Exists"),) if draw(st.booleans()) else (),
    )


@st.composite
def groups(draw: st.DrawFn, name: str, max_size: st.SearchStrategy[int]) -> tuple[NodeGroup, list[Node]]:
    region = draw(st.sampled_from(["us-east-1", "us-west-2"]))
    cpu, gpu = draw(st.sampled_from([2, 4, 16])), draw(st.sampled_from([0, 0, 4]))
    size = {"cpu": str(cpu), "memory": f"{cpu * 4}Gi", "gpu": gpu}
    labels, taints = {"disk": draw(disks)}, [DEDICATED] if draw(st.booleans()) else []
    zones = draw(st.sampled_from([[f"{region}a"], [f"{region}a", f"{region}b"]]))
    members = [
        node(f"{name}-{i}", zone=f"{region}a", labels=labels, taints=taints, **size) for i in range(draw(st.integers(0, 2)))
    ]
    price = draw(st.sampled_from([None, 0.1, 0.5, 2.0]))
    made = group(
        name, nodes=members, region=region, zones=zones, labels=labels, taints=taints, price=price,
        max_size=draw(max_size), min_size=draw(st.sampled_from([0, 0, 1])), **size,
    )  # fmt: skip
    return made, members


class World(NamedTuple):
    cluster: ClusterSnapshot
    fleet: FleetSnapshot


@st.composite
def worlds(draw: st.DrawFn, max_size: st.SearchStrategy[int]) -> World:
    made = [draw(groups(f"g{i}", max_size)) for i in range(draw(st.integers(1, 4)))]
    nodes = [one for _, members in made for one in members]
    pods = [draw(waiting(f"p{i}")) for i in range(draw(st.integers(0, 5)))]
    running = [pod(f"r{i}", cpu="1", node=one.name) for i, one in enumerate(nodes) if draw(st.booleans())]
    return World(cluster(*nodes, *pods, *running), fleet(*(one for one, _ in made)))


def planned(world: World, policy: Policy | None = None) -> Plan:
    rules = policy or Policy()
    memory = clocks.observe(Memory(), world.cluster, world.fleet, rules, NOW, YESTERDAY)
    return planner.plan(world.cluster, world.fleet, memory, rules, NOW)


some_room = st.integers(0, 4)


@settings(max_examples=80, deadline=None)
@given(worlds(some_room))
def test_no_group_is_planned_above_its_max_nor_below_its_min(world: World) -> None:
    plan = planned(world)
    sizes = {one.key: one for one in world.fleet.groups}
    after = {one.key: one.desired for one in world.fleet.groups}
    for up in plan.scale_out:
        one = sizes[f"{up.region}/{up.group}"]
        assert up.from_desired <= up.to_desired <= max(one.max_size, one.desired)
        after[one.key] = up.to_desired
    for down in plan.scale_in:
        after[f"{down.region}/{down.group}"] -= 1
    for key, one in sizes.items():
        assert after[key] >= min(one.min_size, one.max_size, one.desired)


@settings(max_examples=60, deadline=None)
@given(worlds(some_room), st.randoms(use_true_random=False))
@pytest.mark.feature("SO-27")
def test_the_order_of_pods_nodes_and_groups_changes_no_byte(world: World, draw: object) -> None:
    def mixed(items: tuple[object, ...]) -> tuple[object, ...]:
        found = list(items)
        draw.shuffle(found)  # type: ignore[attr-defined]
        return tuple(found)

    def inside(one: NodeGroup) -> NodeGroup:
        return msgspec.structs.replace(one, instances=mixed(one.instances), zones=mixed(one.zones))

    seen, supply = world
    turned = World(
        msgspec.structs.replace(seen, nodes=mixed(seen.nodes), shapes=mixed(seen.shapes), pods=mixed(seen.pods)),
        msgspec.structs.replace(supply, groups=mixed(tuple(map(inside, supply.groups))), regions=mixed(supply.regions)),
    )
    assert encode(planned(turned)) == encode(planned(world))


@settings(max_examples=80, deadline=None)
@given(worlds(some_room))
def test_every_served_pod_fits_where_it_is_sent_pod_by_pod(world: World) -> None:
    plan = planned(world)
    shapes = {shape.id: shape for shape in world.cluster.shapes}
    free: dict[str, dict[str, int]] = {}
    hosts: dict[str, tuple[dict[str, str], tuple[Taint, ...]]] = {}
    for live in world.cluster.nodes:
        free[live.name], hosts[live.name] = dict(live.allocatable), (dict(live.labels), live.taints)
    for bound in world.cluster.pods:
        if bound.node:
            for _ in bound.names:
                _charge(free[bound.node], shapes[bound.shape])
    new: dict[str, set[str]] = defaultdict(set)
    for placement in plan.placements:
        if placement.target not in free:
            key = placement.target.partition("#")[0]
            template = next(one.template for one in world.fleet.groups if one.key == key)
            assert template is not None
            free[placement.target], hosts[placement.target] = (
                dict(template.allocatable),
                (dict(template.labels), template.taints),
            )
            new[key].add(placement.target)
        shape, (labels, taints) = shapes[placement.shape], hosts[placement.target]
        assert shape.node_selector.items() <= labels.items()
        assert not taints or shape.tolerations
        for _ in range(placement.pods):
            _charge(free[placement.target], shape)
    assert all(amount >= 0 for amounts in free.values() for amount in amounts.values())
    assert not {down.node for down in plan.scale_in} & {placement.target for placement in plan.placements}
    steps = {f"{up.region}/{up.group}": up.nodes for up in plan.scale_out}
    assert all(len(targets) <= steps[key] for key, targets in new.items())


def _charge(free: dict[str, int], shape: PodShape) -> None:
    for resource, amount in shape.requests.items():
        free[resource] = free.get(resource, 0) - amount


@settings(max_examples=80, deadline=None)
@given(worlds(some_room))
def test_every_waiting_pod_is_served_once_or_unserved_with_a_reason_for_each_group(world: World) -> None:
    plan = planned(world)
    count = {pods.shape: len(pods.names) for pods in world.cluster.pods if not pods.node}
    next_first: dict[str, int] = defaultdict(int)
    for placement in plan.placements:
        assert placement.first == next_first[placement.shape]
        next_first[placement.shape] += placement.pods
    left = {one.shape: one.pods for one in plan.unserved}
    assert {shape: next_first[shape] + left.get(shape, 0) for shape in count} == count
    assert all(len(one.reasons) == len(world.fleet.groups) for one in plan.unserved)


@pytest.mark.feature("SO-06")
@settings(max_examples=60, deadline=None)
@given(worlds(st.just(500)), groups("extra", st.just(500)))
def test_one_group_more_never_leaves_a_pod_unserved_that_was_served(world: World, extra: tuple[NodeGroup, list[Node]]) -> None:
    before = planned(world)
    more = World(world.cluster, msgspec.structs.replace(world.fleet, groups=(*world.fleet.groups, extra[0])))
    assert {one.shape for one in planned(more).unserved} <= {one.shape for one in before.unserved}


@settings(max_examples=60, deadline=None)
@given(worlds(st.just(500)))
def test_a_pod_that_some_group_can_hold_is_served_when_there_is_room(world: World) -> None:
    plan = planned(world)
    codes = {str(reason.code) for one in plan.unserved for reason in one.reasons}
    assert codes <= {"too_small", "selector", "taint"}


@settings(max_examples=40, deadline=None)
@given(worlds(some_room), st.integers(0, 5))
def test_a_limit_of_nodes_truncates(world: World, limit: int) -> None:
    rules = Policy.model_validate({"scale_out": {"limits": {"nodes": limit}}})
    plan = planned(world, rules)
    assert plan.summary.nodes_new <= max(0, limit - len(world.cluster.nodes))


@settings(max_examples=40, deadline=None)
@given(worlds(some_room))
def test_observing_twice_changes_nothing(world: World) -> None:
    once = clocks.observe(Memory(), world.cluster, world.fleet, Policy(), NOW, YESTERDAY)
    assert clocks.observe(once, world.cluster, world.fleet, Policy(), NOW, YESTERDAY) == once
