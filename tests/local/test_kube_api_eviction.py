"""Evictions against PodDisruptionBudgets: pkg/registry/core/pod/storage/eviction.go, case by case."""

from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from spillway_local.kube_api import Cluster
from tests.local.kube_api_objects import Object, Opened, budget, client_of, owned_by, owner, pod, replica_set, running, until


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


def refusal(core: client.CoreV1Api, name: str) -> ApiException:
    with pytest.raises(ApiException) as error:
        evict(core, name)
    return error.value


def web(cluster: Cluster, count: int, **more: Any) -> None:
    for number in range(count):
        cluster.add(running(f"web-{number}", on="n", labels={"app": "web"}, **more))


def sick(name: str) -> Object:
    """A pod that runs and is not Ready."""
    return pod(name, labels={"app": "web"}, nodeName="n", status={"phase": "Running"})


def settled(cluster: Cluster, **figures: int) -> None:
    """Returns when the disruption controller has come to these figures of the budget `b`."""
    until(cluster, "PodDisruptionBudget", "b", lambda one: figures.items() <= one["status"].items())


def test_without_a_budget_the_pod_is_deleted_with_its_grace(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 1)
    assert evict(core, "web-0", grace_period_seconds=7) == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    }  # fmt: skip
    left = cluster.get("Pod", "web-0")
    assert left is not None
    assert left["metadata"]["deletionGracePeriodSeconds"] == 7
    told = {one["type"]: (one["status"], one["reason"]) for one in left["status"]["conditions"] if "reason" in one}
    assert told == {"DisruptionTarget": ("True", "EvictionByEvictionAPI")}


def test_a_budget_allows_as_many_as_it_says_and_then_answers_429(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 3)
    cluster.add(budget("b", "web", minAvailable=2))
    settled(cluster, expectedPods=3, currentHealthy=3, disruptionsAllowed=1)
    evict(core, "web-0")
    settled(cluster, expectedPods=3, currentHealthy=2, disruptionsAllowed=0)
    error = refusal(core, "web-1")
    assert error.status == 429
    assert error.headers is not None
    assert "Retry-After" not in error.headers  # the server has no advice here
    assert "Cannot evict pod as it would violate the pod's disruption budget." in error.body
    assert '"reason":"DisruptionBudget"' in error.body
    assert "The disruption budget b needs 2 healthy pods and has 2 currently" in error.body


def test_two_budgets_over_one_pod_are_an_internal_error_without_a_reason(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 3)
    cluster.add(budget("b", "web", minAvailable=1))
    cluster.add(budget("c", "web", minAvailable=1))
    error = refusal(core, "web-0")
    assert error.status == 500
    assert '"message":"This pod has more than one PodDisruptionBudget, which the eviction subresource' in error.body
    assert '"reason"' not in error.body
    assert "deletionTimestamp" not in cluster.get("Pod", "web-0")["metadata"]  # type: ignore[index]


def test_a_pod_that_does_not_run_needs_no_budget(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(pod("web-0", labels={"app": "web"}))
    cluster.add(budget("b", "web", minAvailable=1))
    evict(core, "web-0")
    assert cluster.get("Pod", "web-0") is None


@pytest.mark.parametrize("policy", ["IfHealthyBudget", "AlwaysAllow"])
def test_an_unready_pod_goes_past_a_short_budget_only_when_the_budget_says_so(open_cluster: Opened, policy: str) -> None:
    cluster, core = open_cluster
    cluster.add(sick("web-0"))
    cluster.add(budget("b", "web", minAvailable=1, unhealthyPodEvictionPolicy=policy))
    settled(cluster, expectedPods=1, currentHealthy=0, disruptionsAllowed=0)
    if policy == "AlwaysAllow":
        assert evict(core, "web-0")["status"] == "Success"
    else:
        assert "The disruption budget b needs 1 healthy pods and has 0 currently" in refusal(core, "web-0").body


def test_an_unready_pod_goes_while_the_budget_is_met_by_others(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 2)
    cluster.add(sick("sick"))
    cluster.add(budget("b", "web", minAvailable=2))
    settled(cluster, expectedPods=3, currentHealthy=2, disruptionsAllowed=0)
    evict(core, "sick")
    assert "deletionTimestamp" in cluster.get("Pod", "sick")["metadata"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (owner("ReplicaSet", "gone"), 'found no controllers for pod "web-0"'),
        (owner("DaemonSet", "agent"), "daemonsets.apps does not implement the scale subresource"),
    ],
)
def test_a_budget_whose_pods_cannot_be_counted_stays_unprocessed_and_asks_to_come_back(
    open_cluster: Opened, of: Object, why: str
) -> None:
    cluster, core = open_cluster
    web(cluster, 1, owner=of)
    cluster.add(budget("b", "web", maxUnavailable=1))
    known = until(cluster, "PodDisruptionBudget", "b", lambda one: bool(one["status"].get("conditions")))["status"]
    assert (known["disruptionsAllowed"], known.get("observedGeneration", 0)) == (0, 0)
    assert [(one["reason"], one["message"]) for one in known["conditions"]] == [("SyncFailed", why)]
    error = refusal(core, "web-0")
    assert error.status == 429
    assert error.headers is not None
    assert error.headers["Retry-After"] == "10"
    assert "The disruption budget b is still being processed by the server." in error.body


