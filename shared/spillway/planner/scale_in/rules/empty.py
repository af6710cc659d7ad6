"""Nodes without workload."""

from datetime import timedelta

from spillway.model.plan import Why
from spillway.model.reason import Code
from spillway.planner.scale_in import options
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Goes, Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node without a workload pod goes when it has been so for `idle_s`"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    """What an ended run left cordoned has waited already."""
    if live.workload or live.group is None:
        return None
    if live.node.cordon:
        return Goes(Why.EMPTY, Code.EMPTY, f"is empty and still cordoned by {live.node.cordon}, whose run ended")
    now, limit_s = facts.view.now, options.idle_s(facts.view, live.group)
    since = facts.clock(live).idle_since or now
    if now - since < timedelta(seconds=limit_s):
        text = f"is empty since {since:%Y-%m-%d %H:%M:%S} UTC, which is less than {limit_s:.0f} s"
        return Stays(Code.NOT_IDLE_YET, text)
    return Goes(Why.EMPTY, Code.EMPTY, f"has had no workload pod for {round((now - since).total_seconds())} s")
