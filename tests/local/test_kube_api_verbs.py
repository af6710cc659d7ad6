"""The fake API server through the official client: objects come, change and go as on a real one."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from spillway_local.kube_api import Cluster
from tests.local.kube_api_objects import Opened, budget, client_of, daemon_set, node, pod, running

MERGE = {"_content_type": "application/merge-patch+json"}


@pytest.fixture
def open_cluster(api_server: Cluster) -> Iterator[Opened]:
    with client_of(api_server) as api:
        yield api_server, client.CoreV1Api(api)


def refused(error: pytest.ExceptionInfo[ApiException]) -> tuple[int, str]:
    assert error.value.status is not None
    return error.value.status, error.value.body


def told_at(headers: Mapping[str, str]) -> datetime:
    """The server's own time."""
    return parsedate_to_datetime(headers["Date"])


def test_a_created_object_gets_uid_time_and_version(open_cluster: Opened) -> None:
    _, core = open_cluster
    made, _, headers = core.create_namespaced_pod_with_http_info("default", pod("a"))
    assert made.metadata.uid
    assert timedelta(0) <= told_at(headers) - made.metadata.creation_timestamp < timedelta(seconds=5)
    assert int(made.metadata.resource_version) > 1
    assert (made.status.phase, made.spec.scheduler_name, made.metadata.namespace) == ("Pending", "default-scheduler", "default")
    assert (made.spec.priority, made.spec.restart_policy, made.spec.termination_grace_period_seconds) == (0, "Always", 30)


def test_a_namespace_must_be_there_before_something_is_made_in_it(open_cluster: Opened) -> None:
    _, core = open_cluster
    with pytest.raises(ApiException) as error:
        core.create_namespaced_pod("nowhere", pod("a", namespace="nowhere"))
    status, body = refused(error)
    assert status == 404
    assert r"namespaces \"nowhere\" not found" in body


def test_a_name_is_taken_once(open_cluster: Opened) -> None:
    _, core = open_cluster
    core.create_node(node("n"))
    with pytest.raises(ApiException) as error:
        core.create_node(node("n"))
    status, body = refused(error)
    assert status == 409
    assert '"reason":"AlreadyExists"' in body
    assert r"nodes \"n\" already exists" in body


