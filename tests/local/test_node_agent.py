"""Nodes and pods live: join, start, end, stop, vanish; controllers put back what was lost."""

from typing import Any

import pytest

from spillway_local.clock import VirtualClock
from spillway_local.kube_api import DURATION, Cluster, FakeCluster, NodeAgent, Timing
from tests.local.kube_api_objects import Object, new_cluster, node, owner, pod, running


@pytest.fixture
def cluster() -> FakeCluster:
    return new_cluster(timing=Timing(start_s=3, stop_s=2))


def drive(cluster: Cluster, seconds: float) -> None:
    assert isinstance(cluster.clock, VirtualClock)
    cluster.clock.run(limit_s=seconds)


def ready(cluster: Cluster, name: str) -> str:
    conditions: list[Object] = (cluster.get("Node", name) or {})["status"]["conditions"]
    return str(next(one["status"] for one in conditions if one["type"] == "Ready"))


def taints(cluster: Cluster, name: str) -> list[str]:
    return [f"{one['key']}:{one['effect']}" for one in (cluster.get("Node", name) or {})["spec"].get("taints", ())]


def test_a_bound_pod_runs_after_a_while_and_is_ready(cluster: FakeCluster) -> None:
    cluster.join(node("n"))
    cluster.add(pod("p"))
    drive(cluster, 1)
    assert cluster.phases() == {"Pending": 1}
    drive(cluster, 3)
    assert cluster.phases() == {"Running": 1}
    status = (cluster.get("Pod", "p") or {})["status"]
    assert {one["type"] for one in status["conditions"] if one["status"] == "True"} >= {"PodScheduled", "Ready"}
    assert status["startTime"] == "2026-01-01T00:00:03Z"


def test_a_pod_with_a_duration_succeeds_when_it_is_over(cluster: FakeCluster) -> None:
    cluster.join(node("n"))
    cluster.add(pod("job", annotations={DURATION: "60"}))
    cluster.add(pod("service"))
    drive(cluster, 62)
    assert cluster.phases() == {"Running": 2}
    drive(cluster, 5)
    assert cluster.phases() == {"Running": 1, "Succeeded": 1}


def test_durations_can_come_from_a_function() -> None:
    cluster = new_cluster(timing=Timing(duration_s=lambda body: 10 if body["metadata"]["name"] == "short" else None))
    cluster.join(node("n"))
    cluster.add(running("short", on="n"))
    cluster.add(running("long", on="n"))
    drive(cluster, 100)
    assert cluster.phases() == {"Running": 1, "Succeeded": 1}


def test_a_deleted_pod_stops_within_its_grace(cluster: FakeCluster) -> None:
    cluster.join(node("n"))
    for name in ("slow", "hurried"):
        cluster.add(running(name, on="n"))
    cluster.remove("Pod", "slow", grace_s=30)
    cluster.remove("Pod", "hurried", grace_s=1)
    drive(cluster, 1)
    assert cluster.phases() == {"Terminating": 1}
    drive(cluster, 1)
    assert cluster.objects("Pod") == []


def test_a_machine_that_is_gone_is_missed_after_a_while(cluster: FakeCluster) -> None:
    cluster.join(node("n"))
    cluster.add(running("p", on="n"))
    cluster.leave("n")
    drive(cluster, 30)
    assert ready(cluster, "n") == "True"
    drive(cluster, 15)
    assert ready(cluster, "n") == "Unknown"
    assert taints(cluster, "n") == ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"]
    drive(cluster, 400)
    assert cluster.phases() == {"Terminating": 1}  # nobody is there to stop it
    cluster.remove("Node", "n")
    drive(cluster, 1)
    assert cluster.objects("Pod") == []


def test_pods_of_a_deleted_node_go_with_it(cluster: FakeCluster) -> None:
    cluster.join(node("n"))
    cluster.add(running("p", on="n"))
    cluster.leave("n", delete_node=True)
    drive(cluster, 1)
    assert (cluster.objects("Node"), cluster.objects("Pod")) == ([], [])


def daemon_set(name: str, **spec: Any) -> Object:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main"}], **spec}}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}, "spec": {"template": template}}


def test_daemon_sets_have_a_pod_on_every_node_that_takes_it(cluster: FakeCluster) -> None:
    cluster.add(daemon_set("everywhere", tolerations=[{"operator": "Exists"}]))
    cluster.add(daemon_set("gpu", nodeSelector={"gpu": "true"}))
    cluster.join(node("plain"))
    cluster.join(node("gpu", labels={"gpu": "true"}))
    cluster.join(node("tainted", taints=[{"key": "x", "effect": "NoSchedule"}]))
    drive(cluster, 10)
    where = sorted((one["metadata"]["labels"]["app"], one["spec"]["nodeName"]) for one in cluster.objects("Pod"))
    assert where == [("everywhere", "gpu"), ("everywhere", "plain"), ("everywhere", "tainted"), ("gpu", "gpu")]
    assert cluster.phases() == {"Running": 4}


