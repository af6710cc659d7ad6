"""What the pods of one plan say of each other, read once."""

from collections.abc import Sequence
from enum import IntEnum

from spillway.model.cluster import PodShape
from spillway.planner.demand import Lot
from spillway.planner.topology.hosts import Hosts
from spillway.planner.topology.rules import rules_of
from spillway.planner.topology.terms import HOSTNAME, Shapes, Terms
from spillway.planner.view import View


class Turn(IntEnum):
    """When the scheduler had better take a pod, among those of equal priority: first who was dealt to domains, in the order in
    which that was done; then, on nodes, who counts others before these come; and last who is only counted, wherever it goes."""

    BOUND_TO_DOMAINS = 0
    COUNTS_OTHERS = 1
    BOUND_TO_NODES = 2
    COUNTED = 3


class Topology:
    """`rules` are all of them, `hosts` makes dimensions of those on one node, `keys` of many nodes are read of these."""

    def __init__(self, view: View, lots: Sequence[Lot]) -> None:
        self.waiting = list({lot.shape.id: lot.shape for lot in lots}.values())
        everyone = list(view.shapes.values())
        self.terms = terms = Terms({one.name: one.labels for one in view.cluster.namespaces})
        self.shapes = Shapes(everyone)
        self.rules = rules_of(self.waiting, everyone, terms, self.shapes)
        self.hosts = Hosts(self.waiting, everyone, terms, self.shapes)
        self.keys = [key for key in self.rules.keys if key != HOSTNAME]

    @property
    def is_silent(self) -> bool:
        return not self.rules.keys

    def turn(self, shape: PodShape) -> Turn:
        spreads = self.rules.spreads.get(shape.id, ())
        keys = {key for spread in spreads for key in spread.keys} | {rule.key for rule in self.rules.avoids.get(shape.id, ())}
        if near := self.rules.near.get(shape.id):
            keys |= set(near.keys)
        if keys - {HOSTNAME}:
            return Turn.BOUND_TO_DOMAINS
        if not all(spread.pods.include(shape) for spread in spreads):
            return Turn.COUNTS_OTHERS
        return Turn.BOUND_TO_NODES if keys else Turn.COUNTED
