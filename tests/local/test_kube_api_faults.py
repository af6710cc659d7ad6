"""Who is let in, what goes wrong on demand, and what goes over the wire."""

import threading
from collections.abc import Iterator

import pytest
import urllib3
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from spillway_local.kube_api import Cluster
from tests.local.kube_api_objects import Opened, client_of, node, pod


@pytest.fixture
def open_cluster(api_server: Cluster) -> Iterator[Opened]:
    with client_of(api_server) as api:
        yield api_server, client.CoreV1Api(api)


def test_a_wrong_token_is_401(open_cluster: Opened) -> None:
    _, core = open_cluster
    core.api_client.set_default_header("Authorization", "Bearer another")
    with pytest.raises(ApiException) as error:
        core.list_node()
    assert error.value.status == 401
    assert '"reason":"Unauthorized"' in error.value.body


def test_a_rule_that_lacks_is_named_as_the_authorizer_names_it(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.allow({("list", "nodes"), ("create", "pods/eviction")})
    core.list_node()
    with pytest.raises(ApiException) as error:
        core.list_pod_for_all_namespaces()
    assert error.value.status == 403
    assert r"pods is forbidden: User \"tester\" cannot list resource \"pods\" in API group \"\" at the cluster scope" in (
        error.value.body
    )
    with pytest.raises(ApiException) as error:
        core.delete_namespaced_pod("p", "team")
    assert r"pods \"p\" is forbidden" in error.value.body
    assert r"in the namespace \"team\"" in error.value.body
    cluster.allow(None)
    core.list_pod_for_all_namespaces()


def test_an_injected_failure_comes_as_often_as_asked_and_with_its_advice(
    open_cluster: Opened,
) -> None:
    cluster, core = open_cluster
    cluster.fail("list", "nodes", 429, times=2, retry_after=3)
    for _ in range(2):
        with pytest.raises(ApiException) as error:
            core.list_node()
        assert error.value.status == 429
        assert error.value.headers is not None
        assert error.value.headers["Retry-After"] == "3"
    core.list_node()


def test_a_failure_can_wait_for_the_second_page_and_for_one_name(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    for name in ("a", "b"):
        cluster.add(node(name))
    cluster.fail("list", "nodes", 410, after=1)
    first = core.list_node(limit=1)
    with pytest.raises(ApiException) as error:
        core.list_node(limit=1, _continue=first.metadata._continue)
    assert error.value.status == 410
    cluster.fail("patch", "*", 500, name="b")
    core.patch_node("a", {"spec": {"unschedulable": True}})
    with pytest.raises(ApiException) as error:
        core.patch_node("b", {"spec": {"unschedulable": True}})
    assert error.value.status == 500


def test_a_dropped_connection_is_no_answer(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.drop("list", "nodes")
    with pytest.raises(urllib3.exceptions.ProtocolError):
        core.list_node()
    core.list_node()


def test_a_server_that_hangs_runs_into_the_clients_timeout(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.hang("get", "nodes")
    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        core.read_node("n", _request_timeout=0.1)


def test_large_answers_are_compressed_for_who_asks(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    for number in range(100):
        cluster.add(pod(f"p{number}", annotations={"a": "word " * 500}))
    plain = core.list_pod_for_all_namespaces(_preload_content=False)
    core.api_client.set_default_header("Accept-Encoding", "gzip")
    squeezed = core.list_pod_for_all_namespaces(_preload_content=False)
    assert "Content-Encoding" not in plain.headers
    assert squeezed.headers["Content-Encoding"] == "gzip"
    assert squeezed.data == plain.data
    assert int(squeezed.headers["Content-Length"]) < len(plain.data) / 5
    assert "Content-Encoding" not in core.list_node(_preload_content=False).headers  # small ones never are


def test_requests_and_bytes_are_counted(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("n"))
    core.list_node()
    core.read_node("n")
    core.read_node("n")
    assert cluster.requests == {("list", "nodes"): 1, ("get", "nodes"): 2}
    assert cluster.bytes_sent > 0


def test_many_clients_at_once_lose_no_write(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("n"))

    def label(number: int) -> None:
        with client_of(cluster) as api:
            client.CoreV1Api(api).patch_node("n", {"metadata": {"labels": {f"l{number}": "x"}}})

    threads = [threading.Thread(target=label, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(core.read_node("n").metadata.labels) == 12
