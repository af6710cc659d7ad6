"""What is computed of a type that nobody has seen, beside what Karpenter publishes of it (AL2023, kubelet's defaults)."""

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from bench import data
from bench.figure import Figure
from spillway.aws import allocatable, shapes
from spillway.aws.kubelet import MIB, Settings
from spillway.model.policy import ImageFamily

FILE = "ec2_types.csv"
WITHIN = 0.01
_NODE = allocatable.Node(shapes.LaunchData(), Settings(family=ImageFamily.AL2023))

Row = Mapping[str, str]
Ratio = tuple[float, str, str]


def compared() -> Iterator[Figure]:
    """The share of types whose CPU, memory and pods are all within 1 % of the published ones; raises Missing."""
    path = data.OPTIONAL / FILE
    if not path.is_file():
        raise data.Missing(f"no {os.path.relpath(path, data.ROOT)}")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ratios = {row["instance_type"]: _ratios(row) for row in rows}
    near = [name for name, of in ratios.items() if all(abs(ratio - 1) <= WITHIN for ratio in of.values())]
    yield {
        "figure": "allocatable",
        "value": round(len(near) / len(ratios), 4),
        "unit": f"share of types within {WITHIN:.0%} of the published estimates",
        "goal": 1.0,
        "types": len(ratios),
        "never_above": round(sum(max(of.values()) <= 1 for of in ratios.values()) / len(ratios), 4),
        "least": _extreme(min, ratios),
        "most": _extreme(max, ratios),
    }


def _ratios(row: Row) -> dict[str, float]:
    """Ours over the published, by resource."""
    found = allocatable.of_type(_kind(row), _NODE)
    return {
        "cpu": found["cpu"] / int(row["est_allocatable_cpu_m"]),
        "memory": found["memory"] // MIB / int(row["est_allocatable_memory_mib"]),
        "pods": found["pods"] / int(row["est_allocatable_pods"]),
    }


def _kind(row: Row) -> shapes.InstanceType:
    """As EC2 describes it, as far as the file tells."""
    return shapes.InstanceType(
        instance_type=row["instance_type"],
        v_cpu_info=shapes.VCpuInfo(default_v_cpus=int(row["vcpu"])),
        memory_info=shapes.MemoryInfo(size_in_mib=int(row["memory_mib"])),
        processor_info=shapes.ProcessorInfo(supported_architectures=(row["arch"],)),
        network_info=shapes.NetworkInfo(
            maximum_network_interfaces=int(row["enis_first_card"]), ipv4_addresses_per_interface=int(row["ipv4_per_eni"])
        ),
    )


def _extreme(pick: Callable[[Iterable[Ratio]], Ratio], ratios: Mapping[str, Mapping[str, float]]) -> str:
    ratio, resource, name = pick((ratio, resource, name) for name, of in ratios.items() for resource, ratio in of.items())
    return f"{resource} of {name}: {ratio:.4f}"
