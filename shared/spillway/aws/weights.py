"""What an instance counts for where a group's desired capacity counts units, not instances."""

from collections.abc import Mapping

INSTANCES = "units"
"""The DesiredCapacityType of groups that count vCPUs or memory neither: instances, or the WeightedCapacity of overrides."""

UNITS = frozenset({INSTANCES, "vcpu", "memory-mib"})
"""All that AWS documents."""


def of_member(declared: str, instance_type: str, by_type: Mapping[str, int]) -> int:
    """`declared` is Auto Scaling's own word, "" where it has none; `by_type` is what the types of the group weigh.

    A type that the group launches no more counts as the heaviest: too little would have desired lowered below what lives.
    """
    return int(declared) if declared.isdigit() else by_type.get(instance_type) or max(by_type.values(), default=1)
