"""What may be bought for whom: which groups take a pod, which are asked together, and which are kept for others."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from spillway.model.fleet import CapacityType
from spillway.model.policy import RegionMode
from spillway.planner.amounts import Dimensions
from spillway.planner.fit import Fit
from spillway.planner.holds import Holds
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
        self.resources = len(dimensions.resources)
        self._takes: dict[tuple[int, tuple[int, ...]], frozenset[int]] = {}
        self._same: dict[frozenset[int], frozenset[int]] = {}
        self._holds = Holds([item.need for item in items], self.resources)
        self._kinds: dict[int, set[int]] = defaultdict(set)
        for number, item in enumerate(items):
            self._kinds[item.kind].add(number)
        self._admitted: dict[int, frozenset[int]] = {}
        self._both: dict[tuple[frozenset[int], frozenset[int]], frozenset[int]] = {}
        self._accelerators = dimensions.accelerators

    def takes(self, source: Source) -> frozenset[int]:
        """The items of which a pod may go to an empty node of the group; equal answers are one object."""
        key = (source.host, source.have)
        if key not in self._takes:
            both = self._admits(source.host), self._holds.within(source.have)
            if both not in self._both:
                found = both[0] & both[1]
                self._both[both] = self._same.setdefault(found, found)
            self._takes[key] = self._both[both]
        return self._takes[key]

    def _admits(self, host: int) -> frozenset[int]:
        if host not in self._admitted:
            kinds = (items for kind, items in self._kinds.items() if self._fit.refusal(kind, host) is None)
            self._admitted[host] = frozenset().union(*kinds)
        return self._admitted[host]

    def options(self, item: int) -> int:
        """How many groups could take a pod of it."""
        if self._options is None:
            found = [0] * len(self.items)
            for takes, sources in Counter(map(self.takes, self.sources.values())).items():
                for number in takes:
                    found[number] += sources
            self._options = found
        return self._options[item]

    def reserved(self) -> frozenset[int]:
        """Items that ask for no accelerator and that a group without one can serve."""
        plain = frozenset().union(*{self.takes(source) for source in self.sources.values() if not source.accelerated})
        return frozenset(
            i for i in plain if self._accelerators.isdisjoint(dimension for dimension, _ in self.items[i].need.each)
        )

    def share(self, rank: int, left: Sequence[int]) -> list[int]:
        """How many pods of each item this rank is asked for: all, or an even part where regions are to be even."""
        if not self.spreads:
            return list(left)
        able = Counter(item for later in self.ranks[rank:] for item in frozenset().union(*map(self.takes, later)))
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
