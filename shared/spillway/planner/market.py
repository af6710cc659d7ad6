"""What may be bought for whom: which groups take a pod, which are asked together, and which are kept for others."""

from collections.abc import Sequence

from spillway.model.fleet import CapacityType
from spillway.model.policy import RegionMode
from spillway.planner.amounts import Dimensions, most
from spillway.planner.fit import Fit
from spillway.planner.parcel import Item
from spillway.planner.supply import Source, Supply, region_order, region_ranks
from spillway.planner.view import View


class Market:
    """`items` are what waits, `sources` the groups that may be asked."""

    def __init__(self, view: View, items: Sequence[Item], supply: Supply, fit: Fit, dimensions: Dimensions) -> None:
        self.items = items
        self.sources = supply.sources
        self.spreads = view.policy.region_mode is RegionMode.SPREAD
        self.ranks = _ranks(view, list(supply.sources.values()))
        self._fit = fit
        self._options: list[int] | None = None
        self._takes: dict[tuple[int, tuple[int, ...]], list[bool]] = {}
        self._holds: dict[tuple[int, ...], list[bool]] = {}
        needs, kinds = dict.fromkeys(item.need for item in items), dict.fromkeys(item.kind for item in items)
        self._needs, self._kinds = list(needs), list(kinds)
        number_of = {need: number for number, need in enumerate(needs)}, {kind: number for number, kind in enumerate(kinds)}
        self._pairs = [(number_of[0][item.need], number_of[1][item.kind]) for item in items]
        self._accelerators = dimensions.accelerators

    def takes(self, source: Source) -> list[bool]:
        """For each item, whether a pod of it may go to an empty node of the group."""
        key = (source.host, source.have)
        if key not in self._takes:
            holds = self._held(source.have)
            admits = [self._fit.refusal(kind, source.host) is None for kind in self._kinds]
            self._takes[key] = [holds[need] and admits[kind] for need, kind in self._pairs]
        return self._takes[key]

    def _held(self, have: tuple[int, ...]) -> list[bool]:
        """For each need that items share, whether an empty node with so much holds one."""
        if have not in self._holds:
            free = list(have)
            self._holds[have] = [most(free, need, 1) == 1 for need in self._needs]
        return self._holds[have]

    def options(self, item: int) -> int:
        """How many groups could take a pod of it."""
        if self._options is None:
            found = [0] * len(self.items)
            for source in self.sources.values():
                found = [count + takes for count, takes in zip(found, self.takes(source), strict=True)]
            self._options = found
        return self._options[item]

    def reserved(self) -> list[bool]:
        """Items that ask for no accelerator and that a group without one can serve."""
        plain = [self.takes(source) for source in self.sources.values() if not source.accelerated]
        return [
            self._accelerators.isdisjoint(dimension for dimension, _ in item.need.each) and any(takes[i] for takes in plain)
            for i, item in enumerate(self.items)
        ]

    def share(self, rank: int, left: Sequence[int]) -> list[int]:
        """How many pods of each item this rank is asked for: all, or an even part where regions are to be even."""
        if not self.spreads:
            return list(left)
        able = [sum(any(self.takes(s)[i] for s in later) for later in self.ranks[rank:]) for i in range(len(left))]
        return [-(-count // max(1, able[i])) for i, count in enumerate(left)]


def _ranks(view: View, sources: list[Source]) -> list[list[Source]]:
    """Groups that are asked together, in the order in which they are asked: regions, or the seed's order one by one."""
    order = region_order(view)
    if view.policy.scale_out.objective == "seed_order":
        # kubernetes-ec2-autoscaler: region, single zone before many, spot before on-demand, name.
        keyed = sorted(
            (
                order.index(s.group.region),
                len(s.group.zones) > 1,
                s.group.capacity_type is not CapacityType.SPOT,
                s.group.name,
                i,
            )
            for i, s in enumerate(sources)
        )
        return [[sources[entry[-1]]] for entry in keyed]
    if view.policy.region_mode is RegionMode.SPREAD:
        found = [[s for s in sources if s.group.region == region] for region in order]
    else:
        found = [[s for s in sources if s.group.region in regions] for regions in region_ranks(view)]
    return [rank for rank in found if rank]
