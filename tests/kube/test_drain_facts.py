"""What a drain will ask of a pod: who owns it, what would be lost with it, and what its annotations say."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.cluster import ClusterSnapshot
from tests.kube.objects import NOW, Object, daemon_of, node, pod, set_of, shape_of, snapshot_of

pytestmark = pytest.mark.feature("CS-11")


def owned(kind: str = "ReplicaSet", api_version: str = "apps/v1", name: str = "web", uid: str = "u-web", **more: Any) -> Object:
    owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}
    return pod("a", node="n1", ownerReferences=[owner], **more)


def controller(
    kind: str = "ReplicaSet", api_version: str = "apps/v1", name: str = "web", uid: str = "u-web", **spec: Any
) -> Object:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "uid": uid},
        "spec": spec,
    }


class TestOwners:
    def test_a_bare_pod_has_none(self):
        assert shape_of(pod()).owner_kind == ""

    def test_a_reference_that_is_no_controller_is_none(self):
        owner = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u"}]
        assert shape_of(pod(ownerReferences=owner)).owner_kind == ""

    @pytest.mark.parametrize(
        ("kind", "api_version", "called"),
        [
            ("ReplicaSet", "apps/v1", "ReplicaSet"),
            ("StatefulSet", "apps/v1", "StatefulSet"),
            ("Job", "batch/v1", "Job"),
            ("ReplicationController", "v1", "ReplicationController"),
            ("StatefulSet", "apps.kruise.io/v1beta1", "StatefulSet.apps.kruise.io"),
            ("DaemonSet", "apps.kruise.io/v1alpha1", "DaemonSet"),
        ],
    )
    def test_its_kind_is_known_and_one_of_another_api_is_not_kubernetes_own(self, kind: str, api_version: str, called: str):
        assert shape_of(owned(kind, api_version)).owner_kind == called

    @pytest.mark.parametrize(
        ("kind", "api_version", "spec"),
        [
            ("ReplicaSet", "apps/v1", {"replicas": 3}),
            ("StatefulSet", "apps/v1", {"replicas": 3}),
            ("ReplicationController", "v1", {"replicas": 3}),
            ("Job", "batch/v1", {"parallelism": 5, "completions": 3}),
            ("Job", "batch/v1", {"parallelism": 3}),
        ],
    )
    def test_how_many_pods_it_wants_is_known(self, kind: str, api_version: str, spec: Object):
        shape = shape_of(owned(kind, api_version), controller(kind, api_version, **spec))
        assert (shape.owner_missing, shape.owner_replicas) == (False, 3)

    @pytest.mark.parametrize(("kind", "api_version"), [("ReplicaSet", "apps/v1"), ("Job", "batch/v1")])
    def test_one_that_says_no_number_wants_one(self, kind: str, api_version: str):
        assert shape_of(owned(kind, api_version), controller(kind, api_version)).owner_replicas == 1

    def test_more_than_ten_pods_are_not_told_apart(self):
        sets = [controller(name=name, uid=name, replicas=replicas) for name, replicas in (("x", 11), ("y", 5000))]
        pods = [owned(name=name, uid=name) for name in "xy"]
        for one, name in zip(pods, "xy", strict=True):
            one["metadata"]["name"] = name
        seen = snapshot_of(*sets, *pods)
        assert [shape.owner_replicas for shape in seen.shapes] == [10]

    def test_it_is_missing_where_others_of_its_kind_are_there(self):
        assert shape_of(owned(), controller(name="other")).owner_missing

    def test_and_where_one_of_its_name_was_made_anew(self):
        assert shape_of(owned(), controller(uid="u-later", replicas=3)).owner_missing

    def test_and_where_the_list_of_its_kind_is_empty(self):
        empty = {"apiVersion": "apps/v1", "kind": "ReplicaSetList", "metadata": {}, "items": []}
        found = Objects()
        for raw in (owned(), empty):
            found.add(json.dumps(raw).encode())
        assert reduce(found, cluster="c", taken_at=NOW).shapes[0].owner_missing

    def test_nobody_knows_where_its_kind_was_not_read(self):
        assert not shape_of(owned("Widget", "example.com/v1")).owner_missing
        assert not shape_of(owned()).owner_missing

    def test_owners_that_own_each_other_are_two_owners(self):
        loop = controller(replicas=2)
        loop["metadata"]["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-web", "controller": True}
        ]
        assert shape_of(owned(), loop).owner_replicas == 2


class TestWhatComesWithTheNode:
    @pytest.mark.parametrize(
        "annotation",
        [{"kubernetes.io/config.mirror": "c0ffee"}, {"kubernetes.io/config.source": "file"}],
        ids=["mirror", "static"],
    )
    def test_mirror_and_static_pods_are_known(self, annotation: Object):
        shape = shape_of(pod("a", node="n1", annotations=annotation))
        assert shape.mirror
        assert shape.is_daemon

    def test_what_the_kubelet_got_from_the_api_is_not_static(self):
        assert not shape_of(pod("a", node="n1", annotations={"kubernetes.io/config.source": "api"})).mirror

    def test_a_hash_of_each_mirror_pod_makes_no_shape_of_its_own(self):
        pods = [pod(f"p-{n}", node="n1", annotations={"kubernetes.io/config.mirror": f"hash-{n}"}) for n in range(9)]
        assert len(snapshot_of(*pods).shapes) == 1

    @pytest.mark.parametrize(
        "how",
        [{"ownerReferences": daemon_of()}, {"annotations": {"cluster-autoscaler.kubernetes.io/daemonset-pod": "true"}}],
        ids=["owned", "said to be"],
    )
    def test_daemons_are_known(self, how: Object):
        assert shape_of(pod("a", node="n1", **how)).is_daemon


class TestLocalStorage:
    VOLUMES = (
        {"name": "logs", "hostPath": {"path": "/var/log"}},
        {"name": "cache", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory"}},
        {"name": "config", "configMap": {"name": "c"}},
        {"name": "token", "projected": {"sources": []}},
    )

    def found(self, safe: str = "") -> tuple[str, ...]:
        key = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
        notes = {"annotations": {key: safe}} if safe else {}
        return shape_of(pod(spec={"volumes": list(self.VOLUMES)}, **notes)).local_storage

    def test_host_paths_and_directories_on_disk_would_be_lost(self):
        assert self.found() == ("cache", "logs")

    def test_those_said_to_be_safe_would_not(self):
        assert self.found("cache") == ("logs",)
        assert self.found("logs, cache") == ()


class TestAnnotations:
    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("cluster-autoscaler.kubernetes.io/safe-to-evict", "on-completion"),
            ("cluster-autoscaler.kubernetes.io/pod-scale-up-delay", "15m"),
            ("cluster-autoscaler.kubernetes.io/enable-ds-eviction", "false"),
            ("karpenter.sh/do-not-disrupt", "30m"),
        ],
    )
    def test_every_one_that_a_rule_reads_is_kept(self, key: str, value: str):
        shape = shape_of(pod(annotations={key: value, "kubectl.kubernetes.io/restartedAt": "2026-01-01"}))
        assert shape.annotations == {key: value}

    def test_pods_that_differ_by_one_are_two_shapes(self):
        key = "cluster-autoscaler.kubernetes.io/safe-to-evict"
        assert len(snapshot_of(pod("a", annotations={key: "true"}), pod("b", annotations={key: "false"})).shapes) == 2

    def test_a_label_that_a_rule_reads_is_kept_likewise(self):
        assert shape_of(pod(labels={"openai/do-not-drain": "1"})).labels == {"openai/do-not-drain": "1"}


class TestTimesAndOrder:
    def test_priority_and_whether_it_may_preempt_are_known(self):
        shape = shape_of(pod(spec={"priority": 1000, "preemptionPolicy": "Never"}))
        assert (shape.priority, shape.preemption_policy) == (1000, "Never")
        assert shape_of(pod()).preemption_policy == "PreemptLowerPriority"

    @pytest.mark.parametrize(("given", "grace_s"), [({}, 30), ({"terminationGracePeriodSeconds": 0}, 0),
        ({"terminationGracePeriodSeconds": 3600}, 3600), ({"terminationGracePeriodSeconds": -5}, 1)])  # fmt: skip
    def test_its_grace_is_known(self, given: Object, grace_s: int):
        assert shape_of(pod(spec=given)).grace_s == grace_s

    def test_when_the_kubelet_took_it_stands_beside_its_name(self):
        def started(at: str) -> Object:
            one = pod(f"p-{at[14:16]}", node="n1")
            one["status"]["startTime"] = at
            return one

        found = set_of(snapshot_of(started("2025-12-31T23:51:00Z"), started("2025-12-31T23:52:00Z"), node("n1")), "p-51")
        assert found.names == ("p-51", "p-52")
        assert found.started == tuple(datetime(2025, 12, 31, 23, minute, tzinfo=UTC) for minute in (51, 52))

    def test_pods_that_nobody_took_have_no_times(self):
        assert set_of(snapshot_of(pod("a", node="n1")), "a").started == ()

    def test_of_one_that_leaves_it_is_known_when_its_grace_is_over(self):
        """The API server puts the end of the grace into the deletionTimestamp."""
        times = {"a": "2026-01-01T01:00:00Z", "b": "2026-01-01T00:00:30Z"}
        leaving = [pod(name, node="n1", deletionTimestamp=at, deletionGracePeriodSeconds=3600) for name, at in times.items()]
        seen = snapshot_of(*leaving, pod("stays", node="n1"))
        found = set_of(seen, "a")
        assert dict(zip(found.names, found.deletes, strict=True)) == {
            name: datetime.fromisoformat(at) for name, at in times.items()
        }
        assert set_of(seen, "stays").deletes == ()

    def test_pods_that_are_not_ready_stand_apart(self):
        """A budget may let them go when it lets no other go."""

        def running(name: str, ready: str) -> Object:
            one = pod(name, node="n1")
            one["status"]["conditions"] = [{"type": "Ready", "status": ready}]
            return one

        seen: ClusterSnapshot = snapshot_of(running("a", "True"), running("b", "False"), pod("c", node="n1"))
        assert {one.names: one.unready for one in seen.pods} == {("a",): False, ("b", "c"): True}
        assert not set_of(snapshot_of(pod("w")), "w").unready
