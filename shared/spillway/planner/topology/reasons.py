"""Why a node more of a group would not do for a pod, by what pods say of each other: after all of the plan has its place."""

from spillway.model.reason import Code
from spillway.planner.demand import Lot
from spillway.planner.rules.base import Refusal
from spillway.planner.supply import Supply
from spillway.planner.topology.rules import Rules
from spillway.planner.topology.standing import Standing


class Reasons:
    """`standing` is as the plan leaves it."""

    def __init__(self, standing: Standing, supply: Supply, rules: Rules) -> None:
        self._standing, self._supply, self._rules = standing, supply, rules

    def of(self, lot: Lot, group: str) -> Refusal | None:
        """`group` is the key of one that may be asked. The text goes on from "the pod …"."""
        site = self._standing.new(self._supply.sources[group])
        mark = self._standing.mark()
        self._standing.open(site)  # with its daemons, which may be in the way
        refusal = self._standing.refusal(lot.shape.id, site)
        self._standing.take_back(mark)
        if refusal:
            return refusal
        if self._rules.touch(lot.shape.id):
            text = "could stand on a node more, which would be a domain too empty for those that are spread already"
            return Refusal(Code.TOPOLOGY_SPREAD, text)
        return None
