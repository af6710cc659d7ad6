"""The fake cluster's scheduler: who goes where, and why not."""

from typing import Any

import pytest

from spillway_local.clock import VirtualClock
from spillway_local.kube_api import FakeCluster
from tests.local.kube_api_objects import Object, new_cluster, node, pod, running


@pytest.fixture
def cluster() -> FakeCluster:
    return new_cluster()


def drive(cluster: FakeCluster, seconds: float = 1) -> None:
    assert isinstance(cluster.clock, VirtualClock)
    cluster.clock.run(limit_s=seconds)


def place(cluster: FakeCluster, name: str) -> str | None:
    found: str | None = (cluster.get("Pod", name) or {})["spec"].get("nodeName")
    return found


def message(cluster: FakeCluster, name: str) -> str:
    conditions: list[Object] = (cluster.get("Pod", name) or {})["status"]["conditions"]
    assert [(one["type"], one["status"], one["reason"]) for one in conditions] == [("PodScheduled", "False", "Unschedulable")]
    return str(conditions[0]["message"])


def test_spreads_pods_over_the_least_used_nodes(cluster: FakeCluster) -> None:
    for name in ("a", "b"):
        cluster.join(node(name))
    for number in range(4):
        cluster.add(pod(f"p{number}", cpu="1"))
    drive(cluster)
    assert [place(cluster, f"p{number}") for number in range(4)] == ["a", "b", "a", "b"]


def test_packs_pods_when_the_profile_says_so() -> None:
    cluster = new_cluster(packed=True)
    for name in ("a", "b"):
        cluster.join(node(name))
    for number in range(3):
        cluster.add(pod(f"p{number}", cpu="1", memory="4Gi"))
    drive(cluster)
    assert [place(cluster, f"p{number}") for number in range(3)] == ["a", "a", "a"]


def test_takes_pods_by_priority_and_then_by_age(cluster: FakeCluster) -> None:
    cluster.add(pod("young", cpu="1"))
    cluster.add(pod("urgent", cpu="1", priority=100))
    old = pod("old", cpu="1")
    old["metadata"]["creationTimestamp"] = "2025-12-31T00:00:00Z"
    cluster.add(old)
    cluster.join(node("n", cpu="2"))
    drive(cluster)
    assert [place(cluster, name) for name in ("urgent", "old", "young")] == ["n", "n", None]


def test_says_why_a_pod_fits_nowhere(cluster: FakeCluster) -> None:
    cluster.join(node("small", cpu="1"))
    cluster.join(node("tainted", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]))
    cluster.join(node("cordoned", unschedulable=True))
    cluster.join(node("full", pods=0))
    cluster.add(pod("p", cpu="2", nodeSelector={"disk": "ssd"}))
    cluster.add(pod("q", cpu="2"))
    drive(cluster)
    assert message(cluster, "p") == (
        "0/4 nodes are available: 1 node(s) had untolerated taint {gpu: yes}, 1 node(s) were unschedulable, "
        "2 node(s) didn't match Pod's node affinity/selector."
    )
    assert message(cluster, "q") == (
        "0/4 nodes are available: 1 Insufficient cpu, 1 Too many pods, 1 node(s) had untolerated taint {gpu: yes}, "
        "1 node(s) were unschedulable."
    )


def test_an_empty_cluster_has_no_nodes_to_offer(cluster: FakeCluster) -> None:
    cluster.add(pod("p"))
    drive(cluster)
    assert message(cluster, "p") == "no nodes available to schedule pods"


def test_a_pod_that_fitted_nowhere_goes_on_the_node_that_joins(cluster: FakeCluster) -> None:
    cluster.add(pod("p"))
    drive(cluster)
    cluster.join(node("n"), ready_after_s=30)
    drive(cluster, 20)
    assert place(cluster, "p") is None
    drive(cluster, 20)
    assert place(cluster, "p") == "n"


def test_room_that_a_finished_pod_leaves_is_used(cluster: FakeCluster) -> None:
    cluster.join(node("n", cpu="1"))
    cluster.add(running("first", on="n", cpu="1"))
    cluster.add(pod("second", cpu="1"))
    drive(cluster)
    assert place(cluster, "second") is None
    cluster.edit("Pod", "first", lambda body: body["status"].update(phase="Succeeded"))
    drive(cluster)
    assert place(cluster, "second") == "n"


