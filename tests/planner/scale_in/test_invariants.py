"""What holds for every world that shrinks."""

from collections import Counter
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spillway import planner
from spillway.model.base import encode
from spillway.model.cluster import ClusterSnapshot, Node, PodSet
from spillway.model.fleet import FleetSnapshot, NodeGroup
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from spillway.model.policy import Policy
from spillway.model.workloads import Budget
from spillway.planner import clocks
from tests.builders import NOW, YESTERDAY, Pods, cluster, fleet, group, node, pod, policy


class World(NamedTuple):
    cluster: ClusterSnapshot
    fleet: FleetSnapshot
    policy: Policy


@st.composite
def worlds(draw: st.DrawFn) -> World:
    groups: list[NodeGroup] = []
    nodes: list[Node] = []
    pods: list[Pods] = []
    for g in range(draw(st.integers(1, 3))):
        cpu = draw(st.sampled_from([2, 4, 8]))
        own = [node(f"g{g}-{i}", cpu=str(cpu), memory=f"{4 * cpu}Gi") for i in range(draw(st.integers(1, 6)))]
        least = draw(st.integers(0, 2))
        groups.append(group(f"g{g}", nodes=own, cpu=str(cpu), memory=f"{4 * cpu}Gi", min_size=least, max_size=20))
        nodes += own
    for one in nodes:
        for kind in range(draw(st.integers(0, 3))):
            pods.append(
                pod(
                    f"p-{one.name}-{kind}",
                    cpu=f"{draw(st.sampled_from([100, 400, 900]))}m",
                    memory="256Mi",
                    node=one.name,
                    labels={"app": draw(st.sampled_from(["a", "b"]))},
                    node_selector=draw(st.sampled_from([{}, {}, {"kubernetes.io/hostname": one.name}])),
                )
            )
    waiting = [pod(f"w{i}", cpu=f"{draw(st.sampled_from([500, 1500]))}m") for i in range(draw(st.integers(0, 2)))]
    chosen = {label: tuple(sorted({p.shape.id for p in pods if p.shape.labels["app"] == label})) for label in "ab"}
    pdbs = tuple(
        Budget(namespace="default", name=label, allowed=draw(st.integers(0, 3)), shapes=chosen[label], healthy=3, desired=3)
        for label in draw(st.sampled_from([(), ("a",), ("a", "b")]))
    )
    budget = draw(st.sampled_from(["100%", "30%", 1, 0]))
    minimum = draw(st.sampled_from([{}, {"nodes": 2}, {"cpu": "6"}]))
    rules = policy(scale_in={"budgets": [{"nodes": budget}], "cluster_minimum": minimum})
    return World(cluster(*nodes, *pods, *waiting, budgets=pdbs), fleet(*groups), rules)


def planned(world: World, memory: Memory | None = None) -> Plan:
    known = clocks.observe(memory or Memory(), world.cluster, world.fleet, world.policy, NOW, YESTERDAY)
    return planner.plan(world.cluster, world.fleet, known, world.policy, NOW)


def moved(world: World, plan: Plan) -> list[PodSet]:
    gone = {step.node for step in plan.scale_in}
    return [pods for pods in world.cluster.pods if pods.node in gone]


