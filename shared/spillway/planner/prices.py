"""What a node of a group costs an hour; estimated by its size where no price is known."""

from spillway.model.base import Resources
from spillway.model.fleet import NodeGroup
from spillway.planner.amounts import ACCELERATORS

# On-demand prices of the m5, c5, r5 and g4dn families in us-east-1 (2026-07), solved for core, GiB and device.
USD_H_PER_CORE = 0.036
USD_H_PER_GIB = 0.003
USD_H_PER_ACCELERATOR = 0.33


def estimate(allocatable: Resources) -> float:
    devices = sum(allocatable.get(name, 0) for name in ACCELERATORS)
    return (
        allocatable.get("cpu", 0) / 1000 * USD_H_PER_CORE
        + allocatable.get("memory", 0) / 2**30 * USD_H_PER_GIB
        + devices * USD_H_PER_ACCELERATOR
    )


def weight(group: NodeGroup) -> float:
    """What the choice of groups compares: the price, or the estimate. Above 0; raises ValueError without a template."""
    if group.template is None:
        raise ValueError(f"group {group.key} has no template")
    price = group.template.price_usd_h
    return max(price if price is not None else estimate(group.template.allocatable), 1e-6)


def known(group: NodeGroup) -> float:
    """For sums: 0 where no price is known."""
    return (group.template.price_usd_h if group.template else None) or 0.0
