"""Pods of a real API server through the function and the table: what a server stores is what the snapshot understands."""

from collections.abc import Iterator
from typing import Any

import pytest

from spillway.aws.table import settings, snapshots
from spillway.model.cluster import PodState
from spillway.model.workloads import RequestedPods
from spillway_local.kube_api import Cluster
from tests.kube import apis
from tests.kube.handlers import World, handlers_on
from tests.kube.objects import Object, budget, node, pod, set_of, shape_in

GIB = 1024**3
HOST = "kubernetes.io/hostname"


@pytest.fixture
def world(api_server: Cluster) -> Iterator[World]:
    with handlers_on(api_server) as opened:
        opened.api.add(node("n1"))
        yield opened


def controller(kind: str, api_version: str = "apps/v1", name: str = "web", **spec: Any) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "app"}]}}
    selector = {} if kind == "Job" else {"selector": labels if kind == "ReplicationController" else {"matchLabels": labels}}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    head = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}}
    return {**head, "spec": {**selector, "template": template, **spec}}


def owned_by(owner: Object) -> list[Object]:
    meta = owner["metadata"]
    return [
        {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"], "controller": True}
    ]


@pytest.mark.feature("CS-04")
def test_pods_are_in_the_state_that_the_scheduler_means(world: World):
    gated = pod("gated", spec={"schedulingGates": [{"name": "example.com/quota"}]})
    gated["status"]["conditions"][0]["reason"] = "SchedulingGated"
    unseen = pod("unseen")
    del unseen["status"]["conditions"]
    nominated, orphaned = pod("nominated"), pod("orphaned")
    nominated["status"]["nominatedNodeName"], orphaned["status"]["nominatedNodeName"] = "n1", "gone"
    seen = world.snapshot(pod("bound", node="n1"), pod("judged"), gated, unseen, nominated, orphaned, pod("ghost", node="gone"),
        pod("done", node="n1", phase="Succeeded"),
    )  # fmt: skip
    world.api.remove("Pod", "bound", "default", grace_s=30)
    world.call("snapshot_cluster")
    leaving = set_of(snapshots.latest_cluster(world.table), "bound")

    assert {name: (pods.state, pods.node) for pods in seen.pods for name in pods.names} == {
        "bound": (PodState.BOUND, "n1"),
        "judged": (PodState.UNSCHEDULABLE, ""),
        "gated": (PodState.GATED, ""),
        "unseen": (PodState.UNSEEN, ""),
        "nominated": (PodState.NOMINATED, "n1"),
        "orphaned": (PodState.UNSCHEDULABLE, ""),
        "ghost": (PodState.BOUND, "gone"),
    }
    assert (leaving.state, len(leaving.deletes)) == (PodState.TERMINATING, 1)
    assert leaving.deletes[0] > seen.taken_at


@pytest.mark.feature("CS-04")
@pytest.mark.feature("CS-06")
def test_labels_that_the_policy_reads_are_in_the_snapshot(world: World):
    settings.put_policy(world.table, {"pods": {"selector": {"matchLabels": {"team": "ml"}}}}, by="test")
    seen = world.snapshot(pod("a", labels={"team": "ml", "app": "x"}), pod("b", labels={"team": "web", "app": "y"}))
    assert (shape_in(seen, "a").labels, shape_in(seen, "b").labels) == ({"team": "ml"}, {"team": "web"})


@pytest.mark.feature("CS-05")
def test_a_pod_asks_for_what_the_server_made_of_it(world: World):
    """With its defaults, and in the forms into which it brings quantities."""
    container = {
        "name": "main",
        "image": "app",
        "resources": {"limits": {"cpu": "1.5", "memory": "0.5Gi"}, "requests": {"cpu": "1e-1"}},
    }
    init = {
        "name": "init",
        "image": "app",
        "resources": {"requests": {"memory": "1e9", "example.com/fpga": "2"}, "limits": {"example.com/fpga": "2"}},
    }
    proxy = {
        "name": "proxy",
        "image": "app",
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
    }
    whole = {"containers": [{"name": "main", "image": "app"}], "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}
    seen = world.snapshot(
        pod("parts", spec={"containers": [container], "initContainers": [proxy, init]}), pod("whole", spec=whole)
    )
    memory = max(512 * 1024**2 + 64 * 1024**2, 10**9 + 64 * 1024**2)
    assert shape_in(seen, "parts").requests == {"cpu": 150, "memory": memory, "example.com/fpga": 2, "pods": 1}
    assert shape_in(seen, "whole").requests == {"cpu": 2000, "memory": GIB, "pods": 1}


@pytest.mark.feature("CS-06")
def test_pods_of_one_template_are_one_shape_and_rules_tell_others_apart(world: World):
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["pod-template-hash"]}
    rule = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    web = [pod(f"web-{n}", labels={"app": "web", "pod-template-hash": "7", "n": str(n)}, spec=rule) for n in range(3)]
    old = pod("web-old", labels={"app": "web", "pod-template-hash": "6"}, spec=rule)
    db = [pod(f"db-{n}", labels={"app": "db", "pod-template-hash": str(n)}) for n in range(3)]
    seen = world.snapshot(*web, old, *db)
    assert sorted(len(pods.names) for pods in seen.pods) == [1, 3, 3]
    assert shape_in(seen, "db-0").labels == {}
    assert shape_in(seen, "web-old").labels == {"app": "web", "pod-template-hash": "6"}


@pytest.mark.feature("CS-11")
def test_a_pods_owner_is_followed_to_its_object(world: World):
    made = {
        kind: world.api.add(controller(kind, version, **spec))
        for kind, version, spec in (
            ("ReplicaSet", "apps/v1", {"replicas": 3}),
            ("StatefulSet", "apps/v1", {"replicas": 12, "serviceName": "web"}),
            ("ReplicationController", "v1", {"replicas": 1}),
            ("Job", "batch/v1", {"parallelism": 4, "completions": 2}),
        )
    }
    pods = [pod(f"of-{kind.lower()}", node="n1", ownerReferences=owned_by(owner)) for kind, owner in made.items()]
    gone = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "gone", "uid": "u-gone", "controller": True}]
    seen = world.snapshot(*pods, pod("of-nobody", node="n1", ownerReferences=gone))
    assert {
        name: (shape_in(seen, name).owner_missing, shape_in(seen, name).owner_replicas)
        for one in seen.pods
        for name in one.names
    } == {
        "of-replicaset": (False, 3),
        "of-statefulset": (False, 10),
        "of-replicationcontroller": (False, 1),
        "of-job": (False, 2),
        "of-nobody": (True, None),
    }


