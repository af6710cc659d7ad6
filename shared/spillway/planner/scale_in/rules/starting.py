"""Nodes that are still on their way."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.starting import is_starting
from spillway.planner.view import LiveNode

RULE = "A young node that lacks something of what its group promises is still starting"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    return Stays(Code.STARTING, "is still starting") if is_starting(facts.view, live) else None
