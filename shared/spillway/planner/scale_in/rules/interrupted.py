"""Nodes whose instance AWS is going to take: they are emptied before, while their pods can still leave in order."""

from spillway.model.plan import Why
from spillway.model.policy import Mode
from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Goes, Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node whose instance AWS takes at a moment that it has told is drained before; no budget or min holds it"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    """It goes in any case; what forbids all scale in keeps us from draining it."""
    if live.ends_at is None or live.group is None:
        return None
    view, at = facts.view, f"{live.ends_at:%Y-%m-%d %H:%M:%S} UTC"
    forbidden = view.policy.mode in (Mode.SCALE_OUT_ONLY, Mode.OFF) or view.is_stale
    if forbidden or live.group.region in view.unknown_regions or live.node.machine is None:
        return Stays(Code.LEAVING, f"goes at {at}, when AWS takes its instance")
    return Goes(Why.INTERRUPTED, Code.LEAVING, f"goes: AWS takes its instance {live.node.machine.instance_id} at {at}")
