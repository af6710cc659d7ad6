"""Nodes that a run of ours is at work on."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node that a run under way drains is left to it"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    return Stays(Code.DRAINING, "is being drained by a run under way") if live.node.name in facts.view.draining else None
