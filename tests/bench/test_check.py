"""The bench trusts no plan: it counts again."""

from collections.abc import Iterable
from datetime import timedelta

import msgspec
import pytest

from bench.bursts import seen, until_bound
from bench.check import Wrong, check, host_of
from spillway import planner
from spillway.model.cluster import Node, Taint
from spillway.model.fleet import NodeGroup
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from spillway.model.policy import Policy
from spillway_local.dump import Dump
from tests.builders import NOW, Pods, cluster, fleet, group, node, pod


def world(*objects: Pods | Node | NodeGroup) -> Dump:
    groups = [one for one in objects if isinstance(one, NodeGroup)]
    return Dump(cluster(*(one for one in objects if not isinstance(one, NodeGroup))), fleet(*groups), Policy(), Memory(), NOW)


def plan(of: Dump) -> Plan:
    return planner.plan(of.cluster, of.fleet, of.memory, of.policy, of.now)


def with_places(made: Plan, places: Iterable[object]) -> Plan:
    return msgspec.structs.replace(made, placements=tuple(places))


def test_a_plan_that_fits_passes() -> None:
    for objects in (
        (pod("p", cpu="3", count=5), group("g", cpu="4")),
        (pod("p", cpu="1", count=2), pod("old", cpu="1", node="n1"), node("n1", cpu="4"), group("g")),
        (pod("huge", cpu="99"), group("g", cpu="4")),
    ):
        check(world(*objects), plan(world(*objects)))


def test_two_regions_may_have_a_group_of_one_name() -> None:
    two = world(
        pod("p", cpu="3", count=4), group("g", max_size=2), group("g", region="us-west-2", max_size=2)
    )  # fmt: skip
    check(two, plan(two))


def test_pods_that_are_too_many_for_a_node_fail_the_figure() -> None:
    one = world(pod("p", cpu="3", count=2), group("g", cpu="4"))
    made = plan(one)
    crowded = [msgspec.structs.replace(place, target="us-east-1/g#0") for place in made.placements]
    with pytest.raises(Wrong, match=r"too little is left: .*cpu 1000 of 3000 wanted"):
        check(one, with_places(made, crowded))


def test_what_runs_on_a_node_already_counts() -> None:
    one = world(pod("p", cpu="3"), node("n1", cpu="4"), pod("old", cpu="2", node="n1"), group("g", cpu="4"))
    made = plan(one)
    moved = [msgspec.structs.replace(place, target="n1") for place in made.placements]
    with pytest.raises(Wrong, match="n1, where too little is left"):
        check(one, with_places(made, moved))


def test_a_pod_on_a_node_that_refuses_it_fails_the_figure() -> None:
    taint = Taint(key="gpu", effect="NoSchedule")
    free = world(pod("p"), group("g"))
    tainted = world(pod("p"), group("g", taints=[taint]))
    with pytest.raises(Wrong, match="taints refuse"):
        check(tainted, plan(free))


def test_a_pod_that_is_forgotten_or_placed_twice_fails_the_figure() -> None:
    one = world(pod("p", cpu="1", count=3), group("g", cpu="4"))
    made = plan(one)
    with pytest.raises(Wrong, match="3 pods wait, 0 have a place and 0 are unserved"):
        check(one, with_places(made, ()))
    with pytest.raises(Wrong, match="has a place"):
        check(one, with_places(made, made.placements * 2))


def test_a_node_that_nobody_bought_fails_the_figure() -> None:
    one = world(pod("p"), group("g"))
    made = plan(one)
    with pytest.raises(Wrong, match="g#7, which is neither there nor bought"):
        check(one, with_places(made, [msgspec.structs.replace(made.placements[0], target="us-east-1/g#7")]))


def test_a_price_that_is_not_the_sum_of_the_nodes_fails_the_figure() -> None:
    one = world(pod("p"), group("g", price=0.2))
    made = plan(one)
    cheap = msgspec.structs.replace(made, summary=msgspec.structs.replace(made.summary, price_usd_h_new=0.1))
    with pytest.raises(Wrong, match=r"cost 0\.20 USD an hour, the plan says 0\.10"):
        check(one, cheap)


def test_a_burst_ends_when_every_pod_is_bound() -> None:
    """The scheduler spreads the small pods over both nodes; the large one that was to share one of them gets another."""
    small, large = pod("small", cpu="1", count=4, priority=50), pod("large", cpu="4")
    run = until_bound(world(small, large, group("g", cpu="4", price=0.2)), seed=1)
    assert (run.ticks, run.left) == (2, 0)
    assert run.price_usd_h == pytest.approx(0.6)
    assert run.first == pytest.approx(4 / 5)


def test_a_burst_that_no_group_can_hold_ends_with_what_is_left() -> None:
    run = until_bound(world(pod("p", cpu="3", count=3), group("g", cpu="4", max_size=2)), seed=1)
    assert (run.ticks, run.left) == (1, 1)


def test_the_next_tick_sees_the_nodes_that_came_and_who_runs_there() -> None:
    one = world(pod("p", cpu="3", count=2), group("g", cpu="4"))
    everyone = [(name, one.cluster.shapes[0]) for name in one.cluster.pods[0].names]
    host = host_of(one.fleet.groups[0], "g-0")
    host.add("p-0", everyone[0][1].requests)
    now = seen(one, everyone, everyone[1:], [host])
    assert [(pods.node, pods.names) for pods in now.cluster.pods] == [("", ("p-1",)), ("g-0", ("p-0",))]
    assert now.fleet.groups[0].desired == 1
    assert now.cluster.nodes[0].created < NOW - timedelta(hours=1)
