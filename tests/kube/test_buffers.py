"""What asks for room before its pods are there, and the order of groups that people gave to Cluster Autoscaler."""

from typing import Any

import pytest

from spillway.model.base import encode
from spillway.model.cluster import ClusterSnapshot
from spillway.model.reason import Code
from spillway.model.workloads import CapacityBuffer, PriorityList, ProvisioningRequest, RequestedPods
from tests.kube.objects import Object, pod, set_of, snapshot_of

pytestmark = pytest.mark.feature("CS-03")

GIB = 1024**3
AUTOSCALING = "autoscaling.x-k8s.io/v1"
SPEC = {"containers": [{"name": "main", "image": "app", "resources": {"requests": {"cpu": "2", "memory": "4Gi"}}}]}


def template(name: str = "small", spec: Object = SPEC, **meta: Any) -> Object:
    head = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name, "namespace": "default"}}
    return {**head, "template": {"metadata": meta, "spec": spec}}


def buffer(**spec: Any) -> Object:
    return {
        "apiVersion": AUTOSCALING,
        "kind": "CapacityBuffer",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": spec,
    }


def request(*pod_sets: Object, **status: Any) -> Object:
    head = {"apiVersion": AUTOSCALING, "kind": "ProvisioningRequest", "metadata": {"name": "r", "namespace": "default"}}
    return {**head, "spec": {"provisioningClassName": "best-effort-atomic", "podSets": list(pod_sets)}, "status": status}


def replica_set(
    name: str, *, of: str = "", revision: int = 1, replicas: int = 3, wanted: int = 10, spec: Object = SPEC
) -> Object:
    owner = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": of, "uid": "u", "controller": True}] if of else []
    notes = {"deployment.kubernetes.io/revision": str(revision), "deployment.kubernetes.io/desired-replicas": str(wanted)}
    meta = {"name": name, "namespace": "default", "ownerReferences": owner, "annotations": notes if of else {}}
    body = {"replicas": replicas, "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec}}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": body}


def found(*objects: Object) -> tuple[CapacityBuffer, ClusterSnapshot]:
    seen = snapshot_of(*objects)
    return seen.buffers[0], seen


class TestCapacityBuffers:
    def test_so_many_pods_of_a_template(self):
        kept, seen = found(buffer(podTemplateRef={"name": "small"}, replicas=5), template())
        (shape,) = seen.shapes
        assert kept == CapacityBuffer(namespace="default", name="b", shape=shape.id, pods=5)
        assert shape.requests == {"cpu": 2000, "memory": 4 * GIB, "pods": 1}

    def test_its_pods_are_of_the_shape_that_equal_pods_have(self):
        kept, seen = found(buffer(podTemplateRef={"name": "small"}, replicas=5), template(), pod("a", spec=SPEC))
        assert kept.shape == set_of(seen, "a").shape

    @pytest.mark.parametrize(
        ("wants", "pods"),
        [
            ({"replicas": 5, "limits": {"cpu": "7"}}, 3),
            ({"limits": {"cpu": "7", "memory": "8Gi"}}, 2),
            ({"limits": {"memory": "100Gi"}}, 25),
            ({"replicas": 0}, 0),
        ],
    )
    def test_as_far_as_its_limits_go(self, wants: Object, pods: int):
        assert found(buffer(podTemplateRef={"name": "small"}, **wants), template())[0].pods == pods

    @pytest.mark.parametrize(("percentage", "pods"), [(20, 2), (25, 3), (1, 1), (0, 0), (100, 10)])
    def test_a_share_of_a_deployment_rounded_up(self, percentage: int, pods: int):
        """Its newest ReplicaSet has its template, and says how many pods the Deployment wants in all."""
        old, new = {"containers": []}, SPEC
        sets = [
            replica_set("web-1", of="web", revision=9, replicas=0, spec=old),
            replica_set("web-2", of="web", revision=10, replicas=7, spec=new),
            replica_set("db-1", of="db", revision=99),
        ]
        ref = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
        kept, seen = found(buffer(scalableRef=ref, percentage=percentage), *sets)
        assert kept.pods == pods
        assert seen.shapes[0].requests["cpu"] == 2000

    @pytest.mark.parametrize(
        ("kind", "group"), [("ReplicaSet", "apps"), ("StatefulSet", "apps"), ("ReplicationController", "")]
    )
    def test_a_share_of_others_that_scale(self, kind: str, group: str):
        scaled = replica_set("web", replicas=4) | {"kind": kind, "apiVersion": "apps/v1" if group else "v1"}
        assert found(buffer(scalableRef={"apiGroup": group, "kind": kind, "name": "web"}, percentage=50), scaled)[0].pods == 2

    @pytest.mark.parametrize(
        ("wants", "problem"),
        [
            ({"podTemplateRef": {"name": "gone"}, "replicas": 1}, "no PodTemplate default/gone was read"),
            (
                {"scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "gone"}},
                "there is no Deployment default/gone",
            ),
            (
                {"scalableRef": {"apiGroup": "x.io", "kind": "Widget", "name": "w"}},
                "what a Widget.x.io makes pods of is not read",
            ),
            ({"replicas": 1}, "it names neither a pod template nor what it scales with"),
            ({"podTemplateRef": {"name": "small"}}, "it says neither replicas nor a percentage, nor a limit"),
            ({"podTemplateRef": {"name": "small"}, "limits": {"cpu": "lots"}}, "'lots' is no quantity"),
            (
                {"podTemplateRef": {"name": "small"}, "replicas": 1, "provisioningStrategy": "lazy"},
                "its strategy lazy is not active",
            ),
        ],
    )
    def test_one_that_cannot_be_kept_says_why(self, wants: Object, problem: str):
        kept, seen = found(buffer(**wants), template())
        assert problem in kept.problem
        assert [warning.text for warning in seen.warnings] == [f"capacitybuffer default/b is set aside: {kept.problem}"]
        assert (kept.shape, kept.pods) == ("", 0)

    def test_a_template_that_does_not_read_is_told_at_its_buffer(self):
        bad = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "lots"}}}]}
        assert "'lots'" in found(buffer(podTemplateRef={"name": "small"}, replicas=1), template(spec=bad))[0].problem


