"""The instance types of random worlds, as ec2 describe-instance-types and the price list tell them."""

from dataclasses import dataclass

from spillway_local.judge.scene import Object


@dataclass(frozen=True)
class Kind:
    """An instance type: figures of ec2 describe-instance-types, USD an hour in us-east-1."""

    name: str
    cpu: int
    gib: int
    price: float
    interfaces: tuple[int, int]
    gpus: int = 0
    arch: str = "x86_64"


KINDS = (
    Kind("t3.medium", 2, 4, 0.0416, (3, 6)),
    Kind("m5.large", 2, 8, 0.096, (3, 10)),
    Kind("c5.xlarge", 4, 8, 0.17, (4, 15)),
    Kind("m5.xlarge", 4, 16, 0.192, (4, 15)),
    Kind("r5.xlarge", 4, 32, 0.252, (4, 15)),
    Kind("m6g.xlarge", 4, 16, 0.154, (4, 15), arch="arm64"),
    Kind("c5.2xlarge", 8, 16, 0.34, (4, 15)),
    Kind("m5.2xlarge", 8, 32, 0.384, (4, 15)),
)
ACCELERATED = (Kind("g4dn.xlarge", 4, 16, 0.526, (3, 10), 1), Kind("g4dn.12xlarge", 48, 192, 3.912, (8, 30), 4))


def described() -> list[Object]:
    return [_described(kind) for kind in (*KINDS, *ACCELERATED)]


def prices() -> dict[str, float]:
    return {kind.name: kind.price for kind in (*KINDS, *ACCELERATED)}


def _described(kind: Kind) -> Object:
    interfaces, addresses = kind.interfaces
    item: Object = {
        "InstanceType": kind.name, "CurrentGeneration": True, "SupportedUsageClasses": ["on-demand", "spot"],
        "Hypervisor": "nitro", "BareMetal": False, "VCpuInfo": {"DefaultVCpus": kind.cpu},
        "MemoryInfo": {"SizeInMiB": kind.gib * 1024}, "ProcessorInfo": {"SupportedArchitectures": [kind.arch]},
        "NetworkInfo": {"MaximumNetworkInterfaces": interfaces, "Ipv4AddressesPerInterface": addresses},
        "EbsInfo": {"MaximumEbsAttachments": 27, "AttachmentLimitType": "shared"},
    }  # fmt: skip
    if kind.gpus:
        item["GpuInfo"] = {"Gpus": [{"Name": "T4", "Count": kind.gpus, "Manufacturer": "NVIDIA"}]}
    return item
