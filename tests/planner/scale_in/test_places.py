"""A node goes only if every pod on it has a place, in the state that the scheduler will see."""

from typing import Any

import pytest

from spillway.model.cluster import PodAffinityTerm, SpreadConstraint, Taint
from spillway.model.plan import Plan
from spillway.model.selector import Requirement
from tests.builders import Pods, desired, group, kept, node, pod, removed
from tests.planner.scale_in.worlds import pair, planned, why_stays

pytestmark = pytest.mark.feature("SI-05")

WEB = (Requirement(key="app", operator="In", values=("web",)),)
HOSTNAME = "kubernetes.io/hostname"
KEPT = {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}


def web(on: str, **fields: Any) -> Pods:
    return pod(f"web-{on}", cpu="100m", memory="128Mi", node=on, labels={"app": "web"}, **fields)


@pytest.mark.parametrize(
    ("other", "pods"),
    [
        ({"cpu": "2"}, {}),
        ({"taints": [Taint(key="dedicated", effect="NoSchedule")]}, {}),
        ({"unschedulable": True}, {}),
        ({"ready": False}, {}),
        ({"slots": 1}, {}),
        ({}, {"node_selector": {"disk": "ssd"}}),
    ],
    ids=["full", "tainted", "cordoned", "not ready", "no slot", "label"],
)
def test_no_pod_goes_where_the_scheduler_would_not_take_it(other: dict[str, Any], pods: dict[str, Any]) -> None:
    low, second = node("low", labels={"disk": "ssd"}), node("other", **other)
    plan = planned(
        low,
        second,
        pod("p", cpu="500m", node="low", **pods),
        pod("load", cpu="1700m", node="other", **KEPT),
        group("g", nodes=[low, second]),
    )
    assert removed(plan) == []
    assert why_stays(plan) == ("no_place", "node low stays: default/p would have no place on another node")


def test_a_starting_node_is_no_refuge() -> None:
    """Ready for a minute, and still without the GPU that its group promises."""
    low, young = node("low"), node("young", age_s=60)
    starting = group("new", nodes=[young], gpu=1)
    plan = planned(low, young, pod("p", cpu="500m", node="low"), group("g", nodes=[low]), starting)
    assert kept(plan) == {"low": "no_place", "young": "starting"}


def test_all_pods_have_a_place_or_none_moves() -> None:
    low, busy = node("low"), node("busy")
    objects = (low, busy, pod("load", cpu="2500m", node="busy"), group("g", nodes=[low, busy]))
    assert removed(planned(*objects, pod("p", count=3, cpu="500m", node="low"))) == ["low"]
    plan = planned(*objects, pod("p", count=2, cpu="500m", node="low"), pod("big", cpu="501m", memory="4Gi", node="low"))
    assert kept(plan)["low"] == "no_place"


def test_two_nodes_never_count_on_the_same_room() -> None:
    nodes = [node("a"), node("b"), node("busy")]
    plan = planned(
        *nodes,
        pod("pa", cpu="1", node="a"),
        pod("pb", cpu="1", node="b"),
        pod("load", cpu="2500m", node="busy"),
        group("g", nodes=nodes),
    )
    assert (removed(plan), kept(plan)) == (["a"], {"b": "no_place", "busy": "busy"})


def test_a_node_that_pods_move_to_does_not_go_in_the_same_plan() -> None:
    nodes = [node("a"), node("b"), node("c")]
    plan = planned(*nodes, *(pod(f"p{one.name}", cpu="1", node=one.name) for one in nodes), group("g", nodes=nodes))
    assert removed(plan) == ["a", "b"]
    assert why_stays(plan, "c") == ("receives_pods", "node c stays: pods of node a move there")


def test_pods_that_wait_come_first() -> None:
    """The room of `busy` is for the pod that waits, so `low` keeps its own."""
    plan = pair(pod("p", cpu="1", node="low"), more=[pod("waits", cpu="1500m", node_selector={HOSTNAME: "busy"})])
    assert (removed(plan), desired(plan), kept(plan)["low"]) == ([], {}, "no_place")


