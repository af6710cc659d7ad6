"""What comes with a new node, where no kubelet and no DaemonSet controller run: its CSINode, and a pod of each daemon."""

import copy
from collections.abc import Iterable, Sequence

from spillway.model.fleet import NodeGroup
from spillway_local.judge.scene import Object


def company(items: Sequence[Object], group: NodeGroup, node: Object) -> list[Object]:
    """`items` are all objects of the world, whose daemons tolerate everything."""
    return [*_csi_node(items, group, node), *(_pod(one, node) for one in items if one["kind"] == "DaemonSet")]


def _csi_node(items: Iterable[Object], group: NodeGroup, node: Object) -> list[Object]:
    """Its drivers attach as many volumes as on the group's weakest node; without a fellow it has none, and no limit."""
    fellows = [one for one in items if one["kind"] == "CSINode" and one["metadata"]["name"].rpartition("-")[0] == group.name]
    if not fellows:
        return []
    weakest = min(fellows, key=lambda one: int(one["spec"]["drivers"][0]["allocatable"]["count"]))
    name = node["metadata"]["name"]
    drivers = [{**driver, "nodeID": name} for driver in weakest["spec"]["drivers"]]
    return [{"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}}]


def _pod(daemon: Object, node: Object) -> Object:
    meta, name = daemon["metadata"], node["metadata"]["name"]
    template = copy.deepcopy(daemon["spec"]["template"])
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": meta["name"], "uid": meta["uid"], "controller": True}
    created = node["metadata"]["creationTimestamp"]
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": f"{meta['name']}-{name}", "namespace": meta["namespace"], "labels": template["metadata"]["labels"],
            "creationTimestamp": created, "ownerReferences": [owner],
        },
        "spec": {**template["spec"], "priority": 0, "preemptionPolicy": "Never", "nodeName": name},
        "status": {"phase": "Running"},
    }  # fmt: skip
