"""What a plan means to do, as the ledger sees it: nodes to buy, and how many pods of each lot go to which node."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spillway.planner.buy import NewNode, Purchase
from spillway.planner.demand import Lot
from spillway.planner.market import Market
from spillway.planner.parcel import Parcel
from spillway.planner.place import Move
from spillway.planner.topology.sites import Site
from spillway.planner.topology.standing import Standing
from spillway.planner.topology.turns import Order


class Batch(NamedTuple):
    """Pods of a lot that come to a node together."""

    lot: Lot
    site: Site
    pods: int


@dataclass
class Draft:
    """`nodes` are those to buy, `wanted` the pods by lot's number, `log` who came, in that order: so a scheduler could bind
    them, each as soon as it may."""

    nodes: dict[Site, NewNode] = field(default_factory=dict)
    wanted: dict[int, dict[Site, int]] = field(default_factory=lambda: defaultdict(dict))
    log: list[Batch] = field(default_factory=list)

    def want(self, lot: Lot, site: Site, pods: int) -> None:
        mine = self.wanted[lot.number]
        mine[site] = mine.get(site, 0) + pods

    def order(self, coming: Mapping[str, int]) -> Order:
        """When who came where. New nodes of a group are numbered after the `coming` ones."""
        numbers, names = Counter(coming), dict[Site, str]()
        for site, node in self.nodes.items():
            key = node.source.group.key
            names[site] = f"{key}#{numbers[key]}"
            numbers[key] += 1
        found: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for turn, (lot, site, pods) in enumerate(self.log):
            found[site.room.target if site.room else names[site], lot.shape.id].append((turn, pods))
        return {key: tuple(turns) for key, turns in found.items()}

    def came(self) -> dict[int, dict[Site, int]]:
        """As `wanted`, of those who came."""
        found = Draft()
        for lot, site, pods in self.log:
            found.want(lot, site, pods)
        return found.wanted

    def served(self) -> dict[int, int]:
        """Pods that came, by lot's number."""
        found: dict[int, int] = defaultdict(int)
        for batch in self.log:
            found[batch.lot.number] += batch.pods
        return found


def drafted(moves: Iterable[Move], market: Market, purchase: Purchase, standing: Standing) -> Draft:
    """All that was placed and bought, none of it judged yet."""
    found = Draft()
    by_target = {site.room.target: site for site in standing.sites if site.room}
    for move in moves:
        for lot, pods in move.parcel.parts:
            found.want(lot, by_target[move.room.target], pods * move.units)
    queues = [_Queue(item.parcels) for item in market.items]
    for node in purchase.nodes:
        site = standing.new(node.source)
        found.nodes[site] = node
        for item, units in node.pods:
            for parcel, number in queues[item].next(units):
                for lot, pods in parcel.parts:
                    found.want(lot, site, pods * number)
    return found


class _Queue:
    """The parcels of an item, dealt as the plan will deal them."""

    def __init__(self, parcels: Sequence[Parcel]) -> None:
        self._left = [(parcel, parcel.left) for parcel in reversed(parcels) if parcel.left]

    def next(self, units: int) -> Iterator[tuple[Parcel, int]]:
        while units and self._left:
            parcel, left = self._left.pop()
            number = min(left, units)
            if left > number:
                self._left.append((parcel, left - number))
            units -= number
            yield parcel, number
