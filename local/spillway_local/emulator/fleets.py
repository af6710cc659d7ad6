"""Groups, launch templates and running machines of a region, made in moto from AWS's answers about a real one."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from moto.autoscaling.models import autoscaling_backends
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.utils import camelcase_to_underscores
from moto.eks.models import eks_backends

from spillway.aws import clients
from spillway_local.emulator.launches import Launches

Answers = Mapping[str, Any]
_IMAGE = "ami-00000000000000001"
_KEPT = frozenset({
    "AvailabilityZoneDistribution", "CapacityRebalance", "InstanceMaintenancePolicy", "MaxInstanceLifetime", "Status",
    "WarmPoolSize",
})  # fmt: skip
_ROLE = f"arn:aws:iam::{DEFAULT_ACCOUNT_ID}:role/nodes"


def build(region: str, answers: Answers, launches: Launches) -> None:
    """`answers` by top-level key, as a dump has them. Machines that run stay under their ids; the rest is launched."""
    names = _templates(region, answers)
    _configurations(region, answers)
    machines = {
        machine["InstanceId"]: machine
        for reservation in answers.get("Reservations", ())
        for machine in reservation.get("Instances", ())
    }
    for item in answers.get("AutoScalingGroups", ()):
        pool = answers.get("WarmPools", {}).get(item["AutoScalingGroupName"], {})
        _group(region, item, names, machines, pool.get("Instances", ()), launches)
    for answer in answers.get("Nodegroups", ()):
        _nodegroup(region, answer["nodegroup"])


def backend_group(region: str, name: str) -> Any:
    """moto's own object."""
    return autoscaling_backends[DEFAULT_ACCOUNT_ID][region].autoscaling_groups[name]


def _templates(region: str, answers: Answers) -> dict[tuple[str, str], tuple[str, str]]:
    """(id or name, version) as the answers have them -> (name, version) as moto has them."""
    ec2 = clients.client("ec2", region)
    allowed = ec2.meta.service_model.shape_for("RequestLaunchTemplateData").members
    known: dict[str, int] = {}
    names: dict[tuple[str, str], tuple[str, str]] = {}
    for item in sorted(answers.get("LaunchTemplateVersions", ()), key=lambda item: int(item["VersionNumber"])):
        name = item.get("LaunchTemplateName") or item["LaunchTemplateId"]
        data = {"ImageId": _IMAGE} | {key: value for key, value in item["LaunchTemplateData"].items() if key in allowed}
        make = ec2.create_launch_template_version if name in known else ec2.create_launch_template
        make(LaunchTemplateName=name, LaunchTemplateData=data)
        known[name] = known.get(name, 0) + 1
        if item.get("DefaultVersion"):
            ec2.modify_launch_template(LaunchTemplateName=name, DefaultVersion=str(known[name]))
        for reference in (item.get("LaunchTemplateId"), name):
            if reference:
                names[reference, str(item["VersionNumber"])] = name, str(known[name])
                names[reference, "$Latest"] = name, "$Latest"
                names[reference, "$Default"] = name, "$Default"
    return names


def _configurations(region: str, answers: Answers) -> None:
    for item in answers.get("LaunchConfigurations", ()):
        fields = {key: item[key] for key in ("InstanceType", "SpotPrice", "BlockDeviceMappings") if item.get(key)}
        clients.client("autoscaling", region).create_launch_configuration(
            LaunchConfigurationName=item["LaunchConfigurationName"], ImageId=_IMAGE, **fields
        )


def _group(
    region: str,
    item: Mapping[str, Any],
    names: Mapping[tuple[str, str], tuple[str, str]],
    machines: Answers,
    prepared: Iterable[Mapping[str, Any]],
    launches: Launches,
) -> None:
    autoscaling, name = clients.client("autoscaling", region), item["AutoScalingGroupName"]
    tags = [
        {"ResourceId": name, "ResourceType": "auto-scaling-group", "Key": tag["Key"], "Value": tag.get("Value") or "",
         "PropagateAtLaunch": bool(tag.get("PropagateAtLaunch"))}
        for tag in item.get("Tags", ())
    ]  # fmt: skip
    autoscaling.create_auto_scaling_group(
        AutoScalingGroupName=name, MinSize=0, MaxSize=item["MaxSize"], DesiredCapacity=0,
        AvailabilityZones=item["AvailabilityZones"], Tags=tags,
        NewInstancesProtectedFromScaleIn=bool(item.get("NewInstancesProtectedFromScaleIn")), **_launch(item, names),
    )  # fmt: skip
    if suspended := [process["ProcessName"] for process in item.get("SuspendedProcesses", ())]:
        autoscaling.suspend_processes(AutoScalingGroupName=name, ScalingProcesses=suspended)
    group = backend_group(region, name)
    if pool := item.get("WarmPoolConfiguration"):
        wanted = ("MaxGroupPreparedCapacity", "MinSize", "PoolState", "InstanceReusePolicy")
        autoscaling.put_warm_pool(AutoScalingGroupName=name, **{key: pool[key] for key in wanted if key in pool})
    for key in _KEPT.intersection(item):  # moto takes no such parameter, and answers what stands on its group
        setattr(group, camelcase_to_underscores(key), item[key])
    with launches.lock:
        for member in item.get("Instances", ()):
            if member["LifecycleState"] == "InService":
                _adopt(launches, group, member, machines.get(member["InstanceId"], {}))
        for member in prepared:
            launches.prepare(group, member, _launched_at(launches, machines.get(member["InstanceId"], {})))
        group.min_size, group.desired_capacity = item["MinSize"], item["DesiredCapacity"]
        launches.settle(group)


