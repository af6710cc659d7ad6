"""Nodes that are no members of a group that we manage."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node of no group of the cluster is never touched"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    if live.group is not None:
        return None
    text = "belongs to no group of this cluster" if live.node.machine else "is no EC2 instance that we know"
    return Stays(Code.NOT_OURS, text)
