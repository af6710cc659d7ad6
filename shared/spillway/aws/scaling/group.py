"""One group as it is now, and the calls that change it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from spillway.aws import clients, groups, weights
from spillway.aws.scaling import following
from spillway.aws.table import Table
from spillway.model.fleet import Instance

_TERMINATING = "autoscaling:EC2_INSTANCE_TERMINATING"


class Rejected(Exception):
    """Auto Scaling refuses a call as it stands (ValidationError): bounds or members changed since we read them."""


@dataclass(frozen=True)
class GroupNow:
    """`units` are what the members count for: their number, or the sum of their weights in a weighted group.

    `weight` is the most that one new instance may count for. `status` is "" but for a group that is being deleted.
    """

    region: str
    name: str
    min_size: int
    max_size: int
    desired: int
    instances: tuple[Instance, ...]
    zones: tuple[str, ...]
    units: int
    weight: int
    suspended: frozenset[str]
    status: str

    @property
    def key(self) -> str:
        return f"{self.region}/{self.name}"

    @property
    def members(self) -> tuple[str, ...]:
        """Ids of instances that run or come; those that leave are none."""
        return tuple(instance.id for instance in self.instances if instance.is_member)

    def unable_to(self, process: str) -> str:
        """Why Auto Scaling would take a call and not do it: `process` is Launch or Terminate. "" when it would."""
        if self.status:
            return f"the status of group {self.key} is {self.status}"
        return f"the {process} process of group {self.key} is suspended" if process in self.suspended else ""

    def instance(self, instance_id: str) -> Instance | None:
        return next((instance for instance in self.instances if instance.id == instance_id), None)


def read(table: Table, region: str, name: str) -> GroupNow | None:
    """None when there is no such group. Raises AwsForbidden or AwsUnavailable."""
    raw = groups.by_name(region, [name]).get(name)
    return of(table, region, raw) if raw is not None else None


def of(table: Table, region: str, raw: Mapping[str, Any]) -> GroupNow:
    """From an item of DescribeAutoScalingGroups."""
    items = sorted(raw.get("Instances") or (), key=lambda item: str(item["InstanceId"]))
    by_type = _weights(table, region, raw)
    instances = tuple(
        Instance(
            id=item["InstanceId"],
            zone=item.get("AvailabilityZone", ""),
            instance_type=item.get("InstanceType", ""),
            lifecycle=item.get("LifecycleState", ""),
            protected=bool(item.get("ProtectedFromScaleIn")),
            healthy=item.get("HealthStatus", "Healthy") == "Healthy",
            weight=weights.of_member(item.get("WeightedCapacity", ""), item.get("InstanceType", ""), by_type),
        )
        for item in items
    )
    return GroupNow(
        region=region,
        name=raw["AutoScalingGroupName"],
        min_size=raw["MinSize"],
        max_size=raw["MaxSize"],
        desired=raw["DesiredCapacity"],
        instances=instances,
        zones=tuple(sorted(raw.get("AvailabilityZones") or ())),
        units=sum(instance.weight for instance in instances if instance.is_member),
        weight=max(by_type.values(), default=1),
        suspended=frozenset(process["ProcessName"] for process in raw.get("SuspendedProcesses") or ()),
        status=raw.get("Status", ""),
    )


def _weights(table: Table, region: str, raw: Mapping[str, Any]) -> Mapping[str, int]:
    """What each type weighs: by the group's overrides, or by the fleet snapshot where it counts vCPUs or memory."""
    if raw.get("DesiredCapacityType", weights.INSTANCES) != weights.INSTANCES:
        template = following.known_group(table, region, raw["AutoScalingGroupName"]).template
        return {choice.instance_type: choice.weight for choice in template.choices} if template else {}
    overrides = raw.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {}).get("Overrides") or ()
    return {override.get("InstanceType", ""): int(override.get("WeightedCapacity") or 1) for override in overrides}


def set_desired(group: GroupNow, desired: int) -> None:
    """Raises Rejected, AwsForbidden or AwsUnavailable. Called under the group's lease only."""
    with _changing(group.region, "autoscaling:SetDesiredCapacity"):
        clients.client("autoscaling", group.region, fleet=True).set_desired_capacity(
            AutoScalingGroupName=group.name, DesiredCapacity=desired, HonorCooldown=False
        )


def terminate(group: GroupNow, instance_id: str, decrement: bool = True) -> None:
    """Ends a member and, with `decrement`, lowers desired by what it counts for; else the group replaces it.

    Raises Rejected, AwsForbidden or AwsUnavailable.
    """
    with _changing(group.region, "autoscaling:TerminateInstanceInAutoScalingGroup"):
        clients.client("autoscaling", group.region, fleet=True).terminate_instance_in_auto_scaling_group(
            InstanceId=instance_id, ShouldDecrementDesiredCapacity=decrement
        )


def termination_hooks(group: GroupNow) -> tuple[str, ...]:
    """Names of the lifecycle hooks that hold an instance which ends. Raises AwsForbidden or AwsUnavailable."""
    answer = clients.ask("autoscaling", group.region, "describe_lifecycle_hooks", AutoScalingGroupName=group.name)
    hooks: list[Mapping[str, Any]] = answer.get("LifecycleHooks") or []
    return tuple(sorted(hook["LifecycleHookName"] for hook in hooks if hook.get("LifecycleTransition") == _TERMINATING))


def complete(group: GroupNow, instance_id: str, hook: str) -> None:
    """Lets a hook hold an instance no longer. Raises Rejected where it holds none, AwsForbidden or AwsUnavailable."""
    with _changing(group.region, "autoscaling:CompleteLifecycleAction"):
        clients.client("autoscaling", group.region, fleet=True).complete_lifecycle_action(
            AutoScalingGroupName=group.name, LifecycleHookName=hook, InstanceId=instance_id, LifecycleActionResult="CONTINUE"
        )


@contextmanager
def _changing(region: str, action: str) -> Iterator[None]:
    with clients.asking(region, action):
        try:
            yield
        except ClientError as error:
            if clients.code(error) == "ValidationError":
                raise Rejected(str(error)) from error
            raise
