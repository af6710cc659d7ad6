"""One plane serves one cluster after the other: none of them finds what was there before."""

import pytest

from spillway.clock import utcnow
from spillway_local.clock import VirtualClock
from spillway_local.control_plane import ControlPlane
from spillway_local.control_plane.client import Client
from spillway_local.control_plane.cluster import RealCluster
from spillway_local.kube_api import Cluster
from tests.local.kube_api_objects import node

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("role_too", [True, False])
def test_what_a_test_took_away_itself_is_no_obstacle(plane: ControlPlane, role_too: bool) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "short"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
    }  # fmt: skip
    binding = {
        **role, "kind": "ClusterRoleBinding", "subjects": [{"kind": "User", "name": "somebody"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "short"},
    }  # fmt: skip
    del binding["rules"]
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 5}

    with RealCluster(plane, VirtualClock(utcnow())) as cluster:
        for one in (role, binding, urgent):
            cluster.add(one)
        cluster.remove("ClusterRoleBinding", "short")
        cluster.remove("PriorityClass", "urgent")
        if role_too:
            cluster.remove("ClusterRole", "short")

    with RealCluster(plane, VirtualClock(utcnow())) as cluster:
        assert cluster.get("ClusterRole", "short") is None


def test_events_of_controllers_go_as_well(plane: ControlPlane) -> None:
    with RealCluster(plane, VirtualClock(utcnow())) as cluster:
        about = {"kind": "Pod", "namespace": "default", "name": "p"}
        event = {"metadata": {"name": "p.1"}, "involvedObject": about, "reason": "NoPods", "message": "none", "type": "Normal"}
        controllers = Client(plane.url, plane.ca_file, plane.token)
        controllers.ask("POST", "/api/v1/namespaces/default/events", event)
        controllers.close()
        assert _events(cluster) == {"p.1"}

    with RealCluster(plane, VirtualClock(utcnow())) as cluster:
        assert _events(cluster) == set()


def test_what_would_not_go_is_named_and_no_connection_stays(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = RealCluster(plane, VirtualClock(utcnow())).start()
    cluster.add(node("n"))
    monkeypatch.setattr("spillway_local.control_plane.cluster._TRIES", 1)  # nobody looks again whether it went

    with pytest.raises(RuntimeError, match=r"nodes of a test would not go: \['n'\]"):
        cluster.stop()
    assert len(cluster._client._pool.pools) == 0


def test_the_controllers_begin_anew_with_their_server(plane: ControlPlane) -> None:
    """One that stayed would wait twice as long each time before it watches again, and longer than anybody here the sixth."""
    with RealCluster(plane, VirtualClock(utcnow())) as cluster:
        before = _starts(plane, "kube-controller-manager")
        cluster.compact()
        assert _starts(plane, "kube-controller-manager") == before + 1


def _starts(plane: ControlPlane, name: str) -> int:
    """Each process says so once in the log that it shares with those before."""
    return (plane.folder / f"{name}.log").read_text().count('"Starting" version=')


def _events(cluster: Cluster) -> set[str]:
    return {one["metadata"]["name"] for one in cluster.objects("Event")}
