"""DaemonSets as the snapshot holds them: the shape that their pods will have."""

from typing import Any, ClassVar

import pytest

from spillway.model.cluster import PodShape, Toleration
from spillway.model.memory import Memory
from spillway.model.volumes import VolumeNeed
from spillway.planner.amounts import Dimensions
from spillway.planner.daemons import Daemons
from spillway.planner.rules.base import Host
from spillway.planner.view import view
from tests.builders import fleet, policy
from tests.kube.objects import NOW, Object, daemon_of, node, pod, set_of, snapshot_of
from tests.kube.storage_objects import EBS, allowed, storage_class

pytestmark = pytest.mark.feature("CS-09")


def daemon_set(name: str = "agent", *, meta: Object | None = None, labels: Object | None = None, **spec: Any) -> Object:
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "default", "uid": name} | (meta or {}),
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name, **(labels or {})}}, "spec": {"containers": [container]} | spec},
        },
    }


def shape(**spec: Any) -> PodShape:
    seen = snapshot_of(daemon_set(**spec))
    (daemon,) = seen.daemons
    return next(one for one in seen.shapes if one.id == daemon.shape)


def test_its_pods_ask_for_what_its_template_says():
    assert shape().requests == {"cpu": 100, "memory": 64 * 1024**2, "pods": 1}
    assert shape().is_daemon


def test_they_go_where_the_template_lets_them():
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]
            }
        }
    }
    found = shape(nodeSelector={"pool": "gpu"}, affinity=affinity)
    assert found.node_selector == {"pool": "gpu"}
    assert found.node_affinity is not None
    assert [term.expressions[0].key for term in found.node_affinity] == ["disk"]


ALWAYS = {
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
}


def test_they_tolerate_what_the_controller_adds():
    assert {(one.key, one.effect) for one in shape().tolerations if one.operator == "Exists"} == ALWAYS


def test_and_a_missing_network_on_the_hosts_own():
    added = {(one.key, one.effect) for one in shape(hostNetwork=True).tolerations}
    assert added == ALWAYS | {("node.kubernetes.io/network-unavailable", "NoSchedule")}


def test_their_own_tolerations_stay():
    own = {"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}
    assert Toleration(key="dedicated", value="batch", effect="NoSchedule") in shape(tolerations=[own]).tolerations


def test_their_priority_is_the_templates():
    assert shape(priorityClassName="system-node-critical").priority == 2_000_001_000


def test_one_that_is_being_deleted_brings_new_nodes_nothing():
    assert snapshot_of(daemon_set(meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})).daemons == ()


class TestEphemeralVolumes:
    """Which are made with each pod: a new node will attach them."""

    def of(self, *names: str, made_by: str = "gp3") -> Object:
        named = {"storageClassName": made_by} if made_by else {}
        made = {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], **named}}}}
        return daemon_set(volumes=[{"name": name, **made} for name in names])

    def volumes(self, *objects: Object) -> tuple[VolumeNeed, ...]:
        return snapshot_of(*objects).shapes[0].volumes

    def test_take_an_attachment_each(self):
        assert self.volumes(self.of("a", "b"), storage_class()) == (VolumeNeed(driver=EBS), VolumeNeed(driver=EBS))

    def test_go_where_their_class_allows(self):
        (need,) = self.volumes(self.of("a"), storage_class(allowedTopologies=[allowed(zone=["us-east-1b"])]))
        assert need.terms is not None
        assert [term.expressions[0].values for term in need.terms] == [("us-east-1b",)]

    def test_of_a_class_that_nobody_knows_ask_for_nothing(self):
        assert self.volumes(self.of("a", made_by="gone"), storage_class()) == ()
        assert self.volumes(self.of("a", made_by=""), storage_class()) == ()


class TestForOneNode:
    """By name, so it comes with no other node, nor with one that is still to come."""

    BY_FIELD: ClassVar = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
            }
        }
    }

    @pytest.mark.parametrize("spec", [{"nodeName": "n1"}, {"affinity": BY_FIELD}])
    def test_it_takes_room_there_only(self, spec: Object):
        seen = view(snapshot_of(daemon_set(**spec)), fleet(), Memory(), policy(), NOW)
        daemons = Daemons(seen, Dimensions([]))
        assert [daemons.on(Host(name, {})).get(0, 0) for name in ("n1", "n2", "")] == [100, 0, 0]


