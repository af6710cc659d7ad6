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
    """When the scheduler had better take a pod, among those of equal priority."""

    COUNTS_OTHERS = 0
    COUNTS_ITS_KIND = 1
    COUNTED = 2
    LOOKS_FOR_OTHERS = 3


class Topology:
    """`rules` are all of them, `hosts` makes dimensions of those on one node, `keys` of many nodes are read of these."""

    def __init__(self, view: View, lots: Sequence[Lot]) -> None:
        self.waiting = list({lot.shape.id: lot.shape for lot in lots}.values())
        everyone = list(view.shapes.values())
        terms = Terms({one.name: one.labels for one in view.cluster.namespaces})
        self.shapes = Shapes(everyone)
        self.rules = rules_of(self.waiting, everyone, terms, self.shapes)
        self.hosts = Hosts(self.waiting, everyone, terms, self.shapes)
        self.keys = [key for key in self.rules.keys if key != HOSTNAME]

    @property
    def is_silent(self) -> bool:
        return not self.rules.keys

    def turn(self, shape: PodShape) -> Turn:
        if shape.id in self.rules.near:
            return Turn.LOOKS_FOR_OTHERS
        spreads = self.rules.spreads.get(shape.id)
        if not spreads:
            return Turn.COUNTED
        return Turn.COUNTS_ITS_KIND if all(spread.pods.include(shape) for spread in spreads) else Turn.COUNTS_OTHERS