def test_an_uncordoned_node_is_used_again(cluster: FakeCluster) -> None:
    cluster.join(node("n", unschedulable=True))
    cluster.add(pod("p"))
    drive(cluster)
    assert place(cluster, "p") is None
    cluster.edit("Node", "n", lambda body: body["spec"].pop("unschedulable"))
    drive(cluster)
    assert place(cluster, "p") == "n"


def test_a_soft_taint_is_avoided_while_another_node_has_room(cluster: FakeCluster) -> None:
    cluster.join(node("a", taints=[{"key": "leaving", "effect": "PreferNoSchedule"}]))
    cluster.join(node("b"))
    cluster.add(running("busy", on="b", cpu="3"))
    cluster.add(pod("p", cpu="1"))
    cluster.add(pod("q", cpu="1"))
    drive(cluster)
    assert [place(cluster, name) for name in ("p", "q")] == ["b", "a"]


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "value": "yes"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_tolerations(cluster: FakeCluster, toleration: Object, fits: bool) -> None:
    cluster.join(node("n", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]))
    cluster.add(pod("p", tolerations=[toleration]))
    drive(cluster)
    assert (place(cluster, "p") == "n") is fits


def affinity(*terms: Object) -> Object:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def term(key: str, operator: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        ([term("zone", "In", "b", "a")], True),
        ([term("zone", "NotIn", "a")], False),
        ([term("cores", "Gt", "7")], True),
        ([term("cores", "Lt", "7")], False),
        ([term("disk", "DoesNotExist")], True),
        ([term("disk", "Exists"), term("zone", "Exists")], True),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}], True),
        ([{}], False),
    ],
)
def test_required_node_affinity(cluster: FakeCluster, terms: list[Object], fits: bool) -> None:
    cluster.join(node("n", labels={"zone": "a", "cores": "8"}))
    cluster.add(pod("p", affinity=affinity(*terms)))
    drive(cluster)
    assert (place(cluster, "p") == "n") is fits


def test_all_resources_count_and_init_containers_too(cluster: FakeCluster) -> None:
    cluster.join(node("n", devices={"nvidia.com/gpu": "1"}))
    cluster.add(pod("gpu", devices={"nvidia.com/gpu": "2"}))
    init: list[Any] = [{"name": "init", "resources": {"requests": {"cpu": "5"}}}]
    cluster.add(pod("init", cpu="1", initContainers=init))
    drive(cluster)
    assert message(cluster, "gpu") == "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    assert message(cluster, "init") == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_nominated_node_is_taken_and_kept_from_others(cluster: FakeCluster) -> None:
    cluster.join(node("a", cpu="1"))
    cluster.add(running("busy", on="a", cpu="1"))
    cluster.add(pod("mine", cpu="1", status={"phase": "Pending", "nominatedNodeName": "b"}))
    early = pod("other", cpu="1")
    early["metadata"]["creationTimestamp"] = "2025-12-31T00:00:00Z"
    cluster.add(early)
    drive(cluster)
    cluster.join(node("b", cpu="1"))
    drive(cluster)
    assert (place(cluster, "mine"), place(cluster, "other")) == ("b", None)


def test_gated_pods_and_pods_of_other_schedulers_are_left_alone(cluster: FakeCluster) -> None:
    cluster.join(node("n"))
    cluster.add(pod("gated", schedulingGates=[{"name": "wait"}]))
    cluster.add(pod("foreign", schedulerName="volcano"))
    drive(cluster)
    assert [place(cluster, name) for name in ("gated", "foreign")] == [None, None]
    cluster.edit("Pod", "gated", lambda body: body["spec"].pop("schedulingGates"))
    drive(cluster)
    assert place(cluster, "gated") == "n"


def test_pods_that_were_there_before_their_node_count_against_it(cluster: FakeCluster) -> None:
    cluster.add(running("early", on="n", cpu="3"))
    cluster.add(pod("p", cpu="2"))
    cluster.join(node("n"))
    drive(cluster)
    assert message(cluster, "p") == "0/1 nodes are available: 1 Insufficient cpu."


def test_nothing_is_written_twice_for_a_pod_that_stays_unschedulable(cluster: FakeCluster) -> None:
    cluster.join(node("n", cpu="1"))
    cluster.add(pod("p", cpu="2"))
    drive(cluster)
    version = (cluster.get("Pod", "p") or {})["metadata"]["resourceVersion"]
    cluster.edit("Node", "n", lambda body: body["metadata"]["labels"].update(a="b"))
    drive(cluster)
    assert (cluster.get("Pod", "p") or {})["metadata"]["resourceVersion"] == version
