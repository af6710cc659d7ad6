"""Nodes that somebody has taken out of our hands."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

KEYS = ("spillway.io/detached", "openai/detached")
RULE = "A node labelled `openai/detached` or `spillway.io/detached` with `true` or `1` is left alone"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    key = next((key for key in KEYS if live.node.labels.get(key) in ("true", "1")), "")
    return Stays(Code.DETACHED, f"carries the label {key}") if key else None
