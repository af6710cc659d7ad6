"""Groups that the policy leaves alone."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node of a group that the policy ignores stays"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    if live.group is None or not facts.view.policy_of(live.group).ignore:
        return None
    return Stays(Code.IGNORED, f"is in group {live.group.name}, which the policy ignores")
