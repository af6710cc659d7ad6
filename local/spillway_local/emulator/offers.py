"""What a group launches next: type, market and zone, by its launch template or mixed instances policy."""

from collections import Counter
from typing import Any

from moto.autoscaling.models import ASG_NAME_TAG

from spillway_local.emulator import activities
from spillway_local.emulator.pools import Offer, Pools

GROUP_TAG: str = ASG_NAME_TAG


def weight(group: Any, state: Any) -> int:
    """How much an instance counts towards desired."""
    return next((offer.weight for offer in _types(group) if offer.instance_type == state.instance_type), 1)


def declared_weight(group: Any, state: Any) -> str | None:
    """The WeightedCapacity that DescribeAutoScalingGroups names of an instance: in a group with weights only."""
    overrides = (group.mixed_instances_policy or {}).get("LaunchTemplate", {}).get("Overrides") or ()
    return str(weight(group, state)) if any(item.get("WeightedCapacity") for item in overrides) else None


def choose(group: Any, members: list[Any], pools: Pools) -> tuple[Offer, str, str]:
    """The offer and zone of the next launch, and "" or AWS's text for why it is refused.

    Zones go evenly, types in the order of the policy ("prioritized"); a zone or type without capacity gives way to the
    next that has some.
    """
    market = _market(group, members)
    in_zone = Counter(state.availability_zone for state in members)
    zones = sorted(group.availability_zones, key=lambda zone: (in_zone[zone], zone))
    types = _types(group)
    for offer in types:
        if not pools.within_quota(group.region, offer.instance_type):
            return offer, zones[0], activities.no_quota(pools.quota_vcpus[group.region])
        for zone in zones:
            if pools.has(group.region, offer.instance_type, zone):
                return Offer(offer.instance_type, market, offer.weight), zone, ""
    return types[0], zones[0], activities.no_capacity(types[0].instance_type, zones[0], tuple(sorted(zones[1:])), market)


def _types(group: Any) -> list[Offer]:
    overrides = (group.mixed_instances_policy or {}).get("LaunchTemplate", {}).get("Overrides") or ()
    named = [item for item in overrides if item.get("InstanceType")]
    if not named:
        return [Offer(group.instance_type)]
    return [Offer(item["InstanceType"], weight=int(item.get("WeightedCapacity") or 1)) for item in named]


def _market(group: Any, members: list[Any]) -> str:
    """Of the policy's distribution: first the on-demand base, above it the on-demand share, the rest spot."""
    if not group.mixed_instances_policy:
        data = group.ec2_launch_template.get_version(group.launch_template_version).data if group.ec2_launch_template else {}
        return str((data.get("InstanceMarketOptions") or {}).get("MarketType") or "on-demand")
    distribution = group.mixed_instances_policy.get("InstancesDistribution") or {}
    base = int(distribution.get("OnDemandBaseCapacity") or 0)
    share = distribution.get("OnDemandPercentageAboveBaseCapacity")
    desired = group.desired_capacity or 0
    above = -(-(desired - base) * int(100 if share is None else share) // 100)
    on_demand = sum(state.instance.lifecycle != "spot" for state in members)
    return "on-demand" if on_demand < min(desired, base) + max(0, above) else "spot"
