"""Node objects that are being deleted."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node whose object is being deleted is nobody's candidate"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    return Stays(Code.LEAVING, "is being deleted") if live.node.deleting else None