class TestProvisioningRequests:
    def test_so_many_pods_of_each_template(self):
        large = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "8"}}}]}
        sets = [{"podTemplateRef": {"name": name}, "count": count} for name, count in (("small", 3), ("large", 1))]
        conditions = [{"type": "Accepted", "status": "True"}, {"type": "Provisioned", "status": "False"}]
        seen = snapshot_of(request(*sets, conditions=conditions), template(), template("large", large))
        ids = {shape.requests["cpu"]: shape.id for shape in seen.shapes}
        assert seen.provisioning_requests == (
            ProvisioningRequest(
                namespace="default",
                name="r",
                class_name="best-effort-atomic",
                pod_sets=(RequestedPods(shape=ids[2000], pods=3), RequestedPods(shape=ids[8000], pods=1)),
                conditions={"Accepted": "True", "Provisioned": "False"},
            ),
        )

    def test_half_of_what_is_asked_for_is_of_no_use(self):
        sets = [{"podTemplateRef": {"name": name}, "count": 1} for name in ("small", "gone")]
        seen = snapshot_of(request(*sets), template())
        (asked,) = seen.provisioning_requests
        assert [warning.text for warning in seen.warnings] == [f"provisioningrequest default/r is set aside: {asked.problem}"]
        assert (asked.pod_sets, asked.problem) == ((), "no PodTemplate default/gone was read")


class TestPriorityExpander:
    def config_map(self, text: str, name: str = "cluster-autoscaler-priority-expander") -> Object:
        meta = {"name": name, "namespace": "kube-system"}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"priorities": text}}

    def test_the_highest_number_comes_first(self):
        text = "10:\n  - .*t2\\.large.*\n  - .*t3\\.large.*\n50:\n  - .*m4\\.4xlarge.*\n"
        assert snapshot_of(self.config_map(text)).priorities == (
            PriorityList(priority=50, patterns=(r".*m4\.4xlarge.*",)),
            PriorityList(priority=10, patterns=(r".*t2\.large.*", r".*t3\.large.*")),
        )

    def test_any_other_configmap_is_passed_over(self):
        assert snapshot_of(self.config_map("10: [a]", name="other")).priorities == ()

    @pytest.mark.parametrize(
        "text",
        ["10: a", "x: [a]", "10: [1]", "[a]", "10: [a", "{", '10: ["\\ud800"]', "[" * 5000, "&a [*a]", f"{'9' * 5000}: [a]"],
    )
    def test_one_that_does_not_read_is_a_warning(self, text: str):
        seen = snapshot_of(self.config_map(text))
        assert encode(seen)
        assert seen.priorities == ()
        (warning,) = seen.warnings
        assert warning.code == Code.OBJECT_UNREADABLE
        assert "configmap kube-system/cluster-autoscaler-priority-expander" in warning.text
