"""How much drivers can still make, as kube-scheduler 1.37 looks at it (KEP-1472)."""

from typing import Any

import pytest

from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.base import encode
from spillway.model.cluster import ClusterSnapshot
from spillway.model.reason import Code
from spillway.model.volumes import VolumeNeed
from tests.builders import NOW, desired, group, plan_for, refusals
from tests.builders import pod as waiting
from tests.kube.objects import Object, pod
from tests.kube.storage_objects import EBS, ZONE, allowed, claim, free, in_zones, mounts, storage_class

pytestmark = [pytest.mark.feature("SO-06"), pytest.mark.feature("CS-03")]

HOST = "topology.topolvm.io/node"


def driver(**spec: Any) -> Object:
    spec = {"storageCapacity": True} | spec
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": EBS}, "spec": spec}


def left(name: str, size: str | None = "50Gi", *, of_class: str = "gp3", key: str = ZONE, **fields: Any) -> Object:
    """For nodes that are named so by the label."""
    return (
        {
            "metadata": {"name": name, "namespace": "kube-system"},
            "storageClassName": of_class,
            "nodeTopology": {"matchLabels": {key: name}},
        }
        | ({"capacity": size} if size else {})
        | fields
    )


def seen(*capacities: Object, others: tuple[Object, ...] = (), unread: str = "") -> ClusterSnapshot:
    objects = Objects()
    standing = others or (driver(), storage_class())
    for one in (*standing, claim(), pod("p", spec=mounts("data"))):
        objects.add(encode(one))
    objects.add(encode({"kind": "CSIStorageCapacityList", "apiVersion": "storage.k8s.io/v1", "items": list(capacities)}))
    if unread:
        objects.give_up("CSIStorageCapacity", unread)
    return reduce(objects, cluster="test", taken_at=NOW)


def need(*capacities: Object, **given: Any) -> VolumeNeed:
    (shape,) = seen(*capacities, **given).shapes
    return shape.volumes[0]


def where(*capacities: Object, **given: Any) -> list[str] | None:
    terms = need(*capacities, **given).terms
    return None if terms is None else [value for term in terms for value in term.expressions[-1].values]


def test_a_node_suits_by_a_capacity_that_is_large_enough():
    assert where(left("a"), left("b", "9Gi"), left("c", "10Gi")) == ["a", "c"]


def test_the_largest_volume_counts_before_the_sum():
    assert where(left("a", maximumVolumeSize="9Gi"), left("b", "1Gi", maximumVolumeSize="10Gi")) == ["b"]


def test_of_its_own_class_alone():
    assert where(left("a"), left("b", of_class="other")) == ["a"]


@pytest.mark.parametrize("silent", [left("a", None), left("a", nodeTopology=None)])
def test_one_that_says_nothing_is_none(silent: Object):
    assert where(silent, left("b")) == ["b"]


def test_one_for_all_nodes_is_anywhere():
    assert where(left("a"), left("b", nodeTopology={})) is None


def test_any_selector_will_do():
    rules = [{"key": ZONE, "operator": "NotIn", "values": ["a"]}, {"key": "disk", "operator": "Exists"}]
    (term,) = need(left("a", nodeTopology={"matchExpressions": rules})).terms or ()
    assert {one.operator for one in term.expressions} == {"NotIn", "Exists"}


def test_the_class_must_allow_the_place_too():
    narrow = (driver(), storage_class(allowedTopologies=[allowed(zone=["b"])]))
    (term,) = need(left("a"), left("b"), others=narrow).terms or ()
    assert sorted(one.values for one in term.expressions) == [("a", "b"), ("b",)]


def test_a_driver_that_does_not_tell_is_not_asked():
    assert where(left("a"), others=(driver(storageCapacity=False), storage_class())) is None
    assert where(left("a"), others=(storage_class(),)) is None


def test_none_at_all_is_a_reason():
    assert need().problem == "its driver has not enough left for it on any node (CSIStorageCapacity)"
    assert need(left("a", "9Gi")).problem == need().problem


def test_a_free_volume_will_do_where_none_can_be_made():
    found = need(left("a"), others=(driver(), storage_class(), free(spec={"nodeAffinity": in_zones("b")})))
    assert (len(found.free), [term.expressions[0].values for term in found.made]) == (1, [("a",)])


def test_a_list_that_is_not_given_is_a_warning_and_nothing_is_asked():
    snapshot = seen(left("a"), unread="csistoragecapacities.storage.k8s.io: the API server refused it")
    assert snapshot.shapes[0].volumes[0].terms is None
    assert [one.code for one in snapshot.warnings] == [Code.LIST_UNREADABLE]
    assert "how much drivers have left is not looked at" in snapshot.warnings[0].text


def test_one_that_does_not_read_is_set_aside_by_name():
    snapshot = seen(left("a"), left("bad", "lots"))
    assert [one.code for one in snapshot.warnings] == [Code.OBJECT_UNREADABLE]
    assert "csistoragecapacity kube-system/bad" in snapshot.warnings[0].text


def test_thousands_of_nodes_are_one_term():
    (term,) = need(*(left(f"n{number}", key=HOST) for number in range(2000))).terms or ()
    assert len(term.expressions[0].values) == 2000


def test_a_new_node_is_bought_where_there_is_some_left():
    zones = [group(one, zones=[f"us-east-1{one}"]) for one in "ab"]
    assert desired(plan_for(waiting(volumes=(need(left("us-east-1b"), left("us-east-1a", "1Gi")),)), *zones)) == {"b": 1}


def test_a_local_driver_has_nothing_on_a_node_that_is_not_there_yet():
    plan = plan_for(waiting(volumes=(need(left("n1", key=HOST)),)), group("g"))
    assert (desired(plan), refusals(plan)) == ({}, {"g": "affinity"})
    assert plan.unserved[0].reasons[0].text == f"has a volume that wants {HOST} in n1"
