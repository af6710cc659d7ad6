"""What pods get of a node that nobody has seen yet. A guess: tags of the group beat it, and so does what its nodes show."""

from dataclasses import dataclass

from spillway.aws import images, kubelet, types
from spillway.aws.kubelet import GIB, MIB, Settings
from spillway.aws.shapes import BlockDevice, Image, InstanceType, LaunchData, Requirements
from spillway.model.base import Resources

# Memory that the hypervisor and the kernel keep: Karpenter's default guess (VM_MEMORY_OVERHEAD_PERCENT). It is too
# much for large types, which costs room until a node of the type was seen, and never promises what is not there.
HYPERVISOR_SHARE = 0.075
_ARM_RESERVE = 64 * MIB  # Graviton's kernel keeps this for contiguous allocations, before the share (Karpenter)
_GB = 1000**3  # EC2 counts the disks of an instance so


@dataclass(frozen=True)
class Node:
    """How a node of a group is made. `managed`: by EKS, from one of its images."""

    data: LaunchData
    settings: Settings
    image: Image | None = None
    managed: bool = False


def overhead(kind: InstanceType) -> int:
    """The guess for a type, in bytes."""
    return _overhead(kind.memory_info.size_in_mib * MIB, types.architecture(kind) == "arm64")


def of_type(kind: InstanceType, node: Node) -> Resources:
    """Raises QuantityError where the node's settings hold an amount that is none."""
    capacity = {**types.capacity(kind, node.data), "pods": types.pods(kind, node.settings, node.managed)}
    disk = _disk_bytes(kind, node)
    if disk:
        capacity["ephemeral-storage"] = disk
    counted = types.pods_by_interfaces(kind.network_info) or capacity["pods"]
    return _left(capacity, node.settings, overhead(kind), counted)


def of_requirements(least: Requirements, node: Node) -> Resources:
    """What every type that meets the attributes leaves; with an architecture that nobody told. Raises QuantityError."""
    capacity = types.capacity_of(least)
    capacity["pods"] = node.settings.max_pods or types.least_pods(capacity["memory"])
    if disk := _volume_gib(node):
        capacity["ephemeral-storage"] = disk * GIB
    return _left(capacity, node.settings, _overhead(capacity["memory"], is_arm=False), capacity["pods"])


def _overhead(memory: int, is_arm: bool) -> int:
    reserve = _ARM_RESERVE if is_arm else 0
    return reserve + -int(-(memory - reserve) * HYPERVISOR_SHARE // 1)


def _left(capacity: dict[str, int], settings: Settings, overhead: int, pods_by_interfaces: int) -> Resources:
    kept = kubelet.kept(settings, capacity, capacity["pods"], pods_by_interfaces)
    kept = {**kept, "memory": kept["memory"] + overhead}
    left = {name: max(0, amount - max(0, kept.get(name, 0))) for name, amount in capacity.items()}
    return {**left, **kubelet.hugepages(settings)}


def _disk_bytes(kind: InstanceType, node: Node) -> int:
    """Where pods' ephemeral storage is; 0 where nobody tells how large that is."""
    if node.settings.instance_store and kind.instance_storage_info.total_size_in_gb:
        return kind.instance_storage_info.total_size_in_gb * _GB
    return (_volume_gib(node) or 0) * GIB


def _volume_gib(node: Node) -> int | None:
    """As the template says, else as the image does."""
    names = images.node_devices(node.image, node.settings.family)
    own = node.image.block_device_mappings if node.image else ()
    return _size_gib(node.data.block_device_mappings, names) or _size_gib(own, names)


def _size_gib(devices: tuple[BlockDevice, ...], names: tuple[str, ...]) -> int | None:
    return next((device.ebs.volume_size for device in devices if device.device_name in names and device.ebs), None)
