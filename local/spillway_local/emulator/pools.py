"""How much EC2 has left: machines by type and zone, and the account's vCPU quota by region."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

Pool = tuple[str, ...]
"""(region, instance type) or (region, instance type, zone)"""


@dataclass(frozen=True)
class Offer:
    """What a group may launch next; `weight` counts towards its desired capacity."""

    instance_type: str
    market: str = "on-demand"
    weight: int = 1


@dataclass
class Pools:
    """`capacity` is how many more machines of a pool EC2 gives out; a pool that is not named never runs dry.

    A machine that ends goes back to its pool. `quota_vcpus` bounds what runs in a region, 0 and none is no bound.
    """

    capacity: dict[Pool, int] = field(default_factory=dict)
    quota_vcpus: dict[str, int] = field(default_factory=dict)
    vcpus: Mapping[str, int] = field(default_factory=dict)
    _vcpus_in_use: Counter[str] = field(default_factory=Counter)

    def has(self, region: str, instance_type: str, zone: str) -> bool:
        return all(self.capacity.get(pool, 1) > 0 for pool in _pools(region, instance_type, zone))

    def within_quota(self, region: str, instance_type: str) -> bool:
        limit = self.quota_vcpus.get(region)
        return limit is None or self._vcpus_in_use[region] + self.vcpus.get(instance_type, 0) <= limit

    def take(self, region: str, instance_type: str, zone: str) -> None:
        self._move(region, instance_type, zone, 1)

    def give(self, region: str, instance_type: str, zone: str) -> None:
        self._move(region, instance_type, zone, -1)

    def _move(self, region: str, instance_type: str, zone: str, machines: int) -> None:
        self._vcpus_in_use[region] += machines * self.vcpus.get(instance_type, 0)
        for pool in _pools(region, instance_type, zone):
            if pool in self.capacity:
                self.capacity[pool] -= machines


def _pools(region: str, instance_type: str, zone: str) -> tuple[Pool, Pool]:
    return (region, instance_type), (region, instance_type, zone)
