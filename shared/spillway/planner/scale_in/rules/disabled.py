"""Whether anything may go at all."""

from spillway.model.policy import Consolidation, Mode
from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "Nothing goes where the policy's mode or its scale in is off"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    view = facts.view
    if view.policy.mode in (Mode.SCALE_OUT_ONLY, Mode.OFF):
        return Stays(Code.DISABLED, f"stays: the policy's mode is {view.policy.mode}")
    scale_in = view.policy_of(live.group).scale_in if live.group else view.policy.scale_in
    off = not scale_in.enabled or scale_in.consolidation is Consolidation.OFF
    return Stays(Code.DISABLED, "stays: the policy has scale in off") if off else None