def test_a_pod_that_fits_nowhere_keeps_no_node() -> None:
    plan = pair(pod("p", cpu="1", node="low"), more=[pod("hopeless", cpu="99")])
    assert removed(plan) == ["low"]


def test_room_on_a_machine_of_no_group_is_room() -> None:
    low, rack = node("low"), node("rack", ec2=False)
    assert removed(planned(low, rack, pod("p", node="low"), group("g", nodes=[low]))) == ["low"]


def test_a_node_that_goes_empty_takes_no_pods() -> None:
    low, idle = node("low"), node("idle")
    plan = planned(low, idle, pod("p", node="low"), group("g", nodes=[low, idle]))
    assert (removed(plan), kept(plan)) == (["idle"], {"low": "no_place"})


def test_of_two_the_one_with_fewer_pods_goes() -> None:
    nodes = [node("a"), node("b")]
    plan = planned(*nodes, pod("two", count=2, cpu="500m", node="a"), pod("one", cpu="500m", node="b"), group("g", nodes=nodes))
    assert removed(plan) == ["b"]


def test_the_dearer_of_two_goes() -> None:
    cheap, dear = node("cheap"), node("dear")
    plan = planned(
        cheap,
        dear,
        pod("p1", cpu="500m", node="cheap"),
        pod("p2", cpu="500m", node="dear"),
        group("a", nodes=[cheap], price=0.1),
        group("b", nodes=[dear], price=0.3),
    )
    assert removed(plan) == ["dear"]


@pytest.mark.parametrize(("honours", "gone"), [("Ignore", []), ("Honor", ["n1"])])
def test_the_node_is_tainted_and_there_when_a_hard_spread_counts(honours: str, gone: list[str]) -> None:
    """Three nodes with a pod each, of which two may not go. Counted, the first one is a domain without pods, and a second pod
    on another would be a skew of two."""
    rule = SpreadConstraint(
        topology_key=HOSTNAME, max_skew=1, when_unsatisfiable="DoNotSchedule", selector=WEB, node_taints_policy=honours
    )
    nodes = [node("n1"), node("n2"), node("n3")]
    plan = planned(
        *nodes,
        *(web(one.name, spread=(rule,)) for one in nodes),
        *(pod(f"stays-{name}", cpu="100m", node=name, **KEPT) for name in ("n2", "n3")),
        group("g", nodes=nodes),
    )
    assert removed(plan) == gone


def avoiding(*names: str, rack: bool = False) -> Plan:
    term = PodAffinityTerm(topology_key=HOSTNAME, selector=WEB, namespaces=("default",))
    nodes = [node(name) for name in names]
    racks = [node("rack", ec2=False)] if rack else []
    return planned(*nodes, *racks, *(web(name, pod_anti_affinity=(term,)) for name in names), group("g", nodes=nodes))


def test_pods_that_avoid_each_other_keep_a_node_each() -> None:
    assert removed(avoiding("n1", "n2", "n3")) == []
    assert len(removed(avoiding("n1", "n2", "n3", rack=True))) == 1


def test_a_pod_that_must_be_beside_others_does_not_leave_them() -> None:
    term = PodAffinityTerm(topology_key=HOSTNAME, selector=WEB, namespaces=("default",))
    low, other = node("low"), node("other")
    follower = pod("follower", cpu="100m", node="low", pod_affinity=(term,))
    objects = (low, other, follower, pod("load", cpu="2500m", node="other"), group("g", nodes=[low, other]))
    assert kept(planned(*objects))["low"] == "no_place"
    assert removed(planned(*objects, web("other"))) == ["low"]


def test_what_could_not_go_leaves_no_trace_in_the_room_of_others() -> None:
    """`a` finds place for one of its pods only; `b` gets that place all the same."""
    nodes = [node("a"), node("b"), node("busy")]
    plan = planned(
        *nodes,
        pod("pa", cpu="700m", node="a"),
        pod("pinned", cpu="1", node="a", node_selector={HOSTNAME: "a"}),
        pod("pb", count=3, cpu="500m", node="b"),
        pod("load", cpu="2500m", node="busy"),
        group("g", nodes=nodes),
    )
    assert (removed(plan), kept(plan)["a"]) == (["b"], "no_place")
