"""Groups that could not bring back what they gave."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node with workload stays while AWS refuses its group new nodes: what goes could not be had back"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    record = facts.refused(live.group) if live.group else None
    if live.group is None or record is None:
        return None
    text = f"is in group {live.group.name}, which gets no new nodes until {record.until:%Y-%m-%d %H:%M:%S} UTC"
    return Stays(Code.UNAVAILABLE, f"{text} ({record.reason}): it could not be had back")
