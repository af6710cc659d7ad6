"""Auto Scaling groups of a random world, as AWS answers (docs/dump.md): what exists and what each would launch."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spillway.aws import fleet
from spillway.aws.labels import TEMPLATE
from spillway.model.cluster import Taint
from spillway.model.fleet import FleetSnapshot, NodeGroup
from spillway_local.judge.features import Feature
from spillway_local.judge.scene import LABELS, NOW, REGION, WORLD_LABEL, ZONES, Aim, Object, Scene, ago, uid

CLUSTER = "judge"
ACCOUNT = "111122223333"
DAY_S = 86400.0

TAINTS = (
    Taint(key="dedicated", value="batch", effect="NoSchedule"),
    Taint(key="dedicated", value="web", effect="NoExecute"),
    Taint(key="spot", value="", effect="NoSchedule"),
    Taint(key="level", value="5", effect="NoSchedule"),
)
PREFERRED_TAINT = Taint(key="soft", value="yes", effect="PreferNoSchedule")


@dataclass(frozen=True)
class Kind:
    """An instance type: figures of ec2 describe-instance-types, USD an hour in us-east-1."""

    name: str
    cpu: int
    gib: int
    price: float
    interfaces: tuple[int, int]
    gpus: int = 0
    arch: str = "x86_64"


KINDS = (
    Kind("t3.medium", 2, 4, 0.0416, (3, 6)),
    Kind("m5.large", 2, 8, 0.096, (3, 10)),
    Kind("c5.xlarge", 4, 8, 0.17, (4, 15)),
    Kind("m5.xlarge", 4, 16, 0.192, (4, 15)),
    Kind("r5.xlarge", 4, 32, 0.252, (4, 15)),
    Kind("m6g.xlarge", 4, 16, 0.154, (4, 15), arch="arm64"),
    Kind("c5.2xlarge", 8, 16, 0.34, (4, 15)),
    Kind("m5.2xlarge", 8, 32, 0.384, (4, 15)),
)
ACCELERATED = (Kind("g4dn.xlarge", 4, 16, 0.526, (3, 10), 1), Kind("g4dn.12xlarge", 48, 192, 3.912, (8, 30), 4))


def answers(scene: Scene) -> dict[str, Any]:
    """One region with two to six groups and no instances."""
    dice, zones = scene.dice, scene.zones
    kinds = [dice.pick(KINDS) for _ in range(dice.randint(2, 5))]
    if scene.has(Feature.RESOURCES, 0.5):
        kinds.append(dice.pick(ACCELERATED))
    spread = len(zones) > 1 and dice.chance(0.4)
    if spread:
        scene.zone_rule = (dice.pick(("In", "NotIn")), dice.pick(zones))
    found: dict[str, Any] = {
        "AutoScalingGroups": [], "LaunchTemplateVersions": [], "Reservations": [], "Activities": [],
        "InstanceTypes": [_type(kind) for kind in (*KINDS, *ACCELERATED)],
        "OnDemandPrices": {kind.name: kind.price for kind in (*KINDS, *ACCELERATED)},
        "SpotPriceHistory": [],
    }  # fmt: skip
    for number, kind in enumerate(kinds):
        name = scene.named(f"g{number}")
        several = spread and (number == 0 or dice.chance(0.4))
        places = sorted(dice.sample(zones, dice.randint(2, len(zones)))) if several else [dice.pick(zones)]
        _add_group(scene, found, name, kind, places)
    return found


def _add_group(scene: Scene, found: dict[str, Any], name: str, kind: Kind, zones: list[str]) -> None:
    dice = scene.dice
    types = [kind.name]
    if scene.has(Feature.MIXED_TYPES, 0.5) and not kind.gpus:
        types = [one.name for one in dice.some([k for k in KINDS if k.arch == kind.arch], 3)]
    reference = {"LaunchTemplateId": f"lt-{name}", "LaunchTemplateName": name, "Version": "1"}
    data: Object = {"ImageId": "ami-00000001", "InstanceType": types[0]}
    if scene.has(Feature.RESOURCES, 0.5):
        size = dice.pick((20, 50, 100))
        data["BlockDeviceMappings"] = [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": size, "VolumeType": "gp3"}}]
    found["LaunchTemplateVersions"].append({
        **reference, "VersionNumber": 1, "DefaultVersion": True, "CreateTime": ago(30 * DAY_S), "LaunchTemplateData": data,
    })  # fmt: skip
    del found["LaunchTemplateVersions"][-1]["Version"]
    arn = f"arn:aws:autoscaling:{REGION}:{ACCOUNT}:autoScalingGroup:{uid(name)}:autoScalingGroupName/{name}"
    group: Object = {
        "AutoScalingGroupName": name, "AutoScalingGroupARN": arn,
        "MinSize": 0, "MaxSize": 40, "DesiredCapacity": 0, "DefaultCooldown": 300, "AvailabilityZones": zones,
        "HealthCheckType": "EC2", "HealthCheckGracePeriod": 300, "CreatedTime": ago(30 * DAY_S),
        "VPCZoneIdentifier": ",".join(f"subnet-{zone}" for zone in zones), "SuspendedProcesses": [],
        "TerminationPolicies": ["Default"], "NewInstancesProtectedFromScaleIn": False, "Instances": [],
        "Tags": [
            {"Key": key, "Value": value, "ResourceId": name, "ResourceType": "auto-scaling-group", "PropagateAtLaunch": True}
            for key, value in _tags(scene, name, kind).items()
        ],
    }  # fmt: skip
    spot = dice.chance(0.2) and len(types) == 1
    if spot or len(types) > 1:
        distribution = {"OnDemandBaseCapacity": 0, "OnDemandPercentageAboveBaseCapacity": 0 if spot else 100}
        overrides = [{"InstanceType": one} for one in types]
        group["MixedInstancesPolicy"] = {
            "LaunchTemplate": {"LaunchTemplateSpecification": reference, "Overrides": overrides},
            "InstancesDistribution": {**distribution, "OnDemandAllocationStrategy": "prioritized"},
        }
    else:
        group["LaunchTemplate"] = reference
    if spot:
        found["SpotPriceHistory"] += [
            {
                "InstanceType": types[0], "AvailabilityZone": zone, "SpotPrice": f"{kind.price * 0.4:.6f}",
                "ProductDescription": "Linux/UNIX", "Timestamp": ago(3600),
            }
            for zone in zones
        ]  # fmt: skip
    found["AutoScalingGroups"].append(group)


def _tags(scene: Scene, name: str, kind: Kind) -> dict[str, str]:
    dice = scene.dice
    labels = {WORLD_LABEL: scene.prefix, "group": name}
    labels |= {key: dice.pick(values) for key, values in LABELS.items() if dice.chance(0.7)}
    if Feature.TOPOLOGY_SPREAD in scene.features:
        labels[scene.rack] = dice.pick(("r1", "r2", "r3"))
    taints = list(dice.some(TAINTS, 2)) if scene.has(Feature.TAINTS, 0.4) else []
    if scene.has(Feature.TAINTS, 0.5) and kind.gpus:
        taints.append(Taint(key="nvidia.com/gpu", value="", effect="NoSchedule"))
    if scene.has(Feature.PREFERRED, 0.2):
        taints.append(PREFERRED_TAINT)
    resources: dict[str, str] = {}
    if scene.has(Feature.RESOURCES, 0.3):
        resources["pods"] = str(dice.randint(3, 8))
    if scene.has(Feature.RESOURCES, 0.25):
        resources["example.com/fpga"] = str(dice.randint(1, 4))
    if scene.has(Feature.RESOURCES, 0.15):
        resources["hugepages-2Mi"] = f"{dice.pick((64, 128, 512))}Mi"
    tags = {"k8s.io/cluster-autoscaler/enabled": "true", f"k8s.io/cluster-autoscaler/{CLUSTER}": "owned"}
    tags |= {f"{TEMPLATE}label/{key}": value for key, value in labels.items()}
    # One tag for each key: two taints of one key cannot be told by tags.
    tags |= {f"{TEMPLATE}taint/{taint.key}": f"{taint.value}:{taint.effect}" for taint in taints}
    return tags | {f"{TEMPLATE}resources/{key}": value for key, value in resources.items()}


def _type(kind: Kind) -> Object:
    interfaces, addresses = kind.interfaces
    item: Object = {
        "InstanceType": kind.name, "CurrentGeneration": True, "SupportedUsageClasses": ["on-demand", "spot"],
        "Hypervisor": "nitro", "BareMetal": False, "VCpuInfo": {"DefaultVCpus": kind.cpu},
        "MemoryInfo": {"SizeInMiB": kind.gib * 1024}, "ProcessorInfo": {"SupportedArchitectures": [kind.arch]},
        "NetworkInfo": {"MaximumNetworkInterfaces": interfaces, "Ipv4AddressesPerInterface": addresses},
        "EbsInfo": {"MaximumEbsAttachments": 27, "AttachmentLimitType": "shared"},
    }  # fmt: skip
    if kind.gpus:
        item["GpuInfo"] = {"Gpus": [{"Name": "T4", "Count": kind.gpus, "Manufacturer": "NVIDIA"}]}
    return item


def read(found: Mapping[str, Any], now: Any = NOW) -> FleetSnapshot:
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


def add_instance(found: dict[str, Any], group: str, instance: str, kind: str, zone: str, launched_at: str) -> None:
    """An instance in service, and in the group's desired capacity."""
    item = next(one for one in found["AutoScalingGroups"] if one["AutoScalingGroupName"] == group)
    item["DesiredCapacity"] += 1
    item["Instances"].append({
        "InstanceId": instance, "InstanceType": kind, "AvailabilityZone": zone, "LifecycleState": "InService",
        "HealthStatus": "Healthy", "ProtectedFromScaleIn": False,
        "LaunchTemplate": {"LaunchTemplateId": f"lt-{group}", "LaunchTemplateName": group, "Version": "1"},
    })  # fmt: skip
    machine = {
        "InstanceId": instance, "InstanceType": kind, "ImageId": "ami-00000001", "LaunchTime": launched_at,
        "Placement": {"AvailabilityZone": zone, "Tenancy": "default"}, "State": {"Code": 16, "Name": "running"},
        "Tags": [{"Key": "aws:autoscaling:groupName", "Value": group}],
    }  # fmt: skip
    found["Reservations"].append({
        "ReservationId": f"r-{instance}", "OwnerId": ACCOUNT, "Groups": [], "Instances": [machine],
    })  # fmt: skip


def set_limits(scene: Scene, found: dict[str, Any]) -> Object:
    """Groups near their max, and a policy with limits, none of which is by plan: the next plan would go on. Returns the policy
    document."""
    dice, policy = scene.dice, Object()
    if Feature.LIMITS not in scene.features:
        return policy
    for item in found["AutoScalingGroups"]:
        if dice.chance(0.3):
            item["MaxSize"] = item["DesiredCapacity"] + dice.pick((0, 1, 2, 3, 5))
    nodes = sum(item["DesiredCapacity"] for item in found["AutoScalingGroups"])
    if dice.chance(0.25):
        limits = dice.pick(
            ({"nodes": nodes + dice.randint(1, 6)}, {"cpu": str(nodes * 4 + dice.randint(4, 40))},
             {"memory": f"{nodes * 16 + dice.randint(8, 120)}Gi"})
        )  # fmt: skip
        policy["scale_out"] = {"limits": limits}
    if dice.chance(0.2):
        item = dice.pick(found["AutoScalingGroups"])
        policy["groups"] = {item["AutoScalingGroupName"]: {"max": item["DesiredCapacity"] + dice.randint(0, 2)}}
    return policy
