"""What a kubelet keeps for itself: settings as user data or the policy say them, over the defaults of the image's family."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spillway.model import quantity
from spillway.model.base import Labels, Resources
from spillway.model.cluster import Taint
from spillway.model.policy import ImageFamily, KubeletPolicy

MIB = 1024 * 1024
GIB = 1024 * MIB

MEMORY, DISK = "memory.available", "nodefs.available"  # signals of eviction that allocatable leaves out
# Of any kubelet: kubernetes/kubernetes, pkg/kubelet/eviction/defaults_linux.go; the images of EKS repeat them.
_EVICTION = {MEMORY: "100Mi", DISK: "10%"}

# kube-reserved of the images of EKS: awslabs/amazon-eks-ami, nodeadm/internal/kubelet/config.go and
# templates/al2/runtime/bootstrap.sh (Ubuntu's images have that script, too); bottlerocket-os/bottlerocket-core-kit,
# packages/kubernetes-1.31/kubelet-config. CPU by cores, memory by pods.
_CPU_RESERVE = ((1000, 0.06), (1000, 0.01), (2000, 0.005))  # of the first core, the second, the next two
_CPU_RESERVE_REST = 0.0025
_MEMORY_RESERVE_MIB = 255
_MEMORY_RESERVE_POD_MIB = 11
_DISK_RESERVE = GIB

DEFAULT_MAX_PODS = 110  # of a kubelet that is told nothing


@dataclass(frozen=True)
class Settings:
    """What somebody said of a kubelet; None and empty where nothing was said. Amounts as in its own configuration.

    `instance_store`: pods' ephemeral storage is on the disks of the instance. `max_pods_unset`: the image's script is told
    not to set a number, and the kubelet's own holds.
    """

    family: ImageFamily | None = None
    max_pods: int | None = None
    max_pods_unset: bool = False
    kube_reserved: Labels = field(default_factory=dict)
    system_reserved: Labels = field(default_factory=dict)
    eviction_hard: Labels = field(default_factory=dict)
    hugepages: Labels = field(default_factory=dict)
    instance_store: bool = False
    prefix_delegation: bool = False
    reserved_interfaces: int = 0
    labels: Labels = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()

    def over(self, weaker: "Settings") -> "Settings":
        """Both, where what this one says holds; maps key by key."""
        return Settings(
            family=self.family or weaker.family,
            max_pods=self.max_pods or weaker.max_pods,
            max_pods_unset=self.max_pods_unset or weaker.max_pods_unset,
            kube_reserved={**weaker.kube_reserved, **self.kube_reserved},
            system_reserved={**weaker.system_reserved, **self.system_reserved},
            eviction_hard={**weaker.eviction_hard, **self.eviction_hard},
            hugepages={**weaker.hugepages, **self.hugepages},
            instance_store=self.instance_store or weaker.instance_store,
            prefix_delegation=self.prefix_delegation or weaker.prefix_delegation,
            reserved_interfaces=self.reserved_interfaces or weaker.reserved_interfaces,
            labels={**weaker.labels, **self.labels},
            taints=(*weaker.taints, *self.taints),
        )


def of_policy(policy: KubeletPolicy) -> Settings:
    return Settings(
        family=policy.image,
        max_pods=policy.max_pods,
        kube_reserved=_texts(policy.kube_reserved),
        system_reserved=_texts(policy.system_reserved),
        eviction_hard=_texts(policy.eviction_hard),
        hugepages=_texts(policy.hugepages),
        instance_store=policy.instance_store,
        prefix_delegation=policy.prefix_delegation,
        reserved_interfaces=policy.reserved_interfaces,
    )


def kept(settings: Settings, capacity: Resources, pods: int, pods_by_interfaces: int) -> Resources:
    """What of `capacity` is not allocatable: kube and system reserve, eviction thresholds, huge pages.

    `pods` are the node's slots, `pods_by_interfaces` those that its interfaces have addresses for: the scripts of Amazon
    Linux reserve memory for the latter, whatever the kubelet is told. A percentage is taken of all that EC2 names, which
    is a little more than the node will have. Raises QuantityError.
    """
    reserved = _kube_reserved(settings, capacity, pods, pods_by_interfaces)
    for name, text in settings.system_reserved.items():
        reserved[name] = reserved.get(name, 0) + quantity.amount(name, text)
    eviction = {**_EVICTION, **settings.eviction_hard}
    for signal, name in ((MEMORY, "memory"), (DISK, "ephemeral-storage")):
        reserved[name] = reserved.get(name, 0) + threshold(eviction[signal], capacity.get(name, 0))
    reserved["memory"] += sum(hugepages(settings).values())
    return reserved


def hugepages(settings: Settings) -> Resources:
    """Raises QuantityError."""
    return {name: quantity.amount(name, text) for name, text in settings.hugepages.items()}


def threshold(text: str, capacity: int) -> int:
    """An eviction signal in bytes; 100% switches it off, as in the kubelet. Raises QuantityError."""
    if not text.endswith("%"):
        return quantity.amount("memory", text)
    share = quantity.parse(text.removesuffix("%")) / 100
    return 0 if share >= 1 else -int(-capacity * share // 1)


def _kube_reserved(settings: Settings, capacity: Resources, pods: int, pods_by_interfaces: int) -> dict[str, int]:
    given = {name: quantity.amount(name, text) for name, text in settings.kube_reserved.items()}
    if settings.family is ImageFamily.CUSTOM:
        return given
    counted = pods if settings.family is ImageFamily.BOTTLEROCKET else pods_by_interfaces
    return {
        "cpu": _cpu_reserve(capacity["cpu"]),
        "memory": (_MEMORY_RESERVE_MIB + _MEMORY_RESERVE_POD_MIB * counted) * MIB,
        "ephemeral-storage": _DISK_RESERVE,
    } | given


def _cpu_reserve(cpu_m: int) -> int:
    reserve, left = 0.0, cpu_m
    for step, share in _CPU_RESERVE:
        reserve += min(left, step) * share
        left -= min(left, step)
    return int(reserve + left * _CPU_RESERVE_REST)


def _texts(amounts: Mapping[Any, Any]) -> Labels:
    return {str(name): str(amount) for name, amount in amounts.items()}
