"""Kubernetes objects as JSON, the least that the API would store, for tests that read them."""

import json
from datetime import UTC, datetime
from typing import Any

from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.cluster import ClusterSnapshot, PodSet, PodShape

NOW = datetime(2026, 1, 1, tzinfo=UTC)
Object = dict[str, Any]


def pod(
    name: str = "web-0", *, node: str = "", cpu: str = "", phase: str = "", spec: Object | None = None, **meta: Any
) -> Object:
    """Waiting and judged unschedulable, or running on `node`."""
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}} if cpu else {}}
    status: Object = {"phase": phase or ("Running" if node else "Pending")}
    if not node:
        status["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": "2025-12-31T23:50:00Z"} | meta,
        "spec": {"containers": [container]} | ({"nodeName": node} if node else {}) | (spec or {}),
        "status": status,
    }


def node(
    name: str = "n1", *, zone: str = "us-east-1a", instance: str = "i-0a", spec: Object | None = None, **meta: Any
) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "creationTimestamp": "2025-12-31T20:00:00Z"} | meta,
        "spec": {"providerID": f"aws:///{zone}/{instance}"} | (spec or {}),
        "status": {
            "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2025-12-31T20:01:00Z"}],
        },
    }


def budget(name: str = "web", **labels: str) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}},
    }


def daemon_of(name: str = "agent") -> list[Object]:
    return [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "uid": name, "controller": True}]


def listed(*objects: Object, kind: str = "List") -> bytes:
    return json.dumps({"kind": kind, "apiVersion": "v1", "metadata": {}, "items": objects}).encode()


def snapshot_of(*objects: Object) -> ClusterSnapshot:
    found = Objects()
    found.add(listed(*objects))
    return reduce(found, cluster="test", taken_at=NOW)


def shape_of(one: Object, *others: Object) -> PodShape:
    """The shape of a pod in a cluster that also holds `others`."""
    return shape_in(snapshot_of(one, *others), one["metadata"]["name"])


def shape_in(seen: ClusterSnapshot, name: str) -> PodShape:
    """That of the pod of this name."""
    return next(shape for shape in seen.shapes if shape.id == set_of(seen, name).shape)


def set_of(seen: ClusterSnapshot, name: str) -> PodSet:
    return next(pods for pods in seen.pods if name in pods.names)
