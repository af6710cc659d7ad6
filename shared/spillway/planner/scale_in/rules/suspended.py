"""Groups that end no instances."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "Nothing goes of a group whose Terminate process is suspended"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    if live.group is None or "Terminate" not in live.group.suspended:
        return None
    return Stays(Code.SUSPENDED, f"is in group {live.group.name}, whose Terminate process is suspended")
