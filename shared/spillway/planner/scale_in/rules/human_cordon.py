"""Nodes that somebody else has cordoned."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node that somebody else has cordoned stays, and its cordon is never undone"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    if not live.node.unschedulable or live.node.cordon:
        return None
    return Stays(Code.CORDONED_BY_HUMAN, "was cordoned by somebody else")
