"""A node that could go, and one that would take its pods: what stands between, each test says itself."""

from collections.abc import Iterable
from typing import Any

from spillway import planner
from spillway.model.cluster import Node
from spillway.model.fleet import NodeGroup
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from spillway.model.workloads import Budget
from spillway.planner import clocks
from tests.builders import NOW, YESTERDAY, Pods, cluster, fleet, group, node, pod, policy

ALL_AT_ONCE: dict[str, Any] = {"budgets": [{"nodes": "100%"}]}


def pair(
    *pods: Pods,
    pdbs: Iterable[Budget] = (),
    memory: Memory | None = None,
    more: Iterable[Node | Pods] = (),
    **scale_in: Any,
) -> Plan:
    """`low` runs `pods` and has long been unneeded; `busy` has room for them, and too much to do to go itself."""
    low, busy = node("low"), node("busy")
    objects = (low, busy, *pods, pod("load", cpu="2500m", node="busy"), *more)
    nodes = [one for one in objects if isinstance(one, Node)]
    return planned(*objects, group("g", nodes=nodes), pdbs=pdbs, memory=memory, **scale_in)


def planned(
    *objects: Node | Pods | NodeGroup,
    pdbs: Iterable[Budget] = (),
    memory: Memory | None = None,
    **scale_in: Any,
) -> Plan:
    """Nodes that the memory does not know are unneeded since yesterday; all may go at once."""
    seen = cluster(*(one for one in objects if not isinstance(one, NodeGroup)), budgets=tuple(pdbs))
    supply = fleet(*(one for one in objects if isinstance(one, NodeGroup)))
    rules = policy(scale_in={**ALL_AT_ONCE, **scale_in})
    remembered = clocks.observe(memory or Memory(), seen, supply, rules, NOW, YESTERDAY)
    return planner.plan(seen, supply, remembered, rules, NOW)


def budget(*pods: Pods, name: str = "guard", allowed: int = 0, **fields: Any) -> Budget:
    """One that selects these pods."""
    given = {"healthy": 2, "desired": 2, "expected": 2, **fields}
    return Budget(namespace="default", name=name, allowed=allowed, shapes=tuple(one.shape.id for one in pods), **given)


def why_stays(plan: Plan, name: str = "low") -> tuple[str, str]:
    """The reason's code and text; fails where the node goes."""
    return next((str(one.reason.code), one.reason.text) for one in plan.kept if one.node == name)
