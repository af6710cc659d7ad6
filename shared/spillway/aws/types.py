"""What an instance type brings to Kubernetes: its capacity, from EC2's figures."""

from spillway.aws.kubelet import DEFAULT_MAX_PODS, GIB, MIB, Settings
from spillway.aws.shapes import CpuOptions, InstanceType, LaunchData, NetworkInfo, Requirements
from spillway.model.policy import ImageFamily

ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
_GPU = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Habana": "habana.ai/gaudi"}
# Names of the makers' device plugins. Xilinx's media accelerators and FPGAs are named by the image that is loaded.
_INFERENCE = {"Qualcomm": "qualcomm.com/qaic"}
_EFA = ("efa", "efa-only")
_LEAST_PODS = ((2 * GIB, 8), (0, 4))  # the fewest that the ENIs of any type from this memory on allow

# A prefix is 16 addresses, in each slot of an interface. EKS's calculator cuts what comes of it, as EKS does for all its
# own groups: awslabs/amazon-eks-ami, templates/al2/runtime/max-pods-calculator.sh; EKS user guide, choosing-instance-type.
_PREFIX = 16
_MOST_PODS, _MOST_PODS_OF_LARGE, _LARGE_VCPUS = 110, 250, 30


def architecture(kind: InstanceType) -> str:
    """`amd64` or `arm64`, "" for any other. Types that run i386 too run 64-bit images."""
    known = [ARCHITECTURES[name] for name in kind.processor_info.supported_architectures if name in ARCHITECTURES]
    return known[0] if known else ""


def pods_by_interfaces(network: NetworkInfo, settings: Settings = Settings(), prefix: int = 1) -> int:  # noqa: B008  frozen
    """Pod addresses of the default network card plus two pods on the host network; 0 where EC2 does not say."""
    cards = network.network_cards
    interfaces = (
        cards[network.default_network_card_index].maximum_network_interfaces
        if network.default_network_card_index < len(cards)
        else network.maximum_network_interfaces
    )
    if not interfaces:
        return 0
    return max(0, interfaces - settings.reserved_interfaces) * (network.ipv4_addresses_per_interface - 1) * prefix + 2


def pods(kind: InstanceType, settings: Settings, managed: bool = False) -> int:
    """Slots for pods of a node. `managed`: a group of EKS that runs one of its images."""
    if settings.max_pods:
        return settings.max_pods
    if settings.max_pods_unset or settings.family is ImageFamily.CUSTOM:
        return DEFAULT_MAX_PODS
    has_prefixes = settings.prefix_delegation and (kind.hypervisor == "nitro" or kind.bare_metal)
    found = pods_by_interfaces(kind.network_info, settings, _PREFIX if has_prefixes else 1)
    if not found:
        return least_pods(kind.memory_info.size_in_mib * MIB)
    most = _MOST_PODS_OF_LARGE if kind.v_cpu_info.default_v_cpus > _LARGE_VCPUS else _MOST_PODS
    return min(found, most) if has_prefixes or managed else found


def capacity(kind: InstanceType, data: LaunchData = LaunchData()) -> dict[str, int]:  # noqa: B008  frozen
    """CPU, memory as EC2 names it, and devices of a node that is launched by `data`."""
    return {
        "cpu": _cores(kind, data.cpu_options) * 1000,
        "memory": kind.memory_info.size_in_mib * MIB,
        **_devices(kind),
        **_efas(kind, data),
    }


def capacity_of(least: Requirements) -> dict[str, int]:
    """What any type that meets the attributes has."""
    return {"cpu": int(least.v_cpu_count.min) * 1000, "memory": int(least.memory_mib.min) * MIB}


def least_pods(memory: int) -> int:
    """What any type with so much memory allows."""
    return next(pods for least, pods in _LEAST_PODS if memory >= least)


def _cores(kind: InstanceType, cpu: CpuOptions) -> int:
    """The template may switch cores or threads off."""
    return cpu.core_count * (cpu.threads_per_core or 1) if cpu.core_count else kind.v_cpu_info.default_v_cpus


def _devices(kind: InstanceType) -> dict[str, int]:
    found: dict[str, int] = {}
    for gpu in kind.gpu_info.gpus:
        if resource := _GPU.get(gpu.manufacturer):
            found[resource] = found.get(resource, 0) + (gpu.count or gpu.logical_gpu_count)
    for device in kind.inference_accelerator_info.accelerators:
        if resource := _INFERENCE.get(device.manufacturer):
            found[resource] = found.get(resource, 0) + device.count
    return {name: count for name, count in {**found, **_neurons(kind)}.items() if count}


def _neurons(kind: InstanceType) -> dict[str, int]:
    """Inferentia and Trainium. EC2 names the first generation twice, also among accelerators for inference."""
    devices = kind.neuron_info.neuron_devices
    if not devices:
        accelerators = kind.inference_accelerator_info.accelerators
        return {"aws.amazon.com/neuron": sum(one.count for one in accelerators if one.manufacturer == "AWS")}
    return {
        "aws.amazon.com/neuron": sum(one.count for one in devices),
        "aws.amazon.com/neuroncore": sum(one.count * one.core_info.count for one in devices),
    }


def _efas(kind: InstanceType, data: LaunchData) -> dict[str, int]:
    """Interfaces that the template makes Elastic Fabric Adapters: without them a type that could have some has none."""
    asked = sum(one.interface_type in _EFA for one in data.network_interfaces)
    count = min(asked, kind.network_info.efa_info.maximum_efa_interfaces)
    return {"vpc.amazonaws.com/efa": count} if count else {}
