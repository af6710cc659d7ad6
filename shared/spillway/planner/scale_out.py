"""From what was bought, and what is uncordoned, to steps with their reasons and fallbacks."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spillway.model import quantity
from spillway.model.fleet import NodeGroup
from spillway.model.plan import Fallback, Placement, ScaleOut, Served
from spillway.model.reason import Code, Reason
from spillway.planner import prices, warm
from spillway.planner.amounts import PODS, Dimensions
from spillway.planner.buy import NewNode, Purchase
from spillway.planner.demand import Lot
from spillway.planner.fallbacks import fallbacks
from spillway.planner.gaps import Gap
from spillway.planner.market import Market
from spillway.planner.place import Placed
from spillway.planner.supply import Source, region_order
from spillway.planner.view import View


@dataclass(frozen=True)
class Growth:
    """All that a plan's scale-out steps are made of; `lots` by number. `orphans` are cordoned nodes, by group's key, that
    nobody drains; `told` is what is kept of what pods prefer, by group's key."""

    view: View
    lots: Sequence[Lot]
    gaps: Mapping[str, Gap]
    market: Market
    purchase: Purchase
    placed: Placed
    orphans: Mapping[str, tuple[str, ...]]
    dimensions: Dimensions
    told: Mapping[str, str]

    def build(self) -> tuple[list[ScaleOut], list[Placement]]:
        """One step a group, in the order of regions and then names; and who goes to which new node."""
        bought: dict[str, list[NewNode]] = defaultdict(list)
        for node in self.purchase.nodes:
            bought[node.source.group.key].append(node)
        placements, served = self._deal()
        rank = {region: index for index, region in enumerate(region_order(self.view))}
        keys = bought.keys() | self.placed.uncordon.keys() | self.orphans.keys()
        ordered = sorted(keys, key=lambda key: (rank.get(self.view.groups[key].region, len(rank)), key))
        others = [
            source
            for key, source in self.market.sources.items()
            if not source.closed and source.room > len(bought.get(key, ()))
        ]
        steps = []
        for step, key in enumerate(ordered, 1):
            nodes = bought.get(key, [])
            pods: dict[int, int] = defaultdict(int)
            for node in nodes:
                for item, number in node.pods:
                    pods[item] += number
            steps.append(self._step(step, self.view.groups[key], nodes, served.get(key, {}), self._spill(nodes, pods, others)))
        return steps, placements

    def _spill(self, nodes: list[NewNode], pods: Mapping[int, int], others: Sequence[Source]) -> tuple[Fallback, ...]:
        if not nodes:
            return ()
        taken = nodes[0].source
        limits = self.purchase.ledger.copy()
        limits.take(taken.group, -len(nodes))
        return fallbacks(taken, pods, self.market, others, region_order(self.view), limits)

    def _deal(self) -> tuple[list[Placement], dict[str, dict[int, int]]]:
        """New nodes are numbered within their group, after those that were coming already. Pods served, by group and then by
        the lot's number."""
        number = {key: gap.coming for key, gap in self.gaps.items()}
        served: dict[str, dict[int, int]] = {key: dict(pods) for key, pods in self.placed.serves.items()}
        placements = []
        for node in self.purchase.nodes:
            key = node.source.group.key
            mine = served.setdefault(key, {})
            for item, pods in node.pods:
                for parcel, units in self.market.items[item].deal(pods):
                    for lot, placement in parcel.place(f"{key}#{number[key]}", units):
                        if not lot.moving:
                            placements.append(placement)
                        mine[lot.number] = mine.get(lot.number, 0) + placement.pods
            number[key] += 1
        return placements, served

    def _step(
        self, step: int, group: NodeGroup, nodes: list[NewNode], served: Mapping[int, int], spill: tuple[Fallback, ...]
    ) -> ScaleOut:
        uncordon = (*self.placed.uncordon.get(group.key, ()), *self.orphans.get(group.key, ()))
        return ScaleOut(
            step=step,
            region=group.region,
            group=group.name,
            from_desired=self.gaps[group.key].desired,
            to_desired=self.gaps[group.key].desired + len(nodes) * group.node_units,
            nodes=len(nodes),
            reason=self._reason(group, nodes, uncordon, served),
            uncordon=tuple(sorted(uncordon)),
            serves=tuple(
                Served(shape=self.lots[i].shape.id, pods=pods, examples=self.lots[i].examples())
                for i, pods in sorted(served.items())
            ),
            fallbacks=spill,
        )

    def _reason(self, group: NodeGroup, nodes: list[NewNode], uncordon: Sequence[str], served: Mapping[int, int]) -> Reason:
        raised = sum(node.raised for node in nodes)
        counts = (
            (raised, f"to reach the min of {self.view.min_of(group)}"),
            (len(nodes) - raised, "new"),
            (len(uncordon), "uncordoned"),
        )
        what = " and ".join(f"{count} {kind}" for count, kind in counts if count)
        text = f"group {group.name}: {what} {'node' if len(nodes) + len(uncordon) == 1 else 'nodes'}"
        text += self._warm(group, nodes) + self._price(group, nodes)
        ceiling = self.purchase.ledger.ceiling(group) if nodes else None
        bound = f"; no more of them, since {ceiling.text}" if ceiling else ""
        if served:
            preferred = f"; {self.told[group.key]}" if group.key in self.told else ""
            return Reason(code=Code.UNSCHEDULABLE_PODS, text=f"{text} for {self._demand(served)}{preferred}{bound}")
        if raised:
            return Reason(code=Code.BELOW_MIN, text=f"{text}; desired is {group.desired}{bound}")
        return Reason(code=Code.GIVEN_BACK, text=f"{text}: we cordoned them, and no drain of them is under way")

    def _warm(self, group: NodeGroup, nodes: list[NewNode]) -> str:
        """` of which 2 from the warm pool`."""
        prepared = min(len(nodes), warm.left(group, self.gaps[group.key]).ready)
        return f" of which {prepared} from the warm pool" if prepared else ""

    def _price(self, group: NodeGroup, nodes: list[NewNode]) -> str:
        """` at 0.2 USD an hour, 2 of them paid already`."""
        each, paid = prices.of(group, self.view.policy.prices), sum(node.is_paid for node in nodes)
        if not nodes or (each is None and not paid):
            return ""
        rate = "" if each is None else f" at {each:g} USD an hour"
        return rate + (f", {paid} of them paid already" if paid else "")

    def _demand(self, served: Mapping[int, int]) -> str:
        """`3 pods of 2 shapes that fit nowhere else and ask for 1.5 cpu, 12 GiB memory`."""
        total: dict[int, int] = defaultdict(int)
        for i, pods in served.items():
            for dimension, amount in self.lots[i].need.each:
                total[dimension] += amount * pods
        names = self.dimensions.resources
        asked = [f"{quantity.show(names[d], a)} {names[d]}" for d, a in sorted(total.items()) if d < len(names) and d != PODS]
        text = f"{_count(sum(served.values()), 'pod')} of {_count(len(served), 'shape')} that fit nowhere else"
        return text + (f" and ask for {', '.join(asked)}" if asked else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
