"""Lists: pages of one moment, selectors, versions."""

from collections.abc import Iterator

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from spillway_local.kube_api import Cluster
from tests.local.kube_api_objects import Opened, client_of, node, pod, running


@pytest.fixture
def open_cluster(api_server: Cluster) -> Iterator[Opened]:
    with client_of(api_server) as api:
        yield api_server, client.CoreV1Api(api)


def names(listed: client.V1PodList) -> list[str]:
    return [one.metadata.name for one in listed.items]


def test_pages_come_from_the_moment_of_the_first(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    for number in range(5):
        cluster.add(pod(f"p{number}"))
    first = core.list_pod_for_all_namespaces(limit=2)
    assert (names(first), first.metadata.remaining_item_count) == (["p0", "p1"], 3)
    cluster.remove("Pod", "p3")
    cluster.add(pod("p2b"))
    second = core.list_pod_for_all_namespaces(limit=2, _continue=first.metadata._continue)
    third = core.list_pod_for_all_namespaces(limit=2, _continue=second.metadata._continue)
    assert (names(second), names(third)) == (["p2", "p3"], ["p4"])
    assert first.metadata.resource_version == second.metadata.resource_version == third.metadata.resource_version
    assert third.metadata._continue is None
    assert names(core.list_pod_for_all_namespaces()) == ["p0", "p1", "p2", "p2b", "p4"]


def test_a_continue_token_ends_with_a_compaction_and_offers_an_inconsistent_rest(
    open_cluster: Opened,
) -> None:
    cluster, core = open_cluster
    for number in range(4):
        cluster.add(pod(f"p{number}"))
    first = core.list_pod_for_all_namespaces(limit=2)
    cluster.compact()
    cluster.remove("Pod", "p2")
    with pytest.raises(ApiException) as error:
        core.list_pod_for_all_namespaces(limit=2, _continue=first.metadata._continue)
    assert error.value.status == 410
    status = core.api_client.deserialize(error.value.body, "V1Status", "application/json")
    assert status.reason == "Expired"
    assert names(core.list_pod_for_all_namespaces(limit=2, _continue=status.metadata._continue)) == ["p3"]


def test_a_made_up_continue_token_is_a_bad_request(open_cluster: Opened) -> None:
    _, core = open_cluster
    with pytest.raises(ApiException) as error:
        core.list_node(limit=1, _continue="nonsense")
    assert error.value.status == 400


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("app=web", ["a", "b"]),
        ("app==web,tier!=front", ["b"]),
        ("app in (web, db),tier", ["a"]),
        ("app notin (web)", ["c", "d"]),
        ("!app", ["d"]),
        ("app,!tier", ["b", "c"]),
    ],
)
def test_label_selectors(open_cluster: Opened, selector: str, found: list[str]) -> None:
    cluster, core = open_cluster
    labels = {"a": {"app": "web", "tier": "front"}, "b": {"app": "web"}, "c": {"app": "db"}, "d": {}}
    for name, own in labels.items():
        cluster.add(pod(name, labels=own))
    assert names(core.list_namespaced_pod("default", label_selector=selector)) == found


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("spec.nodeName=n", ["on-n"]),
        ("spec.nodeName=", ["waiting"]),
        ("status.phase=Pending", ["waiting"]),
        ("status.phase!=Pending,metadata.name!=on-n", ["on-m"]),
        ("metadata.namespace=default", ["on-m", "on-n", "waiting"]),
    ],
)
def test_field_selectors(open_cluster: Opened, selector: str, found: list[str]) -> None:
    cluster, core = open_cluster
    for body in (running("on-n", on="n"), running("on-m", on="m"), pod("waiting")):
        cluster.add(body)
    assert names(core.list_pod_for_all_namespaces(field_selector=selector)) == found


def test_nodes_are_selected_by_their_cordon(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("open"))
    cluster.add(node("cordoned", unschedulable=True))
    assert [one.metadata.name for one in core.list_node(field_selector="spec.unschedulable=true").items] == ["cordoned"]
    assert [one.metadata.name for one in core.list_node(field_selector="spec.unschedulable=false").items] == ["open"]


def test_a_field_that_cannot_be_selected_by_is_a_bad_request(open_cluster: Opened) -> None:
    _, core = open_cluster
    with pytest.raises(ApiException) as error:
        core.list_node(field_selector="spec.nodeName=n")
    assert error.value.status == 400
    assert "field label not supported: spec.nodeName" in error.value.body


def test_a_namespace_holds_its_own_pods(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(pod("a", namespace="one"))
    cluster.add(pod("a", namespace="two"))
    assert len(core.list_pod_for_all_namespaces().items) == 2
    assert [one.metadata.namespace for one in core.list_namespaced_pod("two").items] == ["two"]


def test_a_version_of_the_future_times_out(open_cluster: Opened) -> None:
    _, core = open_cluster
    with pytest.raises(ApiException) as error:
        core.list_node(resource_version="999999")
    assert error.value.status == 504
    assert "Too large resource version" in error.value.body


def test_an_exact_version_is_answered_until_it_is_compacted_away(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("a"))
    cluster.add(node("n"))
    exact = {"resource_version": core.list_node().metadata.resource_version, "resource_version_match": "Exact"}
    cluster.add(node("m"))
    cluster.remove("Node", "a")
    core.patch_node("n", {"spec": {"unschedulable": True}})
    then = core.list_node(**exact)
    assert then.metadata.resource_version == exact["resource_version"]
    assert [(one.metadata.name, one.spec.unschedulable) for one in then.items] == [("a", None), ("n", None)]
    cluster.compact()
    with pytest.raises(ApiException) as error:
        core.list_node(**exact)
    assert error.value.status == 410
