"""Instances of a random world's groups: where they come, and how AWS then tells of them."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from spillway.aws import fleet
from spillway.model.fleet import FleetSnapshot, NodeGroup
from spillway_local.judge.groups import ACCOUNT, template_id
from spillway_local.judge.instance_types import ACCELERATED, KINDS
from spillway_local.judge.scene import CLUSTER, NOW, REGION, TYPE, ZONE, ZONES, Aim, Scene


def read(found: Mapping[str, Any], now: datetime = NOW) -> FleetSnapshot:
    """The fleet as our own decoder reads it. Raises ValueError for a group that it cannot: the generator is wrong then."""
    snapshot = fleet.reduce(CLUSTER, REGION, now, {REGION: found})
    if snapshot.warnings:
        raise ValueError(f"AWS would not answer like this: {snapshot.warnings}")
    return snapshot


def aim_of(group: NodeGroup) -> Aim:
    if group.template is None:
        raise ValueError(f"group {group.key} has no template: {group.problem}")
    return Aim(group.template.labels, group.template.taints, group.template.allocatable, group.zones)


def launch_zones(group: NodeGroup, number: int, closed: Sequence[str]) -> list[str]:
    """The zones of the next `number` instances: even between those of the group's that AWS has room in."""
    zones = [zone for zone in group.zones if zone not in closed] or list(group.zones)
    have = Counter(instance.zone for instance in group.instances)
    found = []
    for _ in range(number):
        zone = min(zones, key=lambda one: (have[one], one))
        have[zone] += 1
        found.append(zone)
    return found


def closed_zones(scene: Scene) -> tuple[str, ...]:
    """Where AWS has no room for groups that have another zone.

    A group of several zones is used only for pods that all of its zones suit. Were such an instance to land in the very
    zone that another pod waits for, that pod would be bound by luck, and a judge could not tell it from room that the
    plan had left unused. So launches keep to zones that do not suit the world's `zone_rule`.
    """
    if scene.zone_rule is None:
        return ()
    operator, zone = scene.zone_rule
    return (zone,) if operator == "In" else tuple(other for other in ZONES if other != zone)


def instance_id(node: str) -> str:
    return f"i-{hashlib.sha256(node.encode()).hexdigest()[:17]}"


def add_instance(found: dict[str, Any], group: str, node: Mapping[str, Any]) -> None:
    """The instance behind a node: in service since the node is there, and in the group's desired capacity."""
    meta = node["metadata"]
    instance, kind, zone = instance_id(meta["name"]), meta["labels"][TYPE], meta["labels"][ZONE]
    arch = next(one.arch for one in (*KINDS, *ACCELERATED) if one.name == kind)
    template = {"LaunchTemplateId": template_id(group, arch), "LaunchTemplateName": f"{group}-{arch}", "Version": "1"}
    item = next(one for one in found["AutoScalingGroups"] if one["AutoScalingGroupName"] == group)
    item["DesiredCapacity"] += 1
    item["Instances"].append({
        "InstanceId": instance, "InstanceType": kind, "AvailabilityZone": zone, "LifecycleState": "InService",
        "HealthStatus": "Healthy", "ProtectedFromScaleIn": False,
        "LaunchTemplate": template,
    })  # fmt: skip
    machine = {
        "InstanceId": instance, "InstanceType": kind, "ImageId": "ami-00000001", "LaunchTime": meta["creationTimestamp"],
        "Placement": {"AvailabilityZone": zone, "Tenancy": "default"}, "State": {"Code": 16, "Name": "running"},
        "Tags": [{"Key": "aws:autoscaling:groupName", "Value": group}],
    }  # fmt: skip
    found["Reservations"].append({
        "ReservationId": f"r-{instance}", "OwnerId": ACCOUNT, "Groups": [], "Instances": [machine],
    })  # fmt: skip