def test_a_quantity_that_is_none_is_a_bad_request(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    with pytest.raises(ApiException) as error:
        core.create_namespaced_pod("default", pod("p", cpu="lots"))
    status, body = refused(error)
    assert status == 400
    assert r"Pod in version \"v1\" cannot be handled as a Pod: quantities must match the regular expression" in body
    assert cluster.objects("Pod") == []


def test_a_missing_object_is_named_in_the_answer(open_cluster: Opened) -> None:
    _, core = open_cluster
    with pytest.raises(ApiException) as error:
        core.read_namespaced_pod("gone", "default")
    status, body = refused(error)
    assert status == 404
    assert r"pods \"gone\" not found" in body


def test_a_resource_that_the_server_does_not_have_is_404(open_cluster: Opened) -> None:
    _, core = open_cluster
    custom = client.CustomObjectsApi(core.api_client)
    with pytest.raises(ApiException) as error:
        custom.list_cluster_custom_object("scheduling.x-k8s.io", "v1alpha1", "podgroups")
    assert error.value.status == 404


def test_a_stale_replace_is_a_conflict(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("n"))
    old = core.read_node("n")
    core.patch_node("n", {"metadata": {"labels": {"a": "b"}}})
    old.spec.unschedulable = True
    with pytest.raises(ApiException) as error:
        core.replace_node("n", old)
    status, body = refused(error)
    assert status == 409
    assert "the object has been modified; please apply your changes to the latest version and try again" in body


def test_a_patch_with_a_stale_version_is_a_conflict_too(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    version = cluster.add(node("n"))["metadata"]["resourceVersion"]
    core.patch_node("n", {"metadata": {"resourceVersion": version}, "spec": {"unschedulable": True}})
    with pytest.raises(ApiException) as error:
        core.patch_node("n", {"metadata": {"resourceVersion": version}, "spec": {"unschedulable": False}})
    assert error.value.status == 409


def test_a_write_that_changes_nothing_makes_no_new_version(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("n", labels={"a": "b"}))
    before = core.read_node("n").metadata.resource_version
    assert core.patch_node("n", {"metadata": {"labels": {"a": "b"}}}).metadata.resource_version == before


def test_taints_are_one_value_so_a_patch_replaces_all_of_them(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("n", taints=[{"key": "old", "effect": "NoSchedule"}]))
    core.patch_node("n", {"spec": {"taints": [{"key": "new", "effect": "NoSchedule"}]}})
    assert [taint.key for taint in core.read_node("n").spec.taints] == ["new"]


def test_conditions_are_merged_by_type(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(running("p", on="n"))
    core.patch_namespaced_pod_status("p", "default", {"status": {"conditions": [{"type": "Mine", "status": "True"}]}})
    assert {one.type for one in core.read_namespaced_pod("p", "default").status.conditions} == {"Ready", "Mine"}


def test_a_write_to_the_object_leaves_its_status_alone_and_the_other_way_round(
    open_cluster: Opened,
) -> None:
    cluster, core = open_cluster
    cluster.add(pod("p"))
    core.patch_namespaced_pod("p", "default", {"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Failed"}})
    core.patch_namespaced_pod_status("p", "default", {"status": {"nominatedNodeName": "n"}, "spec": {"nodeName": "n"}})
    read = core.read_namespaced_pod("p", "default")
    assert (read.metadata.labels, read.status.phase, read.status.nominated_node_name, read.spec.node_name) == (
        {"a": "b"}, "Pending", "n", None,
    )  # fmt: skip


def test_json_patch_tests_before_it_writes(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("n", labels={"a": "b"}))
    core.patch_node(
        "n", [{"op": "test", "path": "/metadata/labels/a", "value": "b"}, {"op": "remove", "path": "/metadata/labels/a"}]
    )
    assert "labels" not in cluster.get("Node", "n")["metadata"]  # type: ignore[index]  an empty map is none
    with pytest.raises(ApiException) as error:
        core.patch_node("n", [{"op": "test", "path": "/metadata/labels/a", "value": "b"}])
    assert error.value.status == 422


def test_a_merge_patch_removes_with_null(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("n", labels={"a": "b", "c": "d"}))
    core.patch_node("n", {"metadata": {"labels": {"a": None}}}, **MERGE)
    assert core.read_node("n").metadata.labels == {"c": "d"}


def test_a_running_pod_is_given_its_grace_and_a_waiting_one_goes_at_once(
    open_cluster: Opened,
) -> None:
    cluster, core = open_cluster
    cluster.add(running("bound", on="n"))
    cluster.add(pod("waiting"))
    deleted, _, headers = core.delete_namespaced_pod_with_http_info("bound", "default", grace_period_seconds=20)
    left = deleted.metadata.deletion_timestamp - told_at(headers)
    assert timedelta(seconds=15) < left <= timedelta(seconds=20)
    assert deleted.metadata.deletion_grace_period_seconds == 20
    core.delete_namespaced_pod("waiting", "default")
    assert cluster.get("Pod", "bound") is not None
    assert cluster.get("Pod", "waiting") is None


def test_who_deletes_again_can_only_shorten_the_grace(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(running("p", on="n"))
    begun = core.delete_namespaced_pod("p", "default", grace_period_seconds=600).metadata
    for grace in ({}, {"grace_period_seconds": 900}):
        assert core.delete_namespaced_pod("p", "default", **grace).metadata.deletion_timestamp == begun.deletion_timestamp
    shorter = core.delete_namespaced_pod("p", "default", grace_period_seconds=100).metadata
    assert begun.deletion_timestamp - shorter.deletion_timestamp == timedelta(seconds=500)
    core.delete_namespaced_pod("p", "default", grace_period_seconds=0)
    assert cluster.get("Pod", "p") is None


def test_a_delete_with_another_uid_is_a_conflict(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    uid = cluster.add(node("n"))["metadata"]["uid"]
    with pytest.raises(ApiException) as error:
        core.delete_node("n", body=client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="other")))
    status, body = refused(error)
    assert status == 409
    assert f"the UID in the precondition (other) does not match the UID in record ({uid})" in body
    core.delete_node("n", body=client.V1DeleteOptions(preconditions=client.V1Preconditions(uid=uid)))
    assert cluster.objects("Node") == []


def test_an_object_with_finalizers_goes_when_the_last_is_taken_off(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    held = node("n")
    held["metadata"]["finalizers"] = ["example.com/keep"]
    cluster.add(held)
    core.delete_node("n")
    assert core.read_node("n").metadata.deletion_timestamp
    core.patch_node("n", {"metadata": {"finalizers": None}}, **MERGE)
    assert cluster.get("Node", "n") is None


def test_a_pod_is_bound_once(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(pod("p"))
    target = client.V1ObjectReference(kind="Node", name="n")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="p"), target=target)
    core.create_namespaced_pod_binding("p", "default", binding, _preload_content=False)
    bound = core.read_namespaced_pod("p", "default")
    assert bound.spec.node_name == "n"
    assert [(one.type, one.status) for one in bound.status.conditions] == [("PodScheduled", "True")]
    with pytest.raises(ApiException) as error:
        core.create_namespaced_pod_binding("p", "default", binding, _preload_content=False)
    assert error.value.status == 409


def test_dry_run_writes_nothing(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(node("n"))
    core.create_node(node("m"), dry_run="All")
    core.patch_node("n", {"spec": {"unschedulable": True}}, dry_run="All")
    core.delete_node("n", dry_run="All")
    assert [(one["metadata"]["name"], one["spec"]) for one in cluster.objects("Node")] == [("n", {})]


def test_a_collection_can_be_deleted_by_label(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    for name in ("a", "b", "c"):
        cluster.add(pod(name, labels={"keep": str(name == "c").lower()}))
    core.delete_collection_namespaced_pod("default", label_selector="keep=false")
    assert [one["metadata"]["name"] for one in cluster.objects("Pod")] == ["c"]


def test_other_groups_are_served_too(open_cluster: Opened) -> None:
    cluster, core = open_cluster
    cluster.add(budget("b", "web", minAvailable=1))
    cluster.add(daemon_set("d"))
    policy, apps = client.PolicyV1Api(core.api_client), client.AppsV1Api(core.api_client)
    assert [one.metadata.name for one in policy.list_pod_disruption_budget_for_all_namespaces().items] == ["b"]
    listed = apps.list_daemon_set_for_all_namespaces(_preload_content=False).json()
    assert (listed["kind"], listed["apiVersion"]) == ("DaemonSetList", "apps/v1")
    assert "kind" not in listed["items"][0]  # as in a real list


def test_version_and_groups_can_be_asked_for(open_cluster: Opened) -> None:
    _, core = open_cluster
    assert client.VersionApi(core.api_client).get_code().git_version.startswith("v1.")
    groups = [group.name for group in client.ApisApi(core.api_client).get_api_versions().groups]
    assert {"apps", "policy", "batch", "storage.k8s.io"} <= set(groups)
    assert "pods/eviction" in [one.name for one in core.get_api_resources().resources]
