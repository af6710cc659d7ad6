"""The bench's model of the kube-scheduler: the queue's order, filters, scores, ties."""

import random

from bench.scheduler import Host, Waiting, bind
from spillway.model.cluster import Node, Taint
from spillway.model.selector import NodeSelectorTerm, Requirement
from tests.builders import Pods, node, pod, tolerate

ZONE = "topology.kubernetes.io/zone"


def host(name: str, **fields: object) -> Host:
    return Host(node(name, **fields), group="g", price_usd_h=1.0)  # type: ignore[arg-type]


def queue(*pods: Pods) -> Waiting:
    return [(name, one.shape) for one in pods for name in one.names]


def where(waiting: Waiting, *hosts: Host, seed: int = 0) -> dict[str, str]:
    bound, _ = bind(waiting, hosts, random.Random(seed))
    return {name: found.node.name for name, found in bound.items()}


def test_a_higher_priority_comes_before_an_earlier_arrival() -> None:
    waiting = queue(pod("early", cpu="3"), pod("urgent", cpu="3", priority=50))
    assert where(waiting, host("n1", cpu="4")) == {"urgent": "n1"}


def test_equal_priorities_go_by_arrival_and_who_is_left_keeps_the_order() -> None:
    waiting = queue(*(pod(name, cpu="3") for name in "cab"))
    bound, left = bind(waiting, [host("n1", cpu="4")], random.Random(0))
    assert list(bound) == ["c"]
    assert [name for name, _ in left] == ["a", "b"]


def test_a_pod_does_not_hold_up_those_behind_it() -> None:
    waiting = queue(pod("big", cpu="9", priority=50), pod("small", cpu="1"))
    assert where(waiting, host("n1", cpu="4")) == {"small": "n1"}


def test_pods_spread_to_the_least_allocated_node() -> None:
    waiting = queue(pod("a", cpu="2", memory="8Gi"), pod("b", cpu="2", memory="8Gi"))
    assert set(where(waiting, host("n1", cpu="8", memory="32Gi"), host("n2", cpu="8", memory="32Gi")).values()) == {"n1", "n2"}


def test_of_two_nodes_with_as_much_left_the_more_balanced_one_wins() -> None:
    lopsided, even = host("lopsided", cpu="8", memory="16Gi"), host("even", cpu="12", memory="12Gi")
    request = pod("p", cpu="4", memory="4Gi").shape.requests
    assert lopsided._least_allocated(request) == 62
    assert even._least_allocated(request) == 66
    assert lopsided._balanced(request) == 87
    assert even._balanced(request) == 100
    assert where(queue(pod("p", cpu="4", memory="4Gi")), lopsided, even) == {"p": "even"}


def test_a_pod_without_requests_counts_for_the_score_and_not_for_the_room() -> None:
    full = host("full", cpu="1", memory="1Gi")
    full.add("other", pod("other", cpu="1", memory="1Gi").shape.requests)
    nothing = pod("nothing", cpu="0", memory="0")
    assert where(queue(nothing), full) == {"nothing": "full"}
    assert full.scored["cpu"] == 1100
    assert full.used["cpu"] == 1000


def test_every_resource_and_the_slots_are_filters() -> None:
    assert where(queue(pod("p", gpu=2)), host("n1", gpu=1)) == {}
    assert where(queue(pod("p", count=3)), host("n1", slots=2)).keys() == {"p-0", "p-1"}


def test_selectors_and_required_affinity_are_filters() -> None:
    ssd = host("ssd", labels={"disk": "ssd"})
    assert where(queue(pod("p", node_selector={"disk": "hdd"})), ssd) == {}
    assert where(queue(pod("p", node_selector={"disk": "ssd"})), ssd) == {"p": "ssd"}
    terms = (
        NodeSelectorTerm(expressions=(Requirement("disk", "In", ("hdd",)),)),
        NodeSelectorTerm(expressions=(Requirement(ZONE, "NotIn", ("us-east-1b",)), Requirement("disk", "Exists"))),
    )
    assert where(queue(pod("p", node_affinity=terms)), ssd) == {"p": "ssd"}
    assert where(queue(pod("p", node_affinity=terms[:1])), ssd) == {}
    assert where(queue(pod("p", node_affinity=(NodeSelectorTerm(),))), ssd) == {}
    above = (NodeSelectorTerm(expressions=(Requirement("generation", "Gt", ("4",)),)),)
    assert where(queue(pod("p", node_affinity=above)), host("five", labels={"generation": "5"}), ssd) == {"p": "five"}


def test_taints_are_filters_but_for_soft_ones_and_cordoned_nodes_take_nobody() -> None:
    hard = host("hard", taints=[Taint(key="gpu", effect="NoSchedule", value="t4")])
    assert where(queue(pod("p")), hard) == {}
    assert where(queue(pod("p", tolerations=(tolerate("gpu", value="t4"),))), hard) == {"p": "hard"}
    assert where(queue(pod("q", tolerations=(tolerate("gpu", value="a10"),))), hard) == {}
    assert where(queue(pod("q", tolerations=(tolerate("", operator="Exists"),))), hard) == {"q": "hard"}
    assert where(queue(pod("p")), host("soft", taints=[Taint(key="gpu", effect="PreferNoSchedule")])) == {"p": "soft"}
    assert where(queue(pod("p")), Host(cordoned(), "g", 1.0)) == {}


def test_ties_fall_by_the_seed_and_one_seed_always_the_same_way() -> None:
    def fall(seed: int) -> str:
        return where(queue(pod("p")), *(host(f"n{number}") for number in range(4)), seed=seed)["p"]

    assert {fall(seed) for seed in range(40)} == {"n0", "n1", "n2", "n3"}
    assert [fall(seed) for seed in range(10)] == [fall(seed) for seed in range(10)]


def cordoned() -> Node:
    return node("n1", unschedulable=True)
