"""What stays the same while a plan is made, however often its pods are dealt anew."""

from dataclasses import dataclass

from spillway.planner.amounts import Dimensions
from spillway.planner.fit import Fit
from spillway.planner.supply import Supply
from spillway.planner.topology.topology import Topology
from spillway.planner.view import View


@dataclass(frozen=True)
class Problem:
    """What was seen, what pods say of each other, what may be bought, and how pods and nodes are told apart and measured."""

    view: View
    topology: Topology
    supply: Supply
    fit: Fit
    dimensions: Dimensions
