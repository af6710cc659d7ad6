"""The node that a group would launch next, as far as it is sure: the least of every type the group may choose.

Sources, weakest first: EC2's figures of the types, the EKS node group, tags of the Auto Scaling group.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from spillway.aws import labels as sources
from spillway.aws import types
from spillway.aws.launch import Definitions, Launch, Unreadable
from spillway.aws.prices import Prices
from spillway.aws.shapes import InstanceType, Nodegroup
from spillway.model import quantity
from spillway.model.base import Resources
from spillway.model.fleet import NodeTemplate

_ENOUGH = {"cpu", "memory", "pods"}  # tags that name these make EC2's figures unnecessary
_ROOT_DEVICES = {"/dev/xvda", "/dev/sda1"}  # of Amazon Linux and Ubuntu images


@dataclass(frozen=True)
class Catalogue:
    """What a region answered about launching, indexed. `nodegroups` by name of the Auto Scaling group."""

    region: str
    definitions: Definitions
    prices: Prices
    types: Mapping[str, InstanceType] = field(default_factory=dict)
    nodegroups: Mapping[str, Nodegroup] = field(default_factory=dict)
    types_problem: str = ""


def of_launch(
    launch: Launch, group: str, zones: tuple[str, ...], tags: Mapping[str, str], catalogue: Catalogue
) -> tuple[NodeTemplate, list[str]]:
    """The template of a group and a sentence for each tag that cannot be read. Raises Unreadable."""
    own, problems = sources.resources_of_tags(tags)
    tainted, more = sources.taints_of_tags(tags)
    nodegroup_labels, nodegroup_taints = sources.of_nodegroup(catalogue.nodegroups.get(group))
    kinds = [catalogue.types[name] for name in launch.types if name in catalogue.types]
    sure = sources.well_known(
        catalogue.region,
        zones,
        launch.types if not launch.least else (),
        {types.architecture(kind) for kind in kinds} if len(kinds) == len(launch.types) and not launch.least else (),
    )
    taints = nodegroup_taints | tainted
    template = NodeTemplate(
        instance_types=launch.types,
        allocatable=dict(sorted({**_computed(launch, own, catalogue), **own}.items())),
        labels=dict(sorted({**sure, **nodegroup_labels, **sources.of_tags(tags)}.items())),
        taints=tuple(taints[key] for key in sorted(taints)),
        price_usd_h=catalogue.prices.of(launch, zones),
    )
    return template, problems + more


def _computed(launch: Launch, own: Resources, catalogue: Catalogue) -> Resources:
    """What EC2's figures promise; nothing when tags name all that matters and a type is unknown. Raises Unreadable."""
    unknown = [name for name in launch.types if name not in catalogue.types]
    if unknown and own.keys() >= _ENOUGH:
        return {}
    if unknown:
        why = catalogue.types_problem or "DescribeInstanceTypes does not know it here"
        raise Unreadable(
            f"instance type {', '.join(unknown)}: {why}; "
            "tags node-template/resources/cpu, memory and pods of the group would do instead"
        )
    disk = _disk_gib(launch)
    each = [types.capacity(catalogue.types[name], launch.data.cpu_options) for name in launch.types]
    each += [types.capacity_of(least) for least in launch.least]
    if any(not one["cpu"] or not one["memory"] for one in each) and not own.keys() >= _ENOUGH:
        raise Unreadable(
            "the group's instance requirements are sure of no CPU or no memory; raise VCpuCount.Min and MemoryMiB.Min, "
            "or add tags node-template/resources/cpu, memory and pods"
        )
    return quantity.smallest(*(types.allocatable(one, disk) for one in each))


def _disk_gib(launch: Launch) -> int | None:
    """Size of the root disk, None where the image decides."""
    for device in launch.data.block_device_mappings:
        if device.device_name in _ROOT_DEVICES and device.ebs:
            return device.ebs.volume_size
    return None