@pytest.mark.feature("CS-11")
def test_what_a_drain_asks_of_a_pod_is_there(world: World):
    evict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
    volumes = [{"name": "logs", "hostPath": {"path": "/var/log"}}, {"name": "tmp", "emptyDir": {"medium": "Memory"}}]
    one = pod("a", node="n1", annotations={evict: "false"}, spec={"volumes": volumes, "terminationGracePeriodSeconds": 90})
    one["status"] |= {"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Ready", "status": "True"}]}
    mirror = pod("m", node="n1", annotations={"kubernetes.io/config.mirror": "abc", "kubernetes.io/config.source": "file"})
    seen = world.snapshot(one, mirror, budget(app="web"))
    found = shape_in(seen, "a")
    assert (found.annotations, found.local_storage, found.grace_s) == ({evict: "false"}, ("logs",), 90)
    assert shape_in(seen, "m").mirror
    assert [at and at.year for at in set_of(seen, "a").started] == [2026]
    assert (set_of(seen, "a").unready, set_of(seen, "m").unready) == (False, True)


@pytest.mark.feature("CS-12")
def test_gangs_of_every_custom_source_are_read(world: World):
    apis.install(world.api)
    groups = [
        apis.any_of("PodGroup.scheduling.x-k8s.io", "cos", spec={"minMember": 2}),
        apis.any_of("PodGroup.scheduling.volcano.sh", "vol", spec={"minMember": 3}),
        apis.any_of("Workload.kueue.x-k8s.io", "kue", spec={"podSets": [{"name": "main", "count": 4}]}),
        apis.any_of("JobSet.jobset.x-k8s.io", "set", spec={"replicatedJobs": [
            {"name": "w", "replicas": 5, "template": {"spec": {"parallelism": 1}}}]}),
        apis.any_of("ProvisioningRequest.autoscaling.x-k8s.io", "pro", spec={
            "provisioningClassName": "x", "podSets": [{"podTemplateRef": {"name": "t"}, "count": 6}]}),
    ]  # fmt: skip
    pods = [
        pod("a", labels={"scheduling.x-k8s.io/pod-group": "cos"}),
        pod("b", annotations={"scheduling.k8s.io/group-name": "vol"}),
        pod("c", labels={"kueue.x-k8s.io/pod-group-name": "kue"}),
        pod("d", labels={"jobset.sigs.k8s.io/jobset-name": "set", "jobset.sigs.k8s.io/replicatedjob-name": "w"}),
        pod("e", annotations={"autoscaling.x-k8s.io/consume-provisioning-request": "pro"}),
    ]
    seen = world.snapshot(*groups, *pods)
    assert {gang.id: gang.min_pods for gang in seen.gangs} == {
        "coscheduling/default/cos": 2, "volcano/default/vol": 3, "kueue/default/kue": 4, "jobset/default/set": 5,
        "provisioning/default/pro": 6,
    }  # fmt: skip
    assert [set_of(seen, name).gang.partition("/")[0] for name in "abcde"] == [
        "coscheduling", "volcano", "kueue", "jobset", "provisioning"
    ]  # fmt: skip