class TestWhatAdmissionAdded:
    """As a live pod of the template tells, which bears the template's generation."""

    META: ClassVar = {"annotations": {"deprecated.daemonset.template.generation": "2"}}

    def running(self, name: str = "agent-x", *, cpu: str = "300m", generation: str = "2", **given: Any) -> Object:
        labels = {"app": "agent", "pod-template-generation": generation}
        return pod(name, node="n1", cpu=cpu, **{"labels": labels, "ownerReferences": daemon_of()} | given)

    def shape(self, *running: Object, **spec: Any) -> PodShape:
        seen = snapshot_of(node(), daemon_set(meta=self.META, **spec), *running)
        (daemon,) = seen.daemons
        return next(one for one in seen.shapes if one.id == daemon.shape)

    def test_its_pods_ask_for_what_the_last_of_them_does(self):
        newer = self.running("agent-y", cpu="400m", creationTimestamp="2025-12-31T23:55:00Z")
        assert self.shape(newer, self.running()).requests["cpu"] == 400
        assert self.shape(self.running(), newer).requests["cpu"] == 400

    def test_the_defaults_of_a_limit_range_count(self):
        silent = {"name": "main", "image": "app"}
        assert self.shape(containers=[silent]).requests == {"pods": 1}
        assert self.shape(self.running(), containers=[silent]).requests == {"cpu": 300, "pods": 1}

    def test_the_overhead_of_a_runtime_class_counts(self):
        sandboxed = self.running(spec={"runtimeClassName": "kata", "overhead": {"cpu": "250m", "memory": "120Mi"}})
        found = self.shape(sandboxed, runtimeClassName="kata").requests
        assert (found["cpu"], found["memory"]) == (550, 120 * 1024**2)

    def test_so_does_the_value_of_a_priority_class(self):
        important = self.running(spec={"priorityClassName": "agents", "priority": 9000})
        assert self.shape(priorityClassName="agents").priority == 0
        assert self.shape(important, priorityClassName="agents").priority == 9000

    def test_where_they_may_go_stays_as_the_template_says(self):
        """The controller replaces a pod's required affinity by the name of its node."""
        pinned = self.running(spec={"affinity": TestForOneNode.BY_FIELD})
        gpu = {"key": "pool", "operator": "In", "values": ["gpu"]}
        wants = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [gpu]}]}}
        found = self.shape(pinned, affinity={"nodeAffinity": wants})
        assert found.node_affinity is not None
        assert [term.expressions[0].key for term in found.node_affinity] == ["pool"]

    @pytest.mark.parametrize(
        "other",
        [
            {"generation": "1"},
            {"labels": {"app": "agent"}},
            {"ownerReferences": [daemon_of()[0] | {"uid": "an-older-one"}]},
            {"ownerReferences": daemon_of("other")},
            {"namespace": "apart"},
        ],
        ids=["an older template", "no generation", "a DaemonSet that had the name before", "another", "another's namesake"],
    )
    def test_a_pod_of_something_else_tells_nothing(self, other: Object):
        assert self.shape(self.running(**other)).requests["cpu"] == 100

    def test_nor_does_any_pod_where_the_daemon_set_has_no_generation(self):
        seen = snapshot_of(node(), daemon_set(), self.running(generation=""))
        assert {one.requests["cpu"] for one in seen.shapes if one.id == seen.daemons[0].shape} == {100}


def test_it_still_owns_its_pods():
    owner = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "agent", "controller": True}]
    running = pod("agent-x", node="n1", ownerReferences=owner)
    leaving = daemon_set(meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    seen = snapshot_of(node(), running, leaving)
    (found,) = [one for one in seen.shapes if one.id == set_of(seen, "agent-x").shape]
    assert not found.owner_missing


def test_a_template_that_does_not_read_is_set_aside_by_name():
    broken = daemon_set(containers=[{"name": "main", "resources": {"requests": {"cpu": "much"}}}])
    seen = snapshot_of(broken, daemon_set("fine"))
    assert [one.name for one in seen.daemons] == ["fine"]
    assert any("daemonset default/agent" in warning.text for warning in seen.warnings)
