"""Instance types that moto 5.2.5 has no entry for (p3.*, say), answered from a dump."""

from collections.abc import Iterable, Mapping
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES, InstanceType, InstanceTypeBackend

from spillway_local.emulator.patching import Patch


def further_types(described: Iterable[Mapping[str, Any]]) -> Patch:
    """`described` are items of DescribeInstanceTypes; those that moto knows itself stay as moto has them."""
    missing = {item["InstanceType"]: item for item in described if item["InstanceType"] not in INSTANCE_TYPES}
    return Patch(InstanceTypeBackend, "instance_types", [*InstanceTypeBackend.instance_types, *map(_made, missing.values())])


def vcpus(described: Iterable[Mapping[str, Any]], used: Iterable[str]) -> dict[str, int]:
    """vCPUs by type, of moto's catalogue and of the dump."""
    found = {item["InstanceType"]: item["VCpuInfo"]["DefaultVCpus"] for item in described}
    return found | {name: INSTANCE_TYPES[name]["VCpuInfo"]["DefaultVCpus"] for name in used if name in INSTANCE_TYPES}


def _made(item: Mapping[str, Any]) -> InstanceType:
    made = InstanceType.__new__(InstanceType)  # its constructor takes names of moto's own catalogue only
    made.update(item)
    made.name = item["InstanceType"]
    return made
