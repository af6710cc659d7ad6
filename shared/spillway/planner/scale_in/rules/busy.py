"""Nodes whose work keeps them."""

from spillway.model.policy import Consolidation
from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.rules.base import example
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node with workload stays when its use is above the threshold, or the policy takes empty nodes only"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    if live.group is None:
        return None
    runs = f"runs {example(facts, live)}"
    if facts.view.policy_of(live.group).scale_in.consolidation is Consolidation.EMPTY:
        return Stays(Code.BUSY, f"{runs}, and the policy takes empty nodes only")
    use = facts.use(live)
    if use is None:
        return Stays(Code.BUSY, f"{runs}, and does not say how much CPU and memory it has for them")
    if not use.is_low:
        return Stays(Code.BUSY, f"{runs}; {use.share:.1%} of its {use.resource} is asked for, more than {use.most:.0%}")
    return None
