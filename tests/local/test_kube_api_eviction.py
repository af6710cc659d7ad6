"""Evictions against PodDisruptionBudgets: pkg/registry/core/pod/storage/eviction.go, case by case."""

from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from spillway_local.kube_api import Cluster
from tests.local.kube_api_objects import Object, Opened, budget, client_of, owner, pod, running


@pytest.fixture
def open_cluster(api_server: Cluster) -> Iterator[Opened]:
    with client_of(api_server) as api:
        yield api_server, client.CoreV1Api(api)


def evict(core: client.CoreV1Api, name: str, **options: Any) -> Object:
    body = client.V1Eviction(metadata=client.V1ObjectMeta(name=name), delete_options=client.V1DeleteOptions(**options))
    answer = core.create_namespaced_pod_eviction(name, "default", body, _preload_content=False)
    status: Object = answer.json()
    assert answer.status == 201
    return status


def web(cluster: Cluster, count: int, **more: Any) -> None:
    for number in range(count):
        cluster.add(running(f"web-{number}", on="n", labels={"app": "web"}, **more))


def allowed(cluster: Cluster) -> int:
    found = cluster.get("PodDisruptionBudget", "b") or {}
    cluster.records("PodDisruptionBudget")
    found = cluster.get("PodDisruptionBudget", "b") or {}
    return int(found["status"]["disruptionsAllowed"])


def test_without_a_budget_the_pod_is_deleted_with_its_grace(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 1)
    assert evict(core, "web-0", grace_period_seconds=7)["status"] == "Success"
    assert cluster.get("Pod", "web-0")["metadata"]["deletionGracePeriodSeconds"] == 7  # type: ignore[index]


def test_a_budget_allows_as_many_as_it_says_and_then_answers_429(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 3)
    cluster.add(budget("b", "web", minAvailable=2))
    evict(core, "web-0")
    with pytest.raises(ApiException) as error:
        evict(core, "web-1")
    assert error.value.status == 429
    assert error.value.headers is not None
    assert "Retry-After" not in error.value.headers  # the real server has no advice here
    assert "Cannot evict pod as it would violate the pod's disruption budget." in error.value.body
    assert '"reason":"DisruptionBudget"' in error.value.body
    assert "The disruption budget b needs 2 healthy pods and has 2 currently" in error.value.body


def test_two_budgets_are_a_failure_of_code_500_inside_an_answer_of_201(
    open_cluster: Opened,
) -> None:
    cluster, core = open_cluster
    web(cluster, 3)
    cluster.add(budget("b", "web", minAvailable=1))
    cluster.add(budget("c", "web", minAvailable=1))
    status = evict(core, "web-0")
    assert (status["status"], status["code"]) == ("Failure", 500)
    assert "more than one PodDisruptionBudget" in status["message"]
    assert "deletionTimestamp" not in cluster.get("Pod", "web-0")["metadata"]  # type: ignore[index]


def test_a_pod_that_does_not_run_needs_no_budget(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(pod("web-0", labels={"app": "web"}))
    cluster.add(budget("b", "web", minAvailable=1))
    evict(core, "web-0")
    assert cluster.get("Pod", "web-0") is None


@pytest.mark.parametrize(("policy", "goes"), [("IfHealthyBudget", False), ("AlwaysAllow", True)])
def test_an_unready_pod_goes_past_a_short_budget_only_when_the_budget_says_so(
    open_cluster: Opened, policy: str, goes: bool
) -> None:
    cluster, core = open_cluster
    cluster.add(pod("web-0", labels={"app": "web"}, nodeName="n", status={"phase": "Running"}))
    cluster.add(budget("b", "web", minAvailable=1, unhealthyPodEvictionPolicy=policy))
    if goes:
        evict(core, "web-0")
        return
    with pytest.raises(ApiException) as error:
        evict(core, "web-0")
    assert error.value.status == 429


def test_an_unready_pod_goes_while_the_budget_is_met_by_others(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 2)
    cluster.add(pod("sick", labels={"app": "web"}, nodeName="n", status={"phase": "Running"}))
    cluster.add(budget("b", "web", minAvailable=2))
    evict(core, "sick")
    assert "deletionTimestamp" in cluster.get("Pod", "sick")["metadata"]  # type: ignore[index]


def test_a_budget_that_nobody_has_looked_at_yet_asks_to_come_back(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 2)
    cluster.add(budget("b", "web"))  # no figures: it keeps the status it was given, here none
    with pytest.raises(ApiException) as error:
        evict(core, "web-0")
    assert error.value.status == 429
    assert error.value.headers is not None
    assert error.value.headers["Retry-After"] == "10"
    assert "still being processed" in error.value.body


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 1}, 3),
        ({"minAvailable": "50%"}, 1),  # of 5 replicas: 3 must stay
        ({"maxUnavailable": 2}, 1),  # of 5 replicas, of which 4 run
        ({"maxUnavailable": "30%"}, 1),  # rounds up to 2
        ({"maxUnavailable": 0}, 0),
    ],
)
def test_disruptions_allowed_follow_from_the_scale_and_the_ready_pods(
    open_cluster: Opened, spec: Object, expected: int
) -> None:
    cluster, _ = open_cluster
    replica_set = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": {"replicas": 5}}
    cluster.add(replica_set)
    web(cluster, 4, owner=owner("ReplicaSet", "web"))
    cluster.add(budget("b", "web", **spec))
    assert allowed(cluster) == expected


def test_a_pod_that_stops_is_no_longer_healthy(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 3)
    cluster.add(budget("b", "web", minAvailable=1))
    assert allowed(cluster) == 2
    core.delete_namespaced_pod("web-0", "default")
    assert allowed(cluster) == 1


def test_a_dry_run_spends_nothing(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 2)
    cluster.add(budget("b", "web", minAvailable=1))
    for _ in range(3):
        evict(core, "web-0", dry_run=["All"])
    assert allowed(cluster) == 1
