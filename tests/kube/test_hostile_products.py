"""Two sizes that one tenant chooses are never multiplied: of each pair here comparing each with each would take minutes."""

from typing import Any

import pytest

from spillway.kube.budgets import NAMED_IN
from tests.kube.objects import Object, budget, pod, snapshot_of
from tests.kube.storage_objects import claim, in_zones, mounts, storage_class, volume

pytestmark = [pytest.mark.feature("RS-06"), pytest.mark.timeout(30)]


def apart_from(*terms: Object) -> Object:
    """The spec of a pod with so many rules of anti-affinity."""
    rules = [{"topologyKey": "topology.kubernetes.io/zone", **term} for term in terms]
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": rules}}}


def selecting(name: str, *expressions: Object) -> Object:
    found = budget(name)
    found["spec"]["selector"] = {"matchExpressions": list(expressions)}
    return found


def test_rules_of_one_pod_and_labels_of_another() -> None:
    rules = [{"labelSelector": {"matchLabels": {f"key-{n}": "x"}}} for n in range(9_000)]
    labels = {f"key-{n}": "x" for n in range(9_000)}
    others = [pod(f"p{n}", labels={**labels, **{f"more-{m}": "x" for m in range(9_000)}, "me": str(n)}) for n in range(2)]
    assert len(snapshot_of(pod("a", spec=apart_from(*rules)), *others).shapes) == 2


def test_namespaces_of_a_rule_and_what_its_selector_names() -> None:
    names = [f"ns-{n}" for n in range(8_000)]
    reads = {"key": "app", "operator": "In", "values": [f"v-{n}" for n in range(8_000)]}
    more = [{"key": f"key-{n}", "operator": "NotIn", "values": ["x"]} for n in range(8_000)]
    rule = {"namespaces": names, "labelSelector": {"matchExpressions": [reads, *more]}}
    seen = snapshot_of(pod("a", spec=apart_from(rule)), pod("b", namespace="ns-1", labels={"app": "v-1", "key-1": "y"}))
    assert {tuple(shape.labels.items()) for shape in seen.shapes} == {(), (("app", "v-1"),)}


def test_namespaces_and_rules_that_choose_by_their_labels() -> None:
    rules = [{"namespaceSelector": {"matchLabels": {f"key-{n}": "x"}}, "labelSelector": {}} for n in range(9_000)]
    spaces = [
        {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": f"ns-{n}", "labels": {f"key-{n}": "x"}}}
        for n in range(20_000)
    ]
    seen = snapshot_of(pod("a", spec=apart_from(*rules)), *spaces)
    assert sum(len(one.labels) for one in seen.namespaces) == 9_000


def test_budgets_that_name_a_label_of_all_and_one_of_each() -> None:
    mine = [pod(f"p{n}", labels={"app": "web", "release": f"r{n}"}) for n in range(6_000)]
    budgets = [budget(f"b{n}", app="web", release=f"r{n}") for n in range(6_000)]
    seen = snapshot_of(*mine, *budgets)
    assert (len(seen.shapes), sum(len(one.shapes) for one in seen.budgets)) == (6_000, 6_000)


@pytest.mark.parametrize("operator", ["DoesNotExist", "NotIn"])
def test_budgets_without_a_label_that_must_be_there_and_shapes(operator: str) -> None:
    values = {"values": ["x"]} if operator == "NotIn" else {}
    budgets = [selecting(f"b{n}", {"key": f"key-{n}", "operator": operator, **values}) for n in range(3_000)]
    seen = snapshot_of(*(pod(f"p{n}", cpu=f"{n + 1}m") for n in range(3_000)), *budgets)
    assert [len(one.shapes) for one in seen.budgets] == [3_000] * NAMED_IN + [0] * (3_000 - NAMED_IN)


def test_equal_budgets_and_pods_of_which_each_is_told_apart() -> None:
    values = [f"i{n}" for n in range(8_000)]
    names = selecting("names", {"key": "id", "operator": "In", "values": values})
    budgets = [selecting(f"b{n}", {"key": "id", "operator": "DoesNotExist"}) for n in range(8_000)]
    seen = snapshot_of(*(pod(f"p{n}", labels={"id": value}) for n, value in enumerate(values)), names, *budgets)
    assert (len(seen.shapes), {len(one.shapes) for one in seen.budgets}) == (8_000, {0, 8_000})


def test_claims_of_which_each_has_a_size_of_its_own_and_volumes_that_are_free() -> None:
    volumes = [
        volume(f"pv-{n}", phase="Available", spec={"claimRef": None, "nodeAffinity": in_zones(f"zone-{n}")})
        for n in range(2_000)
    ]
    sizes = [{"resources": {"requests": {"storage": f"{n + 1}Ki"}}} for n in range(2_500)]
    claims = [claim(f"c{n}", spec=size) for n, size in enumerate(sizes)]
    mine = [pod(f"p{n:04}", spec=mounts(f"c{n}")) for n in range(2_500)]
    seen = snapshot_of(*volumes, *claims, *mine, storage_class(provisioner="kubernetes.io/no-provisioner"))
    assert [len(pods.names) for pods in seen.pods] == [2_500], "one shape: the planner deals them the volumes"
    assert sum(one.count for one in seen.free_volumes) == 2_000


def buffer(name: str, **spec: Any) -> Object:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer", "metadata": meta, "spec": spec}


def test_buffers_of_one_large_template() -> None:
    containers = [{"name": f"c{n}", "resources": {"requests": {"cpu": "1m"}}} for n in range(5_000)]
    template = {"metadata": {"labels": {}}, "spec": {"containers": containers}}
    meta = {"name": "web", "namespace": "default", "uid": "u"}
    sets = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": {"replicas": 3, "template": template}}
    scaled = {"kind": "ReplicaSet", "name": "web", "apiGroup": "apps"}
    seen = snapshot_of(sets, *(buffer(f"b{n}", scalableRef=scaled, percentage=100) for n in range(3_000)))
    assert {(one.pods, one.problem) for one in seen.buffers} == {(3, "")}


def test_buffers_of_deployments_and_replica_sets() -> None:
    def replica_set(n: int) -> Object:
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"d{n}", "uid": f"d{n}", "controller": True}
        meta = {"name": f"d{n}-1", "namespace": "default", "uid": f"u{n}", "ownerReferences": [owner]}
        template = {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "main"}]}}
        return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": {"replicas": 3, "template": template}}

    buffers = (
        buffer(f"b{n}", scalableRef={"kind": "Deployment", "name": f"d{n}", "apiGroup": "apps"}, percentage=100)
        for n in range(10_000)
    )
    seen = snapshot_of(*map(replica_set, range(10_000)), *buffers)
    assert {(one.pods, one.problem) for one in seen.buffers} == {(3, "")}


def test_buffers_of_a_template_with_many_volumes() -> None:
    volumes = [{"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"c{n}"}} for n in range(5_000)]
    template = {"spec": {"containers": [{"name": "main"}], "volumes": volumes}}
    meta = {"name": "t", "namespace": "default"}
    named = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": meta, "template": template}
    seen = snapshot_of(named, *(buffer(f"b{n}", podTemplateRef={"name": "t"}, replicas=1) for n in range(3_000)))
    assert {one.pods for one in seen.buffers} == {1}
