"""Volumes of random pods: bound in a zone, bound where the first consumer goes, and too many for a node."""

from collections.abc import Sequence

from spillway_local.judge.features import Feature
from spillway_local.judge.scene import ZONE, ZONES, Object, Scene, ago, uid

DRIVER = "judge.csi.spillway.io"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"  # without it the scheduler takes a claim for unbound


def classes(scene: Scene) -> list[Object]:
    """One class that waits for its first consumer in any zone, one that allows a single zone."""
    if Feature.VOLUMES not in scene.features:
        return []
    allowed = {"key": ZONE, "values": _zones(scene)}
    return [
        {
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": scene.named(name)},
            "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Delete",
        } | ({"allowedTopologies": [{"matchLabelExpressions": [allowed]}]} if zoned else {})
        for name, zoned in (("anywhere", False), ("zoned", True))
    ]  # fmt: skip


def of_nodes(scene: Scene, nodes: Sequence[Object]) -> list[Object]:
    """How many volumes each node may attach."""
    if Feature.VOLUMES not in scene.features:
        return []
    return [
        {
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": node["metadata"]["name"]},
            "spec": {"drivers": [{
                "name": DRIVER, "nodeID": node["metadata"]["name"], "topologyKeys": [ZONE],
                "allocatable": {"count": scene.dice.randint(1, 4)},
            }]},
        }
        for node in nodes
    ]  # fmt: skip


def claim(scene: Scene, namespace: str, name: str) -> list[Object]:
    """A claim, with the volume that it is bound to where it is."""
    dice = scene.dice
    mode = "ReadWriteOncePod" if dice.chance(0.2) else "ReadWriteOnce"
    size = {"storage": "10Gi"}
    spec: Object = {"accessModes": [mode], "resources": {"requests": size}, "volumeMode": "Filesystem"}
    meta: Object = {
        "name": name,
        "namespace": namespace,
        "uid": uid(f"claim/{namespace}/{name}"),
        "creationTimestamp": ago(7200),
    }
    if dice.chance(0.5):
        spec["storageClassName"] = scene.named(dice.pick(("anywhere", "zoned")))
        return [
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": meta,
                "spec": spec,
                "status": {"phase": "Pending"},
            }
        ]
    spec |= {"storageClassName": scene.named("anywhere"), "volumeName": name}
    meta["annotations"] = {BIND_COMPLETED: "yes"}
    bound = {"phase": "Bound", "accessModes": [mode], "capacity": size}
    whole = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec, "status": bound}
    return [whole, volume_for(whole, _zones(scene))]


def _zones(scene: Scene) -> list[str]:
    """Of a volume. Where groups have several zones it keeps to the world's rule on zones, as its pod does: `closed_zones`."""
    operator, zone = scene.zone_rule or ("In", scene.dice.pick(scene.zones))
    return [zone] if operator == "In" else [one for one in ZONES if one != zone]


def volume_for(claim: Object, zones: list[str]) -> Object:
    """A volume of those zones, bound to the claim."""
    meta, spec = claim["metadata"], claim["spec"]
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": zones}]}
    owner = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": meta["namespace"], "name": meta["name"]}
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": meta["name"]},
        "spec": {
            "capacity": spec["resources"]["requests"], "accessModes": spec["accessModes"], "volumeMode": "Filesystem",
            "storageClassName": spec["storageClassName"], "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": DRIVER, "volumeHandle": f"vol-{meta['name']}"}, "claimRef": {**owner, "uid": meta["uid"]},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
        "status": {"phase": "Bound"},
    }  # fmt: skip


def mount(spec: Object, name: str) -> None:
    spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
