"""Storage objects as JSON, the least that the API would store."""

from typing import Any

from tests.kube.objects import Object

EBS = "ebs.csi.aws.com"
ZONE = "topology.kubernetes.io/zone"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"


def storage_class(name: str = "gp3", *, mode: str = "WaitForFirstConsumer", provisioner: str = EBS, **fields: Any) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    } | fields


def allowed(**labels: list[str]) -> Object:
    """One of a class's allowedTopologies; `zone` for the long key."""
    return {"matchLabelExpressions": [{"key": ZONE if k == "zone" else k, "values": v} for k, v in labels.items()]}


def claim(
    name: str = "data",
    *,
    volume: str = "",
    storage_class: str = "gp3",
    phase: str = "",
    spec: Object | None = None,
    **meta: Any,
) -> Object:
    """Bound to `volume`, or not bound."""
    notes = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": notes} | meta,
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "10Gi"}},
            "storageClassName": storage_class,
        }
        | ({"volumeName": volume} if volume else {})
        | (spec or {}),
        "status": {"phase": phase or ("Bound" if volume else "Pending")},
    }


def in_zones(*zones: str, key: str = ZONE) -> Object:
    """Node affinity with one term for each zone."""
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": [zone]}]} for zone in zones]
    return {"required": {"nodeSelectorTerms": terms}}


def volume(name: str = "pv-1", *, spec: Object | None = None, phase: str = "Bound", handle: str = "", **meta: Any) -> Object:
    """An EBS volume of the CSI driver; bound to the claim `data` unless `spec` says otherwise."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name} | meta,
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "gp3",
            "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": EBS, "volumeHandle": handle or f"vol-{name}"},
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"},
        }
        | (spec or {}),
        "status": {"phase": phase},
    }


def free(name: str = "pv-1", *, spec: Object | None = None, **meta: Any) -> Object:
    """A volume that waits for a claim."""
    return volume(name, spec={"claimRef": None} | (spec or {}), phase="Available", **meta)


def mounts(*claims: str) -> Object:
    """The part of a pod's spec that uses claims."""
    return {"volumes": [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}} for i, name in enumerate(claims)]}


def ephemeral() -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "gp3", "resources": {"requests": {"storage": "1Gi"}}}
    return {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]}


def csi_node(name: str = "n1", annotations: Object | None = None, **limits: int | None) -> Object:
    """`ebs` stands for the EBS driver; None: a driver without a limit."""
    drivers = [
        {"name": EBS if driver == "ebs" else driver, "nodeID": name}
        | ({"allocatable": {"count": limit}} if limit is not None else {})
        for driver, limit in limits.items()
    ]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"drivers": drivers},
    }


def attachment(name: str, volume: str, node: str = "n1", attacher: str = EBS) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": name},
        "spec": {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": volume}},
        "status": {"attached": True},
    }
