"""Nodes whose little work can be done elsewhere."""

from datetime import timedelta

from spillway.model.plan import Why
from spillway.model.reason import Code
from spillway.planner.scale_in import options
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.rules.base import example
from spillway.planner.scale_in.verdict import Goes, Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node whose use is at or below the threshold goes when it has been so for `unneeded_s` and its pods have a place"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    """What an ended run left cordoned has waited already."""
    use = facts.use(live)
    if live.group is None or use is None:
        return None
    low = f"runs {example(facts, live)}, which ask for {use.share:.1%} of its {use.resource}"
    if live.node.cordon:
        return Goes(
            Why.UNDERUTILISED, Code.UNDERUTILISED, f"{low}, and is still cordoned by {live.node.cordon}, whose run ended"
        )
    now, limit_s = facts.view.now, options.unneeded_s(facts.view, live.group)
    since = facts.clock(live).unneeded_since or now
    at_most = f"at most {use.most:.0%} since {since:%Y-%m-%d %H:%M:%S} UTC"
    if now - since < timedelta(seconds=limit_s):
        return Stays(Code.NOT_UNNEEDED_YET, f"{low}: {at_most}, which is less than {limit_s:.0f} s")
    return Goes(Why.UNDERUTILISED, Code.UNDERUTILISED, f"{low}: {at_most}")
