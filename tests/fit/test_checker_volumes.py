"""The checker knows what volumes say, as the scheduler's volume plugins have it."""

from typing import Any

import pytest

from tests.fit.checker import refused
from tests.fit.manifests import ZONE, node, pod
from tests.fit.test_checker_nodes import why
from tests.kube.storage_objects import (
    allowed,
    attachment,
    claim,
    csi_node,
    ephemeral,
    free,
    in_zones,
    mounts,
    storage_class,
    volume,
)

A, B = node("n1", "a"), node("n2", "b")
BINDING, LIMITS, ALONE = ["VolumeBinding"], ["NodeVolumeLimits"], ["VolumeRestrictions"]
USING = pod(**mounts("data"))


def test_a_bound_volume_is_had_in_its_zone_only() -> None:
    bound = [claim(volume="pv-1"), volume(spec={"nodeAffinity": in_zones("a")})]
    assert why(USING, A, B, *bound) == []
    assert why(USING, A, B, *bound, on="n2") == BINDING


def test_zones_of_an_older_volume_are_in_its_labels_and_bind_nodes_that_have_a_zone() -> None:
    older = [claim(volume="pv-1"), volume(labels={"failure-domain.beta.kubernetes.io/zone": "a__c"})]
    assert why(USING, A, B, *older) == []
    assert why(USING, A, B, *older, on="n2") == BINDING
    nowhere = node("n3")
    del nowhere["metadata"]["labels"][ZONE]
    assert why(USING, nowhere, *older, on="n3") == []


@pytest.mark.parametrize(
    "objects",
    [
        [],
        [claim(phase="Lost", volume="pv-1"), volume()],
        [claim(volume="pv-1")],
        [claim(deletionTimestamp="2026-01-01T00:00:00Z"), storage_class()],
        [claim()],
        [claim(), storage_class(mode="Immediate")],
        [claim(), storage_class(provisioner="kubernetes.io/no-provisioner")],
    ],
    ids=["no claim", "lost", "no volume", "deleted", "no class", "immediate", "made by nobody"],
)
def test_a_volume_that_cannot_be_had_keeps_its_pod_off_every_node(objects: list[Any]) -> None:
    assert why(USING, A, *objects) == BINDING


def test_a_volume_to_be_made_is_had_where_its_class_allows() -> None:
    zoned = [claim(), storage_class(allowedTopologies=[allowed(zone=["b"])])]
    assert why(USING, A, B, *zoned, on="n2") == []
    assert why(USING, A, B, *zoned) == BINDING


def test_a_volume_that_is_free_serves_where_it_is_had() -> None:
    stock = [claim(), storage_class(provisioner="kubernetes.io/no-provisioner"), free(spec={"nodeAffinity": in_zones("a")})]
    assert why(USING, A, B, *stock) == []
    assert why(USING, A, B, *stock, on="n2") == BINDING


def test_the_second_pod_of_a_volume_that_is_made_goes_to_the_zone_of_the_first() -> None:
    one, two = (pod(name, **mounts("data")) for name in "xy")
    objects = [A, B, node("n3", "a"), claim(), storage_class()]
    assert refused(objects, [(one, "n1"), (two, "n3")]) == {}
    assert refused(objects, [(one, "n1"), (two, "n2")]) == {("default", "y"): BINDING}


def test_the_claim_of_an_ephemeral_volume_is_its_own_pods() -> None:
    mine = pod(**ephemeral())
    mine["metadata"]["uid"] = "1"
    owners = [{"uid": "1", "controller": True}]
    assert why(mine, A, claim("p-scratch", ownerReferences=owners), storage_class()) == []
    assert why(mine, A, claim("p-scratch"), storage_class()) == BINDING


def two_volumes() -> list[Any]:
    return [claim("one", volume="pv-1"), volume("pv-1"), claim("two", volume="pv-2"), volume("pv-2")]


def test_a_node_attaches_as_many_volumes_as_its_driver_says() -> None:
    first, second = pod("r", "n1", **mounts("one")), pod(**mounts("two"))
    assert why(second, A, first, *two_volumes(), csi_node(ebs=2)) == []
    assert why(second, A, first, *two_volumes(), csi_node(ebs=1)) == LIMITS
    assert why(second, A, first, *two_volumes(), csi_node(ebs=None)) == []
    assert why(second, A, first, *two_volumes()) == []


def test_a_volume_that_hangs_there_is_attached_once_and_one_without_a_pod_counts() -> None:
    first, again = pod("r", "n1", **mounts("one")), pod(**mounts("one"))
    assert why(again, A, first, *two_volumes(), csi_node(ebs=1)) == []
    assert why(again, A, *two_volumes(), attachment("x", "pv-2"), csi_node(ebs=1)) == LIMITS


def test_a_claim_for_one_pod_is_not_shared_on_any_node() -> None:
    alone = [claim(spec={"accessModes": ["ReadWriteOncePod"]}), storage_class()]
    assert why(USING, A, B, pod("r", "n2", **mounts("data")), *alone) == ALONE
    assert why(USING, A, B, *alone) == []


def test_an_inline_disk_is_one_pods_of_a_node() -> None:
    inline = {"volumes": [{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}]}
    assert why(pod(**inline), A, pod("r", "n1", **inline)) == ALONE
    assert why(pod(**inline), A, B, pod("r", "n2", **inline)) == []
