"""What only the fake cluster has: its own time, resources on demand, an end that leaves nothing behind."""

import threading
from collections.abc import Iterator

import pytest
from kubernetes import client, watch

from spillway_local.clock import VirtualClock
from spillway_local.kube_api import FakeCluster
from tests.local.kube_api_objects import client_of, new_cluster


@pytest.fixture
def open_fake() -> Iterator[tuple[FakeCluster, client.CoreV1Api]]:
    with new_cluster() as cluster, client_of(cluster) as api:
        yield cluster, client.CoreV1Api(api)


def test_the_date_header_tells_the_clusters_time(open_fake: tuple[FakeCluster, client.CoreV1Api]) -> None:
    _, core = open_fake
    answer = core.list_node(_preload_content=False)
    assert answer.headers["Date"] == "Thu, 01 Jan 2026 00:00:00 GMT"


def test_a_resource_can_be_added(open_fake: tuple[FakeCluster, client.CoreV1Api]) -> None:
    cluster, core = open_fake
    cluster.define("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups")
    custom = client.CustomObjectsApi(core.api_client)
    assert custom.list_cluster_custom_object("scheduling.x-k8s.io", "v1alpha1", "podgroups")["items"] == []


def test_what_is_added_keeps_its_uid_and_its_times(open_fake: tuple[FakeCluster, client.CoreV1Api]) -> None:
    cluster, _ = open_fake
    meta = {"name": "n", "uid": "u", "creationTimestamp": "2020-01-01T00:00:00Z"}
    made = cluster.add({"apiVersion": "v1", "kind": "Node", "metadata": meta})
    assert meta.items() <= made["metadata"].items()


def test_it_ends_in_virtual_time_when_that_is_driven(open_fake: tuple[FakeCluster, client.CoreV1Api]) -> None:
    cluster, core = open_fake
    clock = cluster.clock
    assert isinstance(clock, VirtualClock)
    ended = threading.Event()

    def follow() -> None:
        assert list(watch.Watch().stream(core.list_node, timeout_seconds=50)) == []
        ended.set()

    thread = threading.Thread(target=follow)
    thread.start()
    while not cluster.requests["watch", "nodes"]:
        threading.Event().wait(0.001)
    clock.run(limit_s=60)
    thread.join(5)
    assert ended.is_set()


def test_stopping_leaves_no_thread_behind_even_with_an_open_watch() -> None:
    before = threading.active_count()
    cluster = new_cluster().start()
    with client_of(cluster) as api:
        answer = client.CoreV1Api(api).list_node(watch=True, _preload_content=False)
        cluster.stop()
        answer.close()
    cluster.stop()
    assert threading.active_count() == before