def test_a_budget_that_can_no_longer_be_counted_says_so(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 1, owner=owned_by(cluster.add(replica_set("web", 1, app="web"))))
    cluster.add(budget("b", "web", maxUnavailable=1))
    settled(cluster, expectedPods=1, disruptionsAllowed=1)
    cluster.add(running("web-9", on="n", labels={"app": "web"}, owner=owner("ReplicaSet", "gone")))
    settled(cluster, disruptionsAllowed=0)
    assert 'because it failed sync: found no controllers for pod \\"web-9\\"' in refusal(core, "web-0").body


@pytest.mark.parametrize(
    ("spec", "expected", "desired", "allowed"),
    [
        ({"minAvailable": 1}, 4, 1, 3),  # a number is held against the pods that there are
        ({"minAvailable": "50%"}, 5, 3, 1),  # a share against the replicas
        ({"maxUnavailable": 2}, 5, 3, 1),
        ({"maxUnavailable": "30%"}, 5, 3, 1),  # rounds up to 2
        ({"maxUnavailable": 0}, 5, 5, 0),
        ({}, 0, 0, 0),  # it says nothing, so nothing is allowed
    ],
)
def test_disruptions_allowed_follow_from_the_scale_and_the_ready_pods(
    open_cluster: Opened, spec: Object, expected: int, desired: int, allowed: int
) -> None:
    cluster, _ = open_cluster
    web(cluster, 4, owner=owned_by(cluster.add(replica_set("web", 5, app="web"))))
    cluster.add(budget("b", "web", **spec))
    settled(cluster, currentHealthy=4, expectedPods=expected, desiredHealthy=desired, disruptionsAllowed=allowed)


def test_pods_without_a_controller_count_for_a_number_only(open_cluster: Opened) -> None:
    cluster, _ = open_cluster
    web(cluster, 3)
    cluster.add(budget("b", "web", maxUnavailable=1))
    settled(cluster, currentHealthy=3, expectedPods=0, disruptionsAllowed=0, observedGeneration=1)
    cluster.edit("PodDisruptionBudget", "b", lambda one: one["spec"].update(minAvailable=1, maxUnavailable=None))
    settled(cluster, currentHealthy=3, expectedPods=3, disruptionsAllowed=2, observedGeneration=2)


def test_finished_pods_are_expected_still(open_cluster: Opened) -> None:
    cluster, _ = open_cluster
    web(cluster, 2)
    cluster.add(pod("done", labels={"app": "web"}, nodeName="n", status={"phase": "Succeeded"}))
    cluster.add(budget("b", "web", minAvailable=1))
    settled(cluster, currentHealthy=2, expectedPods=3, disruptionsAllowed=1)


def test_an_empty_selector_takes_in_the_whole_namespace_and_none_takes_in_nothing(open_cluster: Opened) -> None:
    cluster, _ = open_cluster
    web(cluster, 2)
    every = budget("b", "web", minAvailable=1)
    every["spec"]["selector"] = {}
    cluster.add(every)
    settled(cluster, currentHealthy=2, expectedPods=2)
    nothing = budget("c", "web", minAvailable=1)
    del nothing["spec"]["selector"]
    cluster.add(nothing)
    until(cluster, "PodDisruptionBudget", "c", lambda one: one["status"].get("observedGeneration") == 1)
    assert cluster.get("PodDisruptionBudget", "c")["status"]["expectedPods"] == 0  # type: ignore[index]


def test_a_pod_that_stops_is_no_longer_healthy(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 3)
    cluster.add(budget("b", "web", minAvailable=1))
    settled(cluster, currentHealthy=3, disruptionsAllowed=2)
    core.delete_namespaced_pod("web-0", "default")
    settled(cluster, currentHealthy=2, disruptionsAllowed=1)


def test_a_dry_run_spends_nothing(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    web(cluster, 2)
    cluster.add(budget("b", "web", minAvailable=1))
    settled(cluster, expectedPods=2, disruptionsAllowed=1)
    for _ in range(3):
        evict(core, "web-0", dry_run=["All"])
    left = cluster.get("Pod", "web-0")
    assert left is not None
    assert [one["type"] for one in left["status"]["conditions"]] == ["Ready"]
    settled(cluster, expectedPods=2, disruptionsAllowed=1)
