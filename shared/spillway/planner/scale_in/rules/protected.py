"""Instances that are protected from scale in."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "An instance protected from scale in stays where the policy respects that"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    if live.group is None or live.instance is None or not live.instance.protected:
        return None
    respected = facts.view.policy_of(live.group).scale_in.respect_protection
    return Stays(Code.PROTECTED, "is protected from scale in") if respected else None
