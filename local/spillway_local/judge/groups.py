"""Auto Scaling groups of a random world, as AWS answers (docs/dump.md): what exists and what each would launch."""

from collections.abc import Sequence
from typing import Any

from spillway.aws.labels import TEMPLATE
from spillway.model.cluster import Taint
from spillway_local.judge.features import Feature
from spillway_local.judge.instance_types import ACCELERATED, KINDS, Kind, described, prices
from spillway_local.judge.scene import CAPACITY_TYPE, CLUSTER, LABELS, REGION, WORLD_LABEL, Object, Scene, ago, uid

ACCOUNT = "111122223333"
DAY_S = 86400.0

TAINTS = (
    Taint(key="dedicated", value="batch", effect="NoSchedule"),
    Taint(key="dedicated", value="web", effect="NoExecute"),
    Taint(key="spot", value="", effect="NoSchedule"),
    Taint(key="level", value="5", effect="NoSchedule"),
)
PREFERRED_TAINT = Taint(key="soft", value="yes", effect="PreferNoSchedule")


def answers(scene: Scene) -> dict[str, Any]:
    """One region with two to six groups and no instances."""
    dice, zones = scene.dice, scene.zones
    kinds = [dice.pick(KINDS) for _ in range(dice.randint(2, 5))]
    if scene.has(Feature.RESOURCES, 0.5):
        kinds.append(dice.pick(ACCELERATED))
    spread = len(zones) > 1 and dice.chance(0.6)
    found: dict[str, Any] = {
        "AutoScalingGroups": [], "LaunchTemplateVersions": [], "Reservations": [], "Activities": [],
        "InstanceTypes": described(),
        "OnDemandPrices": prices(),
        "SpotPriceHistory": [],
    }  # fmt: skip
    for number, kind in enumerate(kinds):
        name = scene.named(f"g{number}")
        several = spread and (number == 0 or dice.chance(0.4))
        places = sorted(dice.sample(zones, dice.randint(2, len(zones)))) if several else [dice.pick(zones)]
        if several and scene.zone_rule is None:
            scene.zone_rule = (dice.pick(("In", "NotIn")), dice.pick(places))
        _add_group(scene, found, name, kind, places)
    return found


def _add_group(scene: Scene, found: dict[str, Any], name: str, kind: Kind, zones: list[str]) -> None:
    dice = scene.dice
    kinds = [kind]
    if scene.has(Feature.MIXED_TYPES, 0.5) and kind in KINDS:
        kinds += dice.some([other for other in KINDS if other != kind], 2)
    data: Object = {"ImageId": "ami-00000001", "InstanceType": kind.name}
    if scene.has(Feature.RESOURCES, 0.5):
        size = dice.pick((20, 50, 100))
        data["BlockDeviceMappings"] = [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": size, "VolumeType": "gp3"}}]
    found["LaunchTemplateVersions"] += [
        {
            **_reference(name, arch), "VersionNumber": 1, "DefaultVersion": True, "CreateTime": ago(30 * DAY_S),
            "LaunchTemplateData": data | {"ImageId": f"ami-{arch}"},
        }
        for arch in dict.fromkeys(one.arch for one in kinds)
    ]  # fmt: skip
    spot = dice.chance(0.2) and len(kinds) == 1
    group = _group(name, zones, _tags(scene, name, kind, spot))
    if spot or len(kinds) > 1:
        group["MixedInstancesPolicy"] = _mixed(name, kinds, spot)
    else:
        group["LaunchTemplate"] = {**_reference(name, kind.arch), "Version": "1"}
    if spot:
        found["SpotPriceHistory"] += [
            {
                "InstanceType": kind.name, "AvailabilityZone": zone, "SpotPrice": f"{kind.price * 0.4:.6f}",
                "ProductDescription": "Linux/UNIX", "Timestamp": ago(3600),
            }
            for zone in zones
        ]  # fmt: skip
    found["AutoScalingGroups"].append(group)


def _group(name: str, zones: list[str], tags: dict[str, str]) -> Object:
    arn = f"arn:aws:autoscaling:{REGION}:{ACCOUNT}:autoScalingGroup:{uid(name)}:autoScalingGroupName/{name}"
    return {
        "AutoScalingGroupName": name, "AutoScalingGroupARN": arn,
        "MinSize": 0, "MaxSize": 40, "DesiredCapacity": 0, "DefaultCooldown": 300, "AvailabilityZones": zones,
        "HealthCheckType": "EC2", "HealthCheckGracePeriod": 300, "CreatedTime": ago(30 * DAY_S),
        "VPCZoneIdentifier": ",".join(f"subnet-{zone}" for zone in zones), "SuspendedProcesses": [],
        "TerminationPolicies": ["Default"], "NewInstancesProtectedFromScaleIn": False, "Instances": [],
        "Tags": [
            {"Key": key, "Value": value, "ResourceId": name, "ResourceType": "auto-scaling-group", "PropagateAtLaunch": True}
            for key, value in tags.items()
        ],
    }  # fmt: skip


def _reference(group: str, arch: str) -> dict[str, str]:
    """The launch template for its types of one architecture, which an image has."""
    return {"LaunchTemplateId": template_id(group, arch), "LaunchTemplateName": f"{group}-{arch}"}


def template_id(group: str, arch: str) -> str:
    return f"lt-{group}-{arch}"


def _mixed(name: str, kinds: Sequence[Kind], spot: bool) -> Object:
    share = 0 if spot else 100
    templates = [{**_reference(name, one.arch), "Version": "1"} for one in kinds]
    overrides = [
        {"InstanceType": one.name, "LaunchTemplateSpecification": template}
        for one, template in zip(kinds, templates, strict=True)
    ]
    return {
        "LaunchTemplate": {"LaunchTemplateSpecification": templates[0], "Overrides": overrides},
        "InstancesDistribution": {
            "OnDemandBaseCapacity": 0, "OnDemandPercentageAboveBaseCapacity": share,
            "OnDemandAllocationStrategy": "prioritized",
        },
    }  # fmt: skip


def _tags(scene: Scene, name: str, kind: Kind, spot: bool) -> dict[str, str]:
    dice = scene.dice
    labels = {WORLD_LABEL: scene.prefix, "group": name, CAPACITY_TYPE: "SPOT" if spot else "ON_DEMAND"}
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
    tags |= {f"{TEMPLATE}taint/{taint.key}": f"{taint.value}:{taint.effect}" for taint in taints}
    return tags | {f"{TEMPLATE}resources/{key}": value for key, value in resources.items()}


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