@pytest.mark.feature("CS-12")
def test_a_gang_of_kubernetes_own_is_read_where_its_feature_is_on(world: World):
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "own", "namespace": "default"}}
    seen = world.snapshot(
        {**group, "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}},
        pod("a", spec={"schedulingGroup": {"podGroupName": "own"}}),
    )
    assert [(gang.id, gang.min_pods) for gang in seen.gangs] == [("workload/default/own", 3)]
    assert set_of(seen, "a").gang == "workload/default/own"


@pytest.mark.feature("CS-18")
def test_a_pod_with_resource_claims_is_known_by_them(world: World):
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}, {"name": "net", "resourceClaimName": "nic-7"}]
    seen = world.snapshot(pod("a", spec={"resourceClaims": claims}))
    assert shape_in(seen, "a").resource_claims == ("nic-7", "one-gpu")


@pytest.mark.feature("CS-03")
def test_what_asks_for_room_before_its_pods_is_read(world: World):
    apis.install(world.api)
    spec = {"containers": [{"name": "main", "image": "app", "resources": {"requests": {"cpu": "2"}}}]}
    template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "small", "namespace": "default"}}
    order = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"priorities": "10:\n- .*\n50:\n- spot.*\n"}}
    order["metadata"] = {"name": "cluster-autoscaler-priority-expander", "namespace": "kube-system"}
    seen = world.snapshot({**template, "template": {"spec": spec}},
        apis.any_of("CapacityBuffer.autoscaling.x-k8s.io", "b", spec={
            "podTemplateRef": {"name": "small"}, "limits": {"cpu": "7"}}),
        apis.any_of("ProvisioningRequest.autoscaling.x-k8s.io", "r", spec={
            "provisioningClassName": "x", "podSets": [{"podTemplateRef": {"name": "small"}, "count": 2}]}),
        order,
    )  # fmt: skip
    (room,) = seen.shapes
    assert [(one.name, one.shape, one.pods, one.problem) for one in seen.buffers] == [("b", room.id, 3, "")]
    assert [one.pod_sets for one in seen.provisioning_requests] == [(RequestedPods(shape=room.id, pods=2),)]
    assert [one.priority for one in seen.priorities] == [50, 10]
    assert "default" in {space.name for space in seen.namespaces}
