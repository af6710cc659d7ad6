"""What an instance type brings to Kubernetes: capacity from EC2's figures, and the allocatable that is left of it.

A guess, for types that no node has shown yet: tags of the group beat it, and so does what its nodes really allocate.
"""

from collections.abc import Mapping

from spillway.aws.shapes import CpuOptions, InstanceType, NetworkInfo, Requirements
from spillway.model.base import Resources

MIB = 1024 * 1024
GIB = 1024 * MIB

# Memory that the hypervisor and the kernel keep: Karpenter's default guess (VM_MEMORY_OVERHEAD_PERCENT). It is too
# much for large types, which costs room until a node of the type was seen, and never promises what is not there.
HYPERVISOR_SHARE = 0.075
_ARM_RESERVE = 64 * MIB  # Graviton's kernel keeps this for contiguous allocations, before the share (Karpenter)

# kubelet defaults of the AL2023 image: awslabs/amazon-eks-ami, nodeadm/internal/kubelet (cpu by cores, memory by pods)
_CPU_RESERVE = ((1000, 0.06), (1000, 0.01), (2000, 0.005))  # of the first core, the second, the next two
_CPU_RESERVE_REST = 0.0025
_MEMORY_RESERVE_MIB = 255
_MEMORY_RESERVE_POD_MIB = 11
_EVICTION_MIB = 100  # --eviction-hard memory.available
_DISK_RESERVE = GIB  # --kube-reserved ephemeral-storage
_DISK_EVICTION_SHARE = 0.1  # --eviction-hard nodefs.available

_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
_GPU = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Habana": "habana.ai/gaudi"}
_LEAST_PODS = ((2 * GIB, 8), (0, 4))  # the fewest that the ENIs of any type from this memory on allow


def architecture(kind: InstanceType) -> str:
    """`amd64` or `arm64`, "" for any other. Types that run i386 too run 64-bit images."""
    known = [_ARCHITECTURES[name] for name in kind.processor_info.supported_architectures if name in _ARCHITECTURES]
    return known[0] if known else ""


def pods_by_interfaces(network: NetworkInfo) -> int:
    """Pod addresses of the default network card plus two pods on the host network; 0 where EC2 does not say."""
    cards = network.network_cards
    interfaces = (
        cards[network.default_network_card_index].maximum_network_interfaces
        if network.default_network_card_index < len(cards)
        else network.maximum_network_interfaces
    )
    return interfaces * (network.ipv4_addresses_per_interface - 1) + 2 if interfaces else 0


def capacity(kind: InstanceType, cpu: CpuOptions = CpuOptions()) -> dict[str, int]:  # noqa: B008  frozen
    """Resources of a node of the type; `cpu` are the template's options, which may switch cores or threads off."""
    cores = cpu.core_count * (cpu.threads_per_core or 1) if cpu.core_count else kind.v_cpu_info.default_v_cpus
    memory = kind.memory_info.size_in_mib * MIB - (_ARM_RESERVE if architecture(kind) == "arm64" else 0)
    return {
        "cpu": cores * 1000,
        "memory": memory,
        "pods": pods_by_interfaces(kind.network_info) or _least_pods(memory),
        **_devices(kind),
    }


def capacity_of(least: Requirements) -> dict[str, int]:
    """What any type that meets the attributes has."""
    memory = int(least.memory_mib.min) * MIB
    return {"cpu": int(least.v_cpu_count.min) * 1000, "memory": memory, "pods": _least_pods(memory)}


def allocatable(capacity: Mapping[str, int], disk_gib: int | None = None) -> Resources:
    """What is left for pods after the hypervisor, the kubelet's reserve and the eviction threshold."""
    pods = capacity["pods"]
    reserve = (_MEMORY_RESERVE_MIB + _MEMORY_RESERVE_POD_MIB * pods + _EVICTION_MIB) * MIB
    left = {
        **capacity,
        "cpu": capacity["cpu"] - _cpu_reserve(capacity["cpu"]),
        "memory": max(0, int(capacity["memory"] * (1 - HYPERVISOR_SHARE)) - reserve),
    }
    if disk_gib:
        left["ephemeral-storage"] = max(0, int(disk_gib * GIB * (1 - _DISK_EVICTION_SHARE)) - _DISK_RESERVE)
    return left


def _devices(kind: InstanceType) -> dict[str, int]:
    found: dict[str, int] = {}
    for gpu in kind.gpu_info.gpus:
        if resource := _GPU.get(gpu.manufacturer):
            found[resource] = found.get(resource, 0) + gpu.count
    for device in (*kind.neuron_info.neuron_devices, *kind.inference_accelerator_info.accelerators):
        found["aws.amazon.com/neuron"] = found.get("aws.amazon.com/neuron", 0) + device.count
        cores = device.count * device.core_info.count
        found["aws.amazon.com/neuroncore"] = found.get("aws.amazon.com/neuroncore", 0) + cores
    return {name: count for name, count in found.items() if count}


def _cpu_reserve(cpu_m: int) -> int:
    reserve, left = 0.0, cpu_m
    for step, share in _CPU_RESERVE:
        reserve += min(left, step) * share
        left -= min(left, step)
    return int(reserve + left * _CPU_RESERVE_REST)


def _least_pods(memory: int) -> int:
    return next(pods for least, pods in _LEAST_PODS if memory >= least)
