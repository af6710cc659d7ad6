"""Groups that somebody else is changing."""

from spillway.planner.ownership import left_alone
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "Nothing goes of a group that is refreshed, updated or deleted, nor, by policy, of one that has another owner"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    if live.group is None:
        return None
    for code, why in left_alone(facts.view, live.group):
        if why:
            return Stays(code, f"is in group {live.group.name}, which is left alone: {why}")
    return None
