"""Volumes of random pods: bound in a zone, bound where the first consumer goes, too many for a node, or not to be had."""

from collections.abc import Sequence

from spillway_local.judge.features import Feature
from spillway_local.judge.scene import REGION, ZONE, ZONES, Dice, Object, Scene, ago, uid

DRIVER = "judge.csi.spillway.io"
WAITS = "WaitForFirstConsumer"
NOWHERE = f"{REGION}z"
UNMET = ("at-once", "unknown")  # classes of which one has no volume yet, and one is not there
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"  # without it the scheduler takes a claim for unbound


def classes(scene: Scene) -> list[Object]:
    """One class that waits for its first consumer in any zone, one that allows some zones, and one that binds at once."""
    if Feature.VOLUMES not in scene.features:
        return []
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": [zone]}]} for zone in (*_zones(scene), NOWHERE)]
    return [
        {
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": scene.named(name)},
            "provisioner": DRIVER, "volumeBindingMode": mode, "reclaimPolicy": "Delete",
        } | ({"allowedTopologies": allowed} if name == "zoned" else {})
        for name, mode in (("anywhere", WAITS), ("zoned", WAITS), ("at-once", "Immediate"))
    ] + _free(scene)  # fmt: skip


def _free(scene: Scene) -> list[Object]:
    """A class that makes no volumes, and some that wait for a claim of it."""
    if Feature.FREE_VOLUMES not in scene.features:
        return []
    made: list[Object] = [{
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": scene.named("static")},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": WAITS, "reclaimPolicy": "Retain",
    }]  # fmt: skip
    for number in range(scene.dice.randint(1, 6)):
        meta = {"name": scene.named(f"free-{number}"), "namespace": "", "uid": ""}
        spec = {
            "resources": {"requests": {"storage": scene.dice.pick(("10Gi", "20Gi"))}}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": scene.named("static"),
        }  # fmt: skip
        volume = volume_for({"metadata": meta, "spec": spec}, _zones(scene))
        del volume["spec"]["claimRef"], volume["spec"]["csi"]
        volume["spec"]["local"] = {"path": "/disk"}
        volume["spec"]["persistentVolumeReclaimPolicy"] = "Retain"
        volume["status"]["phase"] = "Available"
        made.append(volume)
    return made


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
    """A claim, with the volume that it is bound to where it is; now and then one that cannot be met, or none at all."""
    dice = scene.dice
    if dice.chance(0.03):
        return []
    mode = "ReadWriteOncePod" if dice.chance(0.2) else "ReadWriteOnce"
    size = {"storage": "10Gi"}
    spec: Object = {"accessModes": [mode], "resources": {"requests": size}, "volumeMode": "Filesystem"}
    meta: Object = {
        "name": name,
        "namespace": namespace,
        "uid": uid(f"claim/{namespace}/{name}"),
        "creationTimestamp": ago(7200),
    }
    if scene.has(Feature.FREE_VOLUMES, 0.4):
        asked = {"storageClassName": scene.named("static"), "resources": {"requests": {"storage": dice.pick(("5Gi", "15Gi"))}}}
        unbound = spec | asked | {"accessModes": ["ReadWriteOnce"]}
        return [{
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": unbound,
            "status": {"phase": "Pending"},
        }]  # fmt: skip
    if dice.chance(0.5):
        spec["storageClassName"] = scene.named(dice.pick(("anywhere", "anywhere", "zoned", "zoned", "zoned", *UNMET)))
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
    return [whole, _elsewise(dice, volume_for(whole, _zones(scene)))]


def is_shared(scene: Scene, name: str) -> bool:
    """Whether all pods of that name share one claim, and have no other."""
    if Feature.SHARED_VOLUMES not in scene.features:
        return False
    return scene.shared_claims.setdefault(name, scene.dice.chance(0.4))


def shared_claim(scene: Scene, namespace: str, name: str) -> list[Object]:
    """A claim that waits for the first of its pods."""
    return [{
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name, "namespace": namespace, "uid": uid(f"claim/{namespace}/{name}"), "creationTimestamp": ago(7200),
        },
        "spec": {
            "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "10Gi"}}, "volumeMode": "Filesystem",
            "storageClassName": scene.named("anywhere"),
        },
        "status": {"phase": "Pending"},
    }]  # fmt: skip


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


def _elsewise(dice: Dice, volume: Object) -> Object:
    """The same zones, at times said by alternatives or by the label that older volumes have."""
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    (expression,) = term["matchExpressions"]
    if dice.chance(0.3):
        apart = [{"matchExpressions": [{**expression, "values": [zone]}]} for zone in (NOWHERE, *expression["values"])]
        volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] = apart
    if dice.chance(0.3):
        volume["metadata"]["labels"] = {ZONE: "__".join(expression["values"])}
        if dice.chance(0.5):
            del volume["spec"]["nodeAffinity"]
    return volume


def mount(spec: Object, names: Sequence[str]) -> None:
    spec["volumes"] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    spec["containers"][0]["volumeMounts"] = [{"name": name, "mountPath": f"/{name}"} for name in names]
