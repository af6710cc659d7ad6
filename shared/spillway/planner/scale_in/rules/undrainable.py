"""Nodes with pods that must not be moved."""

from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "A node stays when a rule of drainability holds one of its pods"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    held = facts.drain(live).held
    return Stays(held.code, f"stays: {held.text}") if held else None
