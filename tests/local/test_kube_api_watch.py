"""Watches: changes as they come, from a version on, for as long as asked."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException

from spillway_local.kube_api import Cluster
from tests.local.kube_api_objects import Opened, client_of, node, pod


@pytest.fixture
def open_cluster(api_server: Cluster) -> Iterator[Opened]:
    with client_of(api_server) as api:
        yield api_server, client.CoreV1Api(api)


def first(count: int, call: Callable[..., Any], **options: Any) -> list[tuple[str, str]]:
    """What the first events say; the watch is ended by the client after them."""
    watcher, events = watch.Watch(), list[tuple[str, str]]()
    for event in watcher.stream(call, timeout_seconds=30, **options):
        events.append((str(event["type"]), event["object"].metadata.name))
        if len(events) == count:
            watcher.stop()
    return events


def test_what_there_is_comes_first_when_no_version_is_given(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("a"))
    cluster.add(node("b"))
    assert first(2, core.list_node) == [("ADDED", "a"), ("ADDED", "b")]


def test_changes_since_a_list_come_in_their_order(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("a"))
    version = core.list_node().metadata.resource_version
    cluster.add(pod("not-a-node"))
    cluster.add(node("b"))
    core.patch_node("a", {"spec": {"unschedulable": True}})
    cluster.remove("Node", "b")
    assert first(3, core.list_node, resource_version=version) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


def test_a_change_reaches_an_open_watch_at_once(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    stream = watch.Watch()
    threading.Timer(0.1, lambda: cluster.add(node("late"))).start()
    for event in stream.stream(core.list_node, timeout_seconds=30):
        assert (event["type"], event["object"].metadata.name) == ("ADDED", "late")
        stream.stop()


def test_an_object_that_leaves_the_selection_is_deleted_for_its_watcher(
    open_cluster: Opened,
) -> None:
    cluster, core = open_cluster
    version = cluster.add(pod("p"))["metadata"]["resourceVersion"]
    target = client.V1ObjectReference(kind="Node", name="n")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="p"), target=target)
    core.create_namespaced_pod_binding("p", "default", binding, _preload_content=False)
    cluster.edit("Pod", "p", lambda body: body["metadata"].update(labels={"a": "b"}))
    options = {"field_selector": "spec.nodeName=", "resource_version": version}
    assert first(1, core.list_pod_for_all_namespaces, **options) == [("DELETED", "p")]


def test_it_ends_in_real_time_too_for_who_drives_no_clock(open_cluster: Opened) -> None:
    _, core = open_cluster
    assert list(watch.Watch().stream(core.list_node, timeout_seconds=1)) == []


def test_a_version_that_was_compacted_away_is_gone(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    version = cluster.add(node("a"))["metadata"]["resourceVersion"]
    cluster.add(node("b"))
    cluster.compact()
    with pytest.raises(ApiException) as error:
        list(watch.Watch().stream(core.list_node, resource_version=version, timeout_seconds=5))
    assert error.value.status == 410
    assert "too old resource version" in str(error.value.reason)
