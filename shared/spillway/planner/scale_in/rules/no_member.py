"""Instances that leave their group, wait in its warm pool or are in standby."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node whose instance is no member of its group at present is left to Auto Scaling, and never ended twice"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    if live.instance is None or live.instance.is_member:
        return None
    return Stays(Code.LEAVING, f"is {live.instance.lifecycle} in its group")
