"""A small cluster in two regions: one group of m5.large in each, and Jobs whose pods take a node each."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from spillway_local.emulator.launches import Timing
from spillway_local.world import World
from spillway_local.world_dump import RawDump

EAST, WEST = "us-east-1", "us-west-2"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTER = "prod"
TAKEN = "i-0a"
POLICY: Mapping[str, Any] = {
    "regions": [EAST, WEST],
    "may_be_empty": True,
    "scale_in": {"idle_s": 120, "unneeded_s": 120, "budgets": [{"nodes": "100%"}]},
}


def pod(name: str, cpu: str = "1500m", namespace: str = "default") -> dict[str, Any]:
    """A pending pod of a Job, unschedulable as the scheduler would have said."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"job-{name}", "controller": True}
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": "2025-12-31T23:59:00Z"}
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": namespace, "uid": f"uid-{name}", "creationTimestamp": "2025-12-31T23:59:00Z",
            "labels": {"app": "train"}, "ownerReferences": [owner],
        },
        "spec": {
            "schedulerName": "default-scheduler", "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "train", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}],
        },
        "status": {"phase": "Pending", "conditions": [why]},
    }  # fmt: skip


def group(region: str, name: str = "cpu", low: int = 0, high: int = 10, zones: str = "a") -> dict[str, Any]:
    tags = {
        "k8s.io/cluster-autoscaler/enabled": "true", f"k8s.io/cluster-autoscaler/{CLUSTER}": "owned",
        "k8s.io/cluster-autoscaler/node-template/resources/cpu": "1900m",
        "k8s.io/cluster-autoscaler/node-template/resources/memory": "7Gi",
        "k8s.io/cluster-autoscaler/node-template/resources/pods": "29",
    }  # fmt: skip
    return {
        "AutoScalingGroupName": name, "MinSize": low, "MaxSize": high, "DesiredCapacity": low,
        "AvailabilityZones": [f"{region}{zone}" for zone in zones], "Instances": [],
        "LaunchTemplate": {"LaunchTemplateId": f"lt-{name}", "LaunchTemplateName": f"{name}-nodes", "Version": "1"},
        "DefaultCooldown": 300, "HealthCheckType": "EC2", "CreatedTime": "2025-01-01T00:00:00Z",
        "Tags": [
            {"ResourceId": name, "ResourceType": "auto-scaling-group", "Key": key, "Value": value, "PropagateAtLaunch": True}
            for key, value in tags.items()
        ],
    }  # fmt: skip


def node(instance_id: str) -> dict[str, Any]:
    """Of a machine of the group at home that is in service for long."""
    labels = {"topology.kubernetes.io/zone": f"{EAST}a", "node.kubernetes.io/instance-type": "m5.large"}
    amounts = {"cpu": "1900m", "memory": "7Gi", "pods": "29"}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": f"{instance_id}.{EAST}.compute.internal", "uid": f"uid-{instance_id}", "labels": labels,
            "creationTimestamp": "2025-12-01T00:00:00Z",
        },
        "spec": {"providerID": f"aws:///{EAST}a/{instance_id}"},
        "status": {
            "allocatable": amounts, "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2025-12-01T00:01:00Z"}],
        },
    }  # fmt: skip


def running(name: str, node_name: str, cpu: str = "400m") -> dict[str, Any]:
    """A pod of a ReplicaSet, which may be moved."""
    one = pod(name, cpu)
    one["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs-web", "controller": True}
    ]
    one["spec"] |= {"nodeName": node_name, "restartPolicy": "Always"}
    one["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return one


def region(*groups: Mapping[str, Any], price: float = 0.096) -> dict[str, Any]:
    templates = [
        {"LaunchTemplateId": f"lt-{one['AutoScalingGroupName']}", "LaunchTemplateName": f"{one['AutoScalingGroupName']}-nodes",
         "VersionNumber": 1, "DefaultVersion": True, "LaunchTemplateData": {"InstanceType": "m5.large"}}
        for one in groups
    ]  # fmt: skip
    return {"AutoScalingGroups": list(groups), "LaunchTemplateVersions": templates, "OnDemandPrices": {"m5.large": price}}


def world(
    pods: int | Sequence[Mapping[str, Any]] = 4, policy: Mapping[str, Any] | None = None, boot_s: float = 45.0, **options: Any
) -> World:
    """Pods that wait; at home there is capacity for two machines only, unless `capacity` says otherwise."""
    waiting = [pod(f"train-{n}") for n in range(pods)] if isinstance(pods, int) else pods
    raw = RawDump(
        cluster=CLUSTER, home=EAST, now=NOW, objects=tuple(waiting),
        answers={EAST: region(group(EAST)), WEST: region(group(WEST), price=0.106)},
        policy={**POLICY, **(policy or {})},
    )  # fmt: skip
    options.setdefault("capacity", {(EAST, "m5.large"): 2})
    return World(raw, timing=Timing(boot_s=boot_s), **options)


def two_half_empty(policy: Mapping[str, Any] | None = None, **options: Any) -> World:
    """Two machines at home with a small pod each: the pods of one have room on the other."""
    ids = (TAKEN, "i-0b")
    nodes = [node(instance_id) for instance_id in ids]
    pods = [running(f"web-{n}", one["metadata"]["name"]) for n, one in enumerate(nodes)]
    members = [
        {"InstanceId": one, "AvailabilityZone": f"{EAST}a", "LifecycleState": "InService", "InstanceType": "m5.large"}
        for one in ids
    ]
    home = group(EAST) | {"DesiredCapacity": 2, "Instances": members}
    raw = RawDump(
        cluster=CLUSTER, home=EAST, now=NOW, objects=(*nodes, *pods),
        answers={EAST: region(home), WEST: region(group(WEST), price=0.106)}, policy={**POLICY, **(policy or {})},
    )  # fmt: skip
    return World(raw, **options)