@pytest.mark.feature("SI-09")
@settings(max_examples=60, deadline=None)
@given(worlds())
def test_never_below_a_min_nor_more_than_a_budget(world: World) -> None:
    plan = planned(world)
    gone = {step.node for step in plan.scale_in}
    by_group = Counter(step.group for step in plan.scale_in)
    for one in world.fleet.groups:
        assert by_group[one.name] == 0 or one.desired - by_group[one.name] >= one.min_size
    [budget] = world.policy.scale_in.budgets
    own = len(world.cluster.nodes)
    most = budget.nodes if isinstance(budget.nodes, int) else -(-own * int(budget.nodes[:-1]) // 100)
    assert len(gone) <= most
    left = [one for one in world.cluster.nodes if one.name not in gone]
    least = world.policy.scale_in.cluster_minimum
    if gone:
        assert len(left) >= (least.nodes or 0)
        assert sum(one.allocatable["cpu"] for one in left) >= (6000 if least.cpu else 0)


@pytest.mark.feature("SI-08")
@settings(max_examples=60, deadline=None)
@given(worlds())
def test_no_disruption_budget_is_passed_by_more_than_the_node_that_uses_it_up(world: World) -> None:
    plan = planned(world)
    for budget in world.cluster.budgets:
        used: Counter[str] = Counter()
        for pods in moved(world, plan):
            if pods.shape in budget.shapes:
                used[pods.node] += len(pods.names)
        assert not used or budget.allowed > 0
        assert used.total() - max(used.values(), default=0) < max(1, budget.allowed)


@pytest.mark.feature("SI-05")
@settings(max_examples=60, deadline=None)
@given(worlds())
def test_every_pod_that_moves_has_a_place_on_what_stays(world: World) -> None:
    """Found by trying them all; pods that wait are gone from the world, so that the room is theirs."""
    world = world._replace(
        cluster=msgspec.structs.replace(world.cluster, pods=tuple(one for one in world.cluster.pods if one.node))
    )
    plan = planned(world)
    gone = {step.node for step in plan.scale_in}
    evicted = {pod for step in plan.scale_in for pod in step.evict}
    homeless = moved(world, plan)
    assert len(evicted) == sum(len(pods.names) for pods in homeless)
    shapes = {shape.id: shape for shape in world.cluster.shapes}
    assert not any(shapes[pods.shape].node_selector for pods in homeless), "they are bound to their own node"
    free = {one.name: one.allocatable["cpu"] for one in world.cluster.nodes if one.name not in gone}
    for pods in world.cluster.pods:
        if pods.node in free:
            free[pods.node] -= shapes[pods.shape].requests["cpu"] * len(pods.names)
    sizes = sorted((shapes[pods.shape].requests["cpu"] for pods in homeless for _ in pods.names), reverse=True)
    assert have_room(sizes, sorted(free.values()))


def have_room(sizes: list[int], free: list[int]) -> bool:
    """Whether all fit, by trying every kind of node for the largest."""
    if not sizes:
        return True
    for amount in {room for room in free if room >= sizes[0]}:
        left = list(free)
        left.remove(amount)
        if have_room(sizes[1:], sorted([*left, amount - sizes[0]])):
            return True
    return False


@pytest.mark.feature("SI-05")
@settings(max_examples=60, deadline=None)
@given(worlds())
def test_a_plan_carried_out_is_followed_by_none_that_moves_the_same_pods(world: World) -> None:
    """Whose pods moved a moment ago stays: no pod wanders from node to node."""
    plan = planned(world)
    gone = {step.node for step in plan.scale_in}
    stays = sorted(one.name for one in world.cluster.nodes if one.name not in gone)
    if not stays:
        return
    pods = tuple(
        msgspec.structs.replace(one, node=stays[0], started=(NOW,) * len(one.names)) if one.node in gone else one
        for one in world.cluster.pods
    )
    after = without(world, gone)
    again = planned(after._replace(cluster=msgspec.structs.replace(after.cluster, pods=pods)))
    moved_once = {f"default/{name}" for one in world.cluster.pods if one.node in gone for name in one.names}
    assert not moved_once & {pod.pod for step in again.scale_in for pod in step.evict}


@pytest.mark.feature("SI-05")
@settings(max_examples=60, deadline=None)
@given(worlds())
def test_the_same_world_in_any_order_gives_the_same_plan(world: World) -> None:
    turned = world._replace(
        cluster=msgspec.structs.replace(
            world.cluster, nodes=world.cluster.nodes[::-1], pods=world.cluster.pods[::-1], shapes=world.cluster.shapes[::-1]
        ),
        fleet=msgspec.structs.replace(world.fleet, groups=world.fleet.groups[::-1]),
    )
    assert encode(planned(turned)) == encode(planned(world))


@pytest.mark.feature("SI-01")
@settings(max_examples=60, deadline=None)
@given(worlds())
def test_every_node_goes_or_says_why_it_stays(world: World) -> None:
    plan = planned(world)
    names = [step.node for step in plan.scale_in] + [one.node for one in plan.kept]
    assert sorted(names) == sorted(one.name for one in world.cluster.nodes)


def without(world: World, gone: set[str]) -> World:
    """The world in which the nodes are gone."""
    groups = []
    for one in world.fleet.groups:
        members = tuple(i for i in one.instances if i.id.removeprefix("i-") not in gone)
        groups.append(msgspec.structs.replace(one, instances=members, desired=len(members)))
    nodes = tuple(one for one in world.cluster.nodes if one.name not in gone)
    return world._replace(
        cluster=msgspec.structs.replace(world.cluster, nodes=nodes),
        fleet=msgspec.structs.replace(world.fleet, groups=tuple(groups)),
    )