def test_a_lost_pod_of_a_replica_set_comes_back_elsewhere(cluster: FakeCluster) -> None:
    cluster.join(node("a"))
    cluster.add(running("web-1", on="a", owner=owner("ReplicaSet", "web")))
    cluster.join(node("b"))
    cluster.edit("Node", "a", lambda body: body["spec"].update(unschedulable=True))
    cluster.remove("Pod", "web-1", grace_s=30)
    drive(cluster, 10)
    [back] = cluster.objects("Pod")
    assert (back["spec"]["nodeName"], back["status"]["phase"]) == ("b", "Running")
    assert back["metadata"]["name"].startswith("web-")
    assert back["metadata"]["ownerReferences"][0]["name"] == "web"


def test_a_replica_set_with_enough_pods_makes_no_more(cluster: FakeCluster) -> None:
    made = cluster.add({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": {"replicas": 1}})
    by = {**owner("ReplicaSet", "web"), "uid": made["metadata"]["uid"]}
    for number in range(2):
        cluster.add(running(f"web-{number}", on="n", owner=by))
    cluster.remove("Pod", "web-0")
    drive(cluster, 10)
    assert [one["metadata"]["name"] for one in cluster.objects("Pod")] == ["web-1"]


def test_a_job_that_is_done_is_not_run_again(cluster: FakeCluster) -> None:
    cluster.join(node("n"))
    cluster.add(running("job-1", on="n", owner=owner("Job", "job", "batch/v1"), annotations={DURATION: "5"}))
    drive(cluster, 10)
    cluster.remove("Pod", "job-1")
    drive(cluster, 10)
    assert cluster.objects("Pod") == []


def test_a_pod_of_a_stateful_set_comes_back_by_its_name(cluster: FakeCluster) -> None:
    cluster.join(node("n"))
    cluster.add(running("db-0", on="n", owner=owner("StatefulSet", "db")))
    cluster.remove("Pod", "db-0")
    drive(cluster, 10)
    assert [one["metadata"]["name"] for one in cluster.objects("Pod")] == ["db-0"]


def test_lost_pods_stay_lost_when_asked() -> None:
    cluster = new_cluster(replace_lost=False)
    cluster.add(running("web-1", on="n", owner=owner("ReplicaSet", "web")))
    cluster.remove("Pod", "web-1")
    drive(cluster, 10)
    assert cluster.objects("Pod") == []


class TestOnEitherApiServer:
    """Neither has an agent before it gets one, which first hears of what is there."""

    @staticmethod
    def play(cluster: Cluster, seconds: float = 5) -> None:
        with NodeAgent(cluster):
            drive(cluster, seconds)

    def test_a_node_joins_ready_or_tainted_until_it_is(self, api_server: Cluster) -> None:
        with NodeAgent(api_server) as agent:
            agent.join(node("now"))
            assert (ready(api_server, "now"), taints(api_server, "now")) == ("True", [])
            agent.join(node("n", labels={"zone": "a"}), ready_after_s=60)
            assert (ready(api_server, "n"), taints(api_server, "n")) == ("False", ["node.kubernetes.io/not-ready:NoSchedule"])
            drive(api_server, 61)
        found = api_server.get("Node", "n") or {}
        assert (ready(api_server, "n"), taints(api_server, "n")) == ("True", [])
        assert found["metadata"]["labels"] == {"zone": "a", "kubernetes.io/hostname": "n"}
        assert found["status"]["capacity"] == found["status"]["allocatable"] == {"cpu": "4", "memory": "16Gi", "pods": "110"}

    def test_without_machines_a_bound_pod_does_not_run(self, api_server: Cluster) -> None:
        api_server.add(node("n"))
        api_server.add(pod("p", nodeName="n"))
        drive(api_server, 60)
        assert api_server.phases() == {"Pending": 1}

    def test_a_bound_pod_runs_and_ends(self, api_server: Cluster) -> None:
        api_server.add(node("n"))
        api_server.add(pod("job", nodeName="n", annotations={DURATION: "60"}))
        self.play(api_server)
        assert api_server.phases() == {"Running": 1}
        self.play(api_server, 70)
        assert api_server.phases() == {"Succeeded": 1}

    def test_a_deleted_pod_stops_within_its_grace(self, api_server: Cluster) -> None:
        api_server.add(node("n"))
        api_server.add(running("p", on="n"))
        api_server.remove("Pod", "p", grace_s=30)
        assert api_server.phases() == {"Terminating": 1}
        self.play(api_server)
        assert api_server.objects("Pod") == []

    def test_a_cordoned_node_gets_its_taint_and_loses_it(self, api_server: Cluster) -> None:
        api_server.add(node("n", unschedulable=True))
        self.play(api_server)
        assert taints(api_server, "n") == ["node.kubernetes.io/unschedulable:NoSchedule"]
        api_server.edit("Node", "n", lambda body: body["spec"].pop("unschedulable"))
        self.play(api_server)
        assert taints(api_server, "n") == []

    def test_a_machine_that_is_gone_is_missed_or_its_node_is_deleted(self, api_server: Cluster) -> None:
        api_server.add(node("n"))
        with NodeAgent(api_server) as agent:
            agent.leave("n")
            drive(api_server, 41)
            assert ready(api_server, "n") == "Unknown"
            agent.leave("n", delete_node=True)
        assert api_server.objects("Node") == []
