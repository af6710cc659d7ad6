"""From pods that wait to steps: free room, coming nodes, nodes that we cordoned, and only then new nodes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spillway.model import quantity
from spillway.model.fleet import NodeGroup
from spillway.model.plan import Placement, ScaleOut, Served
from spillway.model.reason import Code, Reason
from spillway.planner.amounts import Dimensions, most, subtract
from spillway.planner.buy import Market, NewNode, Purchase
from spillway.planner.demand import Lot
from spillway.planner.fallbacks import fallbacks
from spillway.planner.fit import Fit
from spillway.planner.gaps import Gap
from spillway.planner.rooms import Kind, Room
from spillway.planner.supply import Source, Supply, region_order
from spillway.planner.view import View

PRUNE_EVERY = 64  # lots between two looks at which rooms are full


@dataclass(frozen=True)
class Placed:
    """Where the pods went that found room: placements in order, by kind of room, and the nodes to uncordon by group."""

    placements: list[Placement]
    pods: Mapping[Kind, int]
    used: frozenset[str]
    uncordon: Mapping[str, list[str]]
    serves: Mapping[str, dict[int, int]]


def place(lots: Sequence[Lot], rooms: Sequence[Room], fit: Fit) -> Placed:
    """Lots in queue order, each into the first rooms that take it."""
    placements, pods, used = [], dict.fromkeys(Kind, 0), set()
    uncordon: dict[str, list[str]] = defaultdict(list)
    serves: dict[str, dict[int, int]] = defaultdict(dict)
    open_rooms = list(rooms)
    for index, lot in enumerate(lots):
        if index % PRUNE_EVERY == 0:
            open_rooms = _not_full(open_rooms, lots[index:])
        takes: dict[int, bool] = {}
        for room in open_rooms:
            number = most(room.free, lot.need, lot.left)
            if not number:
                continue
            if room.host not in takes:
                takes[room.host] = fit.refusal(lot.kind, room.host) is None
            if not takes[room.host]:
                continue
            subtract(room.free, lot.need, number)
            placements.append(lot.place(room.target, number))
            pods[room.kind] += number
            if room.kind is Kind.CORDONED:
                if room.target not in used:
                    uncordon[room.group].append(room.target)
                serves[room.group][index] = serves[room.group].get(index, 0) + number
            used.add(room.target)
            if not lot.left:
                break
    return Placed(placements, pods, frozenset(used), uncordon, serves)


def _not_full(rooms: list[Room], lots: Sequence[Lot]) -> list[Room]:
    """Rooms that could take the smallest request of these lots in every dimension that all of them ask for."""
    least: dict[int, int] = dict(lots[0].need)
    for lot in lots[1:]:
        asked = dict(lot.need)
        least = {dimension: min(amount, asked[dimension]) for dimension, amount in least.items() if dimension in asked}
    need = tuple(sorted(least.items()))
    return [room for room in rooms if most(room.free, need, 1)]


@dataclass(frozen=True)
class Growth:
    """Everything that goes into the scale-out steps of a plan."""

    view: View
    lots: Sequence[Lot]
    gaps: Mapping[str, Gap]
    supply: Supply
    market: Market
    purchase: Purchase
    placed: Placed
    give_back: Mapping[str, tuple[str, ...]]  # nodes that we cordoned, of no drain, that nobody needs and cannot go
    dimensions: Dimensions

    def placements(self) -> list[Placement]:
        """New nodes are numbered within their group, after those that were coming already."""
        number = {key: gap.coming for key, gap in self.gaps.items()}
        found = []
        for node in self.purchase.nodes:
            key = node.source.group.key
            target = f"{key}#{number[key]}"
            number[key] += 1
            found += [self.lots[lot].place(target, pods) for lot, pods in node.pods]
        return found

    def steps(self) -> list[ScaleOut]:
        """One step a group, in the order of regions and then names."""
        bought: dict[str, list[NewNode]] = defaultdict(list)
        for node in self.purchase.nodes:
            bought[node.source.group.key].append(node)
        rank = {region: index for index, region in enumerate(region_order(self.view))}
        keys = bought.keys() | self.placed.uncordon.keys() | self.give_back.keys()
        ordered = sorted(keys, key=lambda key: (rank.get(self.view.groups[key].region, len(rank)), key))
        with_room = self._with_room(bought)
        return [self._step(step, key, bought.get(key, []), with_room) for step, key in enumerate(ordered, 1)]

    def _with_room(self, bought: Mapping[str, list[NewNode]]) -> list[Source]:
        return [source for key, source in self.supply.sources.items() if source.room > len(bought.get(key, ()))]

    def _step(self, step: int, key: str, nodes: list[NewNode], with_room: list[Source]) -> ScaleOut:
        group = self.view.groups[key]
        uncordon = (*self.placed.uncordon.get(key, ()), *self.give_back.get(key, ()))
        new: dict[int, int] = defaultdict(int)
        for node in nodes:
            for lot, pods in node.pods:
                new[lot] += pods
        served = dict(new)
        for lot, pods in self.placed.serves.get(key, {}).items():
            served[lot] = served.get(lot, 0) + pods
        others: tuple[object, ...] = ()
        if nodes:
            others = fallbacks(nodes[0].source, new, self.market, with_room, region_order(self.view))
        return ScaleOut(
            step=step,
            region=group.region,
            group=group.name,
            from_desired=group.desired,
            to_desired=group.desired + len(nodes),
            nodes=len(nodes),
            reason=self._reason(group, nodes, uncordon, served),
            uncordon=tuple(sorted(uncordon)),
            serves=tuple(self._served(lot, pods) for lot, pods in sorted(served.items())),
            fallbacks=others,  # type: ignore[arg-type]
        )

    def _served(self, lot: int, pods: int) -> Served:
        return Served(shape=self.lots[lot].shape.id, pods=pods, examples=self.lots[lot].examples())

    def _reason(self, group: NodeGroup, nodes: list[NewNode], uncordon: Iterable[str], served: Mapping[int, int]) -> Reason:
        back, raised = len(tuple(uncordon)), sum(node.raised for node in nodes)
        parts = []
        if raised:
            parts.append(f"{raised} to reach the min of {self.view.min_of(group)}")
        if len(nodes) > raised:
            parts.append(f"{len(nodes) - raised} new")
        if back:
            parts.append(f"{back} uncordoned")
        what = f"group {group.name}: {' and '.join(parts)} {'node' if len(nodes) + back == 1 else 'nodes'}"
        if group.template and group.template.price_usd_h is not None and nodes:
            what += f" at {group.template.price_usd_h:g} USD an hour"
        if not served:
            why = "desired is below min" if raised else "no drain of them is under way"
            return Reason(code=Code.BELOW_MIN if raised else Code.GIVEN_BACK, text=f"{what}; {why}")
        return Reason(code=Code.UNSCHEDULABLE_PODS, text=f"{what} for {self._demand(served)}")

    def _demand(self, served: Mapping[int, int]) -> str:
        pods, shapes = sum(served.values()), len(served)
        total: dict[int, int] = defaultdict(int)
        for lot, count in served.items():
            for dimension, amount in self.lots[lot].need:
                total[dimension] += amount * count
        names = self.dimensions.resources
        asked = [f"{quantity.show(names[d], a)} {names[d]}" for d, a in sorted(total.items()) if d < len(names) and d != PODS]
        text = f"{pods} {'pod' if pods == 1 else 'pods'} of {shapes} {'shape' if shapes == 1 else 'shapes'}"
        return f"{text} that fit nowhere else" + (f" and ask for {', '.join(asked)}" if asked else "")


PODS = 2  # the dimension of pod slots