def _nodegroup(region: str, item: Mapping[str, Any]) -> None:
    """moto makes each ACTIVE, healthy and with an Auto Scaling group of its own making."""
    eks, cluster, name = clients.client("eks", region), item["clusterName"], item["nodegroupName"]
    if cluster not in eks.list_clusters()["clusters"]:
        eks.create_cluster(name=cluster, roleArn=_ROLE, resourcesVpcConfig={})
    given = {key: item[key] for key in ("capacityType", "labels", "taints") if key in item}
    eks.create_nodegroup(clusterName=cluster, nodegroupName=name, nodeRole=_ROLE, subnets=["subnet-1"], **given)
    made = eks_backends[DEFAULT_ACCOUNT_ID][region].clusters[cluster].nodegroups[name]
    made.resources, made.status, made.health = item["resources"], item["status"], item.get("health", {"issues": []})


def _adopt(launches: Launches, group: Any, member: Mapping[str, Any], machine: Mapping[str, Any]) -> None:
    launches.adopt(
        group,
        member["InstanceId"],
        member.get("InstanceType") or machine.get("InstanceType") or group.instance_type,
        member["AvailabilityZone"],
        market=machine.get("InstanceLifecycle", "on-demand"),
        launched_at=_launched_at(launches, machine),
        protected_from_scale_in=bool(member.get("ProtectedFromScaleIn")),
    )


def _launched_at(launches: Launches, machine: Mapping[str, Any]) -> datetime:
    launched = machine.get("LaunchTime")
    return datetime.fromisoformat(launched) if isinstance(launched, str) else launched or launches.clock.now()


def _launch(item: Mapping[str, Any], names: Mapping[tuple[str, str], tuple[str, str]]) -> dict[str, Any]:
    if policy := item.get("MixedInstancesPolicy"):
        template = policy["LaunchTemplate"]
        named = _reference(template["LaunchTemplateSpecification"], names)
        return {"MixedInstancesPolicy": policy | {"LaunchTemplate": template | {"LaunchTemplateSpecification": named}}}
    if reference := item.get("LaunchTemplate"):
        return {"LaunchTemplate": _reference(reference, names)}
    return {"LaunchConfigurationName": item["LaunchConfigurationName"]}


def _reference(reference: Mapping[str, Any], names: Mapping[tuple[str, str], tuple[str, str]]) -> dict[str, str]:
    wanted = reference.get("LaunchTemplateId") or reference["LaunchTemplateName"], reference.get("Version") or "$Default"
    name, version = names[wanted]
    return {"LaunchTemplateName": name, "Version": version}


def in_another_region(answers: Answers, region: str, other: str, price_factor: float = 1.1) -> dict[str, Any]:
    """The same groups, empty, in `other`, at other prices: a second region for a dump that has one."""

    def moved(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(region, other)
        if isinstance(value, Mapping):
            return {key: moved(item) for key, item in value.items()}
        return [moved(item) for item in value] if isinstance(value, list) else value

    found: dict[str, Any] = {
        key: moved(answers[key])
        for key in ("AutoScalingGroups", "LaunchTemplateVersions", "LaunchConfigurations")
        if key in answers
    }
    found["InstanceTypes"] = answers.get("InstanceTypes", [])
    found["OnDemandPrices"] = {name: price * price_factor for name, price in answers.get("OnDemandPrices", {}).items()}
    found["AutoScalingGroups"] = [
        group | {"Instances": [], "MinSize": 0, "DesiredCapacity": 0} for group in found.get("AutoScalingGroups", [])
    ]
    return found


def types_of(regions: Iterable[Answers]) -> list[Mapping[str, Any]]:
    return [item for answers in regions for item in answers.get("InstanceTypes", ())]
