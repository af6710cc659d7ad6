"""DaemonSets as the snapshot holds them: the shape that their pods will have."""

from typing import Any

import pytest

from spillway.model.cluster import PodShape, Toleration
from tests.kube.objects import Object, node, pod, set_of, snapshot_of

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


@pytest.mark.parametrize("gone", [daemon_set(meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}), daemon_set(nodeName="n1")])
def test_one_that_is_being_deleted_or_meant_for_one_node_brings_new_nodes_nothing(gone: Object):
    assert snapshot_of(gone).daemons == ()


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
