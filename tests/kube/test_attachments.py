"""How many volumes a node may attach, and which hang on it already."""

import pytest

from spillway.model.cluster import Node
from tests.kube.objects import Object, node, pod, snapshot_of
from tests.kube.storage_objects import EBS, attachment, claim, csi_node, mounts, volume

pytestmark = pytest.mark.feature("CS-08")


def read(*objects: Object) -> Node:
    (found,) = snapshot_of(node("n1"), *objects).nodes
    return found


def driver(name: str, **spec: object) -> Object:
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}


def test_limits_are_by_driver():
    assert read(csi_node(ebs=25, other=None)).attach_limits == {EBS: 25}


def test_a_node_without_a_csinode_has_none_yet():
    assert read(csi_node("n2", ebs=25)).attach_limits == {}


def test_a_driver_that_keeps_pods_off_nodes_without_it_attaches_none_there():
    asks, takes_all = driver(EBS, preventPodSchedulingIfMissing=True), driver("other")
    assert read(asks, takes_all).attach_limits == {EBS: 0}
    assert read(asks, csi_node(other=None)).attach_limits == {EBS: 0}
    assert read(asks, csi_node(ebs=None)).attach_limits == {}


def test_volumes_of_pods_that_are_gone_still_hang_on_the_node():
    hanging = [volume("pv-1"), volume("pv-2"), attachment("a1", "pv-1"), attachment("a2", "pv-2")]
    assert read(*hanging).attached == {EBS: 2}


def test_those_of_pods_on_the_node_are_counted_with_the_pods():
    own = [pod("web-0", node="n1", spec=mounts("data")), claim(volume="pv-1")]
    assert read(*own, volume("pv-1"), volume("pv-2"), attachment("a1", "pv-1"), attachment("a2", "pv-2")).attached == {EBS: 1}


def test_a_pod_elsewhere_does_not_explain_them():
    moved = [pod("web-0", node="n2", spec=mounts("data")), claim(volume="pv-1")]
    assert read(*moved, volume("pv-1"), attachment("a1", "pv-1")).attached == {EBS: 1}


@pytest.mark.parametrize(
    "other",
    [
        attachment("a1", "gone"),
        attachment("a1", "pv-1", node="n2"),
        attachment("a1", "pv-1", attacher=""),
        attachment("a1", "old"),
        {**attachment("a1", "pv-1"), "spec": {"attacher": EBS, "nodeName": "n1", "source": {"inlineVolumeSpec": {}}}},
    ],
    ids=["its volume is gone", "another node", "no attacher", "in-tree", "inline"],
)
def test_what_the_scheduler_does_not_count_is_not_counted(other: Object):
    old = volume("old", spec={"csi": None, "awsElasticBlockStore": {"volumeID": "vol-0a"}})
    assert read(volume("pv-1"), old, other).attached == {}
