"""Nodes that cost nothing more, since the policy's list says that they are paid already (Savings Plans, reserved instances).

Whoever runs on what is paid, runs on it first: what is left is what the next nodes may have for nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from spillway.model.fleet import CapacityType, NodeGroup
from spillway.model.policy import Paid as Entry
from spillway.planner import prices
from spillway.planner.view import View


@dataclass
class _Pool:
    entry: Entry
    left: int

    def amount(self, group: NodeGroup) -> int:
        """What a node of the group takes of it, 0 where it is none of its own or nobody is sure.

        All that the group may launch must be on-demand, of its types, and in its zone.
        """
        entry = self.entry
        if group.capacity_type is CapacityType.SPOT or group.on_demand_share < 1 or not group.template:
            return 0
        types = group.template.instance_types
        if not types or not all(fnmatchcase(name, entry.instance_type) for name in types):
            return 0
        if entry.region not in (None, group.region) or (entry.zone is not None and group.zones != (entry.zone,)):
            return 0
        return 1 if entry.count is not None else max((one.vcpus for one in group.offerings), default=0)


class Paid:
    """`take` books nodes; what is left is for the next ones."""

    def __init__(self, pools: Iterable[_Pool]) -> None:
        self._pools = list(pools)

    def copy(self) -> "Paid":
        return Paid(_Pool(pool.entry, pool.left) for pool in self._pools)

    def free(self, group: NodeGroup) -> int:
        """How many more nodes of the group cost nothing."""
        return sum(pool.left // amount for pool in self._pools if (amount := pool.amount(group)))

    def price(self, group: NodeGroup, each: float, number: int = 0) -> float:
        """Of the next node of the group but `number`, where one that is not paid yet costs `each`."""
        return 0.0 if number < self.free(group) else each

    def take(self, group: NodeGroup, nodes: int) -> int:
        """Books as many of the nodes as are paid; returns how many."""
        rest = nodes
        for pool in self._pools:
            if amount := pool.amount(group):
                part = min(rest, pool.left // amount)
                pool.left -= part * amount
                rest -= part
        return nodes - rest

    def signature(self, group: NodeGroup) -> tuple[int, ...]:
        """Equal for groups whose nodes take the same of the same."""
        return tuple(pool.amount(group) for pool in self._pools)


def paid(view: View, nodes: Mapping[str, int]) -> Paid:
    """What these nodes, counts by group's key, leave; the dearest take first, as it saves most."""
    entries = (one for one in view.policy.prices.paid if one.until is None or view.now < one.until)
    found = Paid(_Pool(one, one.count or one.vcpus or 0) for one in entries)
    for group, count in _dearest(view, nodes):
        found.take(group, count)
    return found


def total_usd_h(view: View, nodes: Mapping[str, int]) -> float:
    """What so many nodes of each group, by its key, cost together."""
    left = paid(view, {})
    return sum(prices.known(view, group) * (count - left.take(group, count)) for group, count in _dearest(view, nodes))


def _dearest(view: View, nodes: Mapping[str, int]) -> list[tuple[NodeGroup, int]]:
    found = [(view.groups[key], count) for key, count in nodes.items() if count > 0]
    return sorted(found, key=lambda one: (-prices.known(view, one[0]), one[0].key))
