"""A draft that holds, as moves into rooms and a purchase: what the steps of a plan are made of."""

from collections.abc import Callable, Sequence

from spillway.planner.buy import NewNode, Purchase
from spillway.planner.demand import Lot
from spillway.planner.fit import Fit
from spillway.planner.market import Market
from spillway.planner.parcel import Item, Parcel
from spillway.planner.place import Move
from spillway.planner.topology.bundles import brought, together
from spillway.planner.topology.draft import Draft
from spillway.planner.topology.sites import Site
from spillway.planner.topology.standing import Standing

Pattern = tuple[tuple[int, int], ...]
"""(number of the lot, pods)"""


class Outcome:
    """`near` are the dimensions of affinity on one node: who is there for another goes where that one goes, also when another
    group must bring the node."""

    def __init__(self, standing: Standing, lots: Sequence[Lot], fit: Fit, near: frozenset[int]) -> None:
        self._standing, self._fit, self._near = standing, fit, near
        self._lots = {lot.number: lot for lot in lots}
        self._parcels: dict[tuple[Pattern, tuple[int, ...]], Parcel] = {}
        self._kinds: dict[tuple[int, int], int] = {}
        self._items: dict[tuple[Pattern, tuple[int, ...]], int] = {}

    def moves(self, draft: Draft) -> list[Move]:
        found = []
        for lot, site, pods in draft.log:
            if site.room:
                found.append(Move(Parcel(((lot, 1),), pods, lot.need, lot.kind), site.room, pods))
        return found

    def purchase(self, draft: Draft, bought: Purchase, market: Callable[[Sequence[Item]], Market]) -> tuple[Market, Purchase]:
        """Of the nodes that `bought` has, with the pods that came to each; `market` makes one of items."""
        on: dict[Site, dict[int, int]] = {site: {} for site in draft.nodes}
        for lot, site, pods in draft.log:
            if site.source:
                on[site][lot.number] = on[site].get(lot.number, 0) + pods
        nodes = [self._node(site, node, on[site]) for site, node in draft.nodes.items()]
        items = [Item((one,), one.need, one.kind, one.priority, one.count) for one in self._parcels.values()]
        return market(items), Purchase(nodes, [0] * len(items), bought.ledger, bought.paid)

    def _node(self, site: Site, node: NewNode, pods: dict[int, int]) -> NewNode:
        wanted = {number: self._near.intersection(self._lots[number].need.wants) for number in pods}
        sought = frozenset[int]().union(*wanted.values())
        unit = {n: count for n, count in pods.items() if wanted[n] or brought(self._lots[n].need, sought)}
        units = [((number, count),) for number, count in pods.items() if number not in unit]
        found = [(self._item(site, ((number, 1),), count), count) for ((number, count),) in units]
        if unit:
            found.append((self._item(site, tuple(sorted(unit.items())), 1), 1))
        return NewNode(node.source, found, raised=node.raised, is_paid=node.is_paid)

    def _item(self, site: Site, pattern: Pattern, count: int) -> int:
        kinds = tuple(self._kind(self._lots[number], site) for number, _ in pattern)
        key = pattern, kinds
        if key not in self._parcels:
            parts = [
                Parcel(((self._lots[n], 1),), 1, self._lots[n].need, kind) for (n, _), kind in zip(pattern, kinds, strict=True)
            ]
            unit = [(parcel, pods) for parcel, (_, pods) in zip(parts, pattern, strict=True)]
            one = together(unit, 0, self._near, self._fit) if len(unit) > 1 or pattern[0][1] > 1 else parts[0]
            one.count = one.left = 0
            self._items[key], self._parcels[key] = len(self._parcels), one
        self._parcels[key].count += count
        self._parcels[key].left += count
        return self._items[key]

    def _kind(self, lot: Lot, site: Site) -> int:
        """Nodes of one kind have the same values."""
        key = lot.number, site.host
        if key not in self._kinds:
            bonds = self._standing.bonds(lot.shape.id)
            self._kinds[key] = self._fit.kept_to(lot.kind, *bonds.kept_to(site)) if bonds else lot.kind
        return self._kinds[key]
