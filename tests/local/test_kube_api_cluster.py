"""What tests and the local world do to a cluster from behind its door, the same on the fake and on a real one."""

import threading
from functools import partial
from pathlib import Path
from typing import Any

import certifi
import pytest

from spillway_local.control_plane.client import Client
from spillway_local.control_plane.watching import Watching
from spillway_local.kube_api import Cluster, Refusal
from spillway_local.kube_api.kinds import NODE
from tests.local.kube_api_objects import Object, budget, node, pod, running, until


def test_what_is_added_is_there_with_its_status(api_server: Cluster) -> None:
    api_server.add(node("n", cpu="8", labels={"team": "a"}, taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    api_server.add(running("p", on="n"))

    n, p = api_server.get("Node", "n"), api_server.get("pods", "p")

    assert n is not None
    assert p is not None
    assert (n["kind"], n["apiVersion"], n["metadata"]["labels"]) == ("Node", "v1", {"team": "a"})
    assert (n["status"]["allocatable"]["cpu"], n["spec"]["taints"]) == ("8", [{"key": "gpu", "effect": "NoSchedule"}])
    assert (p["spec"]["nodeName"], p["status"]["phase"], p["metadata"]["namespace"]) == ("n", "Running", "default")
    assert p["metadata"]["uid"]


def test_a_list_is_added_item_by_item_and_listed_by_namespace_and_name(api_server: Cluster) -> None:
    api_server.add({"kind": "PodList", "items": [pod("b"), pod("a"), pod("z", namespace="apart")]})
    found = [(one["kind"], one["metadata"]["namespace"], one["metadata"]["name"]) for one in api_server.objects("Pod")]
    assert found == [("Pod", "apart", "z"), ("Pod", "default", "a"), ("Pod", "default", "b")]


def test_the_items_of_a_list_may_share_namespaces_that_are_not_there_yet(api_server: Cluster) -> None:
    spaces = [f"shared-{number}" for number in range(8)]
    api_server.add({"kind": "PodList", "items": [pod(name, namespace=space) for space in spaces for name in "abcd"]})
    assert len(api_server.objects("Pod")) == 32
    assert {one["metadata"]["name"] for one in api_server.objects("Namespace")} > set(spaces)


def test_one_of_that_name_is_added_once_but_for_a_namespace(api_server: Cluster) -> None:
    api_server.add(node("n"))
    with pytest.raises(Refusal) as refusal:
        api_server.add(node("n"))
    assert refusal.value.code == 409
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    assert api_server.add(space)["metadata"]["uid"] == api_server.add(space)["metadata"]["uid"]


def test_what_is_not_there_is_none_and_cannot_be_changed_or_removed(api_server: Cluster) -> None:
    assert api_server.get("Node", "n") is None
    with pytest.raises(Refusal) as refusal:
        api_server.edit("Node", "n", lambda one: None)
    assert refusal.value.code == 404
    with pytest.raises(Refusal) as refusal:
        api_server.remove("Node", "n")
    assert refusal.value.code == 404


def test_an_edit_writes_the_object_and_its_status(api_server: Cluster) -> None:
    api_server.add(node("n"))

    def change(one: Object) -> None:
        one["metadata"]["labels"] = {"a": "b"}
        one["spec"]["unschedulable"] = True
        one["status"]["conditions"] = [{"type": "Ready", "status": "True"}]

    api_server.edit("Node", "n", change)
    now = api_server.get("Node", "n")

    assert now is not None
    assert (now["metadata"]["labels"], now["spec"]["unschedulable"]) == ({"a": "b"}, True)
    assert [(one["type"], one["status"]) for one in now["status"]["conditions"]] == [("Ready", "True")]


def test_a_bound_pod_is_removed_at_once_or_with_grace(api_server: Cluster) -> None:
    for name in ("now", "later"):
        api_server.add(running(name, on="n"))
    api_server.remove("Pod", "now")
    api_server.remove("Pod", "later", grace_s=60)
    assert api_server.get("Pod", "now") is None
    assert api_server.phases() == {"Terminating": 1}


class Heard:
    """What a watch tells, and a way to wait for it."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, Any]] = []
        self._more = threading.Condition()

    def __call__(self, what: str, obj: Object) -> None:
        with self._more:
            self.told.append((what, obj["metadata"]["name"], obj["spec"].get("unschedulable")))
            self._more.notify_all()

    def until(self, count: int) -> list[tuple[str, str, Any]]:
        with self._more:
            assert self._more.wait_for(lambda: len(self.told) >= count, timeout=10), self.told
            return self.told


def test_a_watch_tells_what_there_is_and_then_each_change_in_order(api_server: Cluster) -> None:
    api_server.add(node("a"))
    heard = Heard()

    api_server.watch("Node", heard)
    assert heard.told == [("ADDED", "a", None)]
    api_server.add(pod("no-node"))
    api_server.add(node("b"))
    api_server.edit("Node", "a", lambda one: one["spec"].update(unschedulable=True))
    api_server.remove("Node", "b")

    assert heard.until(4)[1:] == [("ADDED", "b", None), ("MODIFIED", "a", True), ("DELETED", "b", None)]


def test_a_watch_that_has_ended_hears_nothing_more(api_server: Cluster) -> None:
    heard, still = Heard(), Heard()
    end = api_server.watch("Node", heard)
    api_server.watch("Node", still)
    end()
    api_server.add(node("a"))
    still.until(1)
    assert heard.told == []


@pytest.mark.parametrize("status", [403, 429, 503])
def test_a_watch_from_outside_survives_that_it_is_refused(api_server: Cluster, status: int) -> None:
    """As the real cluster and the stage watch."""
    client = Client(api_server.url, Path(certifi.where()), api_server.token)
    api_server.fail("watch", "nodes", status)
    heard = Heard()
    watching = Watching(client, NODE, heard)
    api_server.add(node("a"))
    assert heard.until(1) == [("ADDED", "a", None)]
    watching.end()
    client.close()


def test_a_watch_survives_that_the_past_is_forgotten(api_server: Cluster) -> None:
    api_server.add(node("a"))
    api_server.add(node("b"))
    heard = Heard()
    api_server.watch("Node", heard)
    api_server.compact()
    api_server.remove("Node", "b")
    api_server.add(node("c"))
    assert sorted(heard.until(4)[2:]) == [("ADDED", "c", None), ("DELETED", "b", None)]


def test_budgets_are_kept_as_before_when_the_past_is_forgotten(api_server: Cluster) -> None:
    """A real server is started anew for that, and its controllers with it: test_control_plane_cluster.py counts them."""
    api_server.add(budget("web", "web", minAvailable=1))
    for number in (1, 2):
        api_server.compact()
        api_server.add(pod(f"p{number}", labels={"app": "web"}, nodeName="n"))
        until(api_server, "PodDisruptionBudget", "web", partial(_expects, number))


def _expects(pods: int, budget: Object) -> bool:
    return bool(budget["status"].get("expectedPods") == pods)
