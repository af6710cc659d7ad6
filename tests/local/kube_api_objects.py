"""Builders of Kubernetes objects, and an open cluster with a client, for the tests of the fake API server."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from kubernetes import client

from spillway_local.clock import VirtualClock
from spillway_local.kube_api import Cluster, FakeCluster, Timing

START = datetime(2026, 1, 1, tzinfo=UTC)
Object = dict[str, Any]
Opened = tuple[Cluster, client.CoreV1Api]


def new_cluster(**options: Any) -> FakeCluster:
    """Not started: for what needs no HTTP."""
    return FakeCluster(VirtualClock(START), **options)


def client_of(cluster: Cluster) -> client.ApiClient:
    configuration = client.Configuration(host=cluster.url)
    configuration.retries = False
    api = client.ApiClient(configuration)
    api.set_default_header("Authorization", f"Bearer {cluster.token}")
    return api


def until(cluster: Cluster, kind: str, name: str, holds: Callable[[Object], bool]) -> Object:
    """The object as soon as something holds of it: on a real cluster a controller brings that about a moment later."""
    seen: list[Object] = []
    come = threading.Event()

    def look(what: str, obj: Object) -> None:
        if what != "DELETED" and obj["metadata"]["name"] == name and holds(obj):
            seen.append(obj)
            come.set()

    end = cluster.watch(kind, look)
    try:
        assert come.wait(30), f"{kind} {name} has not come to that: {cluster.get(kind, name)}"
    finally:
        end()
    return seen[0]


def node(name: str, cpu: str = "4", memory: str = "16Gi", pods: int = 110, **spec: Any) -> Object:
    labels = spec.pop("labels", {})
    allocatable = {"cpu": cpu, "memory": memory, "pods": str(pods), **spec.pop("devices", {})}
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": {"allocatable": allocatable}}


def pod(name: str, cpu: str = "500m", memory: str = "1Gi", **spec: Any) -> Object:
    """`labels`, `annotations`, `namespace`, `owner` and `status` go where they belong, all else into the spec."""
    metadata = {"name": name, "namespace": spec.pop("namespace", "default"), "labels": spec.pop("labels", {})}
    metadata["annotations"] = spec.pop("annotations", {})
    if owner := spec.pop("owner", None):
        metadata["ownerReferences"] = [owner]
    requests = {"cpu": cpu, "memory": memory, **spec.pop("devices", {})}
    status = spec.pop("status", {})
    containers = [{"name": "main", "image": "app", "resources": {"requests": requests}}]
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}
    return body | {"status": status} if status else body


def running(name: str, on: str, **more: Any) -> Object:
    """A pod that runs and is Ready."""
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return pod(name, nodeName=on, status=ready, **more)


def budget(name: str, app: str, **spec: Any) -> Object:
    spec["selector"] = {"matchLabels": {"app": app}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}


def replica_set(name: str, replicas: int, **labels: str) -> Object:
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "app"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": spec}


def daemon_set(name: str) -> Object:
    template = {"metadata": {"labels": {"of": name}}, "spec": {"containers": [{"name": "main", "image": "app"}]}}
    spec = {"selector": {"matchLabels": {"of": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}, "spec": spec}


def owned_by(made: Object) -> Object:
    """A controller that is in the cluster, as the owner reference of its pods names it."""
    name, uid = made["metadata"]["name"], made["metadata"]["uid"]
    return {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": name, "uid": uid, "controller": True}


def owner(kind: str, name: str, api_version: str = "apps/v1") -> Object:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


def timing(**seconds: Any) -> Timing:
    return Timing(**seconds)
