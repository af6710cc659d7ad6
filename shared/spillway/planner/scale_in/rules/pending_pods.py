"""Nodes that waiting pods need."""

from spillway.model.cluster import PodState
from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node that waiting pods go to, by the scheduler's word or by this plan, stays"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    nominated = any(pods.state is PodState.NOMINATED for pods in live.pods)
    return Stays(Code.PENDING_PODS, "is where pending pods go") if nominated or live.node.name in facts.used else None
