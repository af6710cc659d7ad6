"""GetInstanceTypesFromInstanceRequirements, which moto 5.2.5 lacks: its catalogue, sieved by the attributes of a request.

What an attribute means, and what holds where one is not given, is the EC2 API's (InstanceRequirementsRequest).
"""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses.instances import InstanceResponse

from spillway_local.emulator.patching import Addition

_MANUFACTURERS = {"Intel": "intel", "AMD": "amd", "AWS": "amazon-web-services"}
_KINDS = {"GpuInfo": "gpu", "FpgaInfo": "fpga", "InferenceAcceleratorInfo": "inference", "NeuronInfo": "inference"}
_PAGE = 1000

Item = Mapping[str, Any]


def instance_requirements() -> Addition:
    """Prices play no part: every type is as cheap as the cheapest."""

    def get_instance_types_from_instance_requirements(self: Any) -> ActionResult:
        wanted, architectures = self._get_param("InstanceRequirements"), set(self._get_param("ArchitectureTypes"))
        names = sorted(
            kind["InstanceType"]
            for kind in self.ec2_backend.describe_instance_types()
            if architectures & set(kind["ProcessorInfo"]["SupportedArchitectures"]) and meets(kind, wanted)
        )
        start, size = self._get_int_param("NextToken", 0), self._get_int_param("MaxResults", _PAGE)
        page = [{"InstanceType": name} for name in names[start : start + size]]
        return ActionResult({"InstanceTypes": page, "NextToken": str(start + size) if start + size < len(names) else None})

    return Addition(
        InstanceResponse, "get_instance_types_from_instance_requirements", get_instance_types_from_instance_requirements
    )


def meets(kind: Item, wanted: Item) -> bool:
    """Whether an item of DescribeInstanceTypes has the attributes."""
    return all(rule(kind, wanted) for rule in _RULES)


def _has_accelerators(kind: Item, wanted: Item) -> bool:
    """Types with accelerators are left out unless the request speaks of them."""
    count: int = sum(
        device.get("Count", 0)
        for key in _KINDS
        for devices in kind.get(key, {}).values()
        if isinstance(devices, list)
        for device in devices
    )
    asked = wanted.get("AcceleratorCount")
    if asked is None and "AcceleratorTypes" not in wanted:
        return count == 0
    is_kind = not wanted.get("AcceleratorTypes") or any(
        key in kind and name in wanted["AcceleratorTypes"] for key, name in _KINDS.items()
    )
    return _within(count, asked or {"Min": 1}) and (count == 0 or is_kind)


def _within(value: float, bounds: Mapping[str, Any] | None) -> bool:
    least, most = (bounds or {}).get("Min"), (bounds or {}).get("Max")
    return (least is None or value >= float(least)) and (most is None or value <= float(most))


def _may(has: bool, rule: str) -> bool:
    return {"included": True, "required": has, "excluded": not has}[rule]


def _is_one(value: str, wanted: list[str] | None) -> bool:
    return not wanted or value in wanted


def _like(kind: Item, patterns: Any) -> bool:
    return any(fnmatchcase(kind["InstanceType"], pattern) for pattern in patterns)


_RULES: tuple[Callable[[Item, Item], bool], ...] = (
    lambda kind, wanted: _within(kind["VCpuInfo"]["DefaultVCpus"], wanted.get("VCpuCount")),
    lambda kind, wanted: _within(kind["MemoryInfo"]["SizeInMiB"], wanted.get("MemoryMiB")),
    lambda kind, wanted: _within(
        kind["MemoryInfo"]["SizeInMiB"] / 1024 / kind["VCpuInfo"]["DefaultVCpus"], wanted.get("MemoryGiBPerVCpu")
    ),
    lambda kind, wanted: _may(kind.get("BareMetal", False), wanted.get("BareMetal", "excluded")),
    lambda kind, wanted: _may(kind.get("BurstablePerformanceSupported", False), wanted.get("BurstablePerformance", "excluded")),
    lambda kind, wanted: _may(kind.get("InstanceStorageSupported", False), wanted.get("LocalStorage", "included")),
    lambda kind, wanted: _is_one("current" if kind.get("CurrentGeneration") else "previous", wanted.get("InstanceGenerations")),
    lambda kind, wanted: _is_one(
        _MANUFACTURERS.get(kind["ProcessorInfo"].get("Manufacturer", ""), ""), wanted.get("CpuManufacturers")
    ),
    lambda kind, wanted: not _like(kind, wanted.get("ExcludedInstanceTypes", ())),
    lambda kind, wanted: _like(kind, wanted.get("AllowedInstanceTypes") or ("*",)),
    _has_accelerators,
)
