"""Annotations by which nodes are kept."""

from collections.abc import Callable, Mapping

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

FORBID: Mapping[str, Callable[[str], bool]] = {
    "cluster-autoscaler.kubernetes.io/scale-down-disabled": lambda value: value == "true",
    "karpenter.sh/do-not-disrupt": lambda value: value == "true",
    "atlassian.com/no-delete": lambda value: value != "",
}
"""Keys of Cluster Autoscaler, Karpenter and Escalator, and which of their values forbid."""
RULE = "A node with an annotation that forbids its removal stays"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    found = [key for key, forbids in FORBID.items() if forbids(live.node.annotations.get(key, ""))]
    return Stays(Code.ANNOTATED, f"carries the annotation {found[0]}") if found else None
