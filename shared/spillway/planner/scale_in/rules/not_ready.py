"""Nodes that are not Ready, and not yet for long."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node that is not Ready stays"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    return None if live.node.ready else Stays(Code.NOT_READY, "is not Ready")
