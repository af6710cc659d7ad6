"""The plan for programs and people: the JSON that users rely on, and who goes where."""

import json
from collections.abc import Iterable
from typing import Any

from spillway.model.base import encode
from spillway.model.cluster import ClusterSnapshot
from spillway.model.fleet import FleetSnapshot
from spillway.model.plan import Plan
from spillway.planner.queues import queues


def document(plan: Plan) -> dict[str, Any]:
    """The plan as JSON-able values, without placements (docs/schema/plan.json)."""
    found: dict[str, Any] = json.loads(encode(plan))
    del found["placements"]
    return found


def assignments(plan: Plan, cluster: ClusterSnapshot, fleet: FleetSnapshot | None = None) -> list[dict[str, Any]]:
    """`[{"node": …, "pods": ["namespace/name"]}]` in the order in which the plan places them.

    A node that has no name yet is `group#k`, or its instance id; where the group's name is in two regions of the
    fleet (None: of those that the plan speaks of), `region/group#k`.
    """
    shared = _shared(plan, fleet)
    spaces = {shape.id: shape.namespace for shape in cluster.shapes}
    names_of = {shape: queue.names for shape, queue in queues(cluster).items()}
    found: list[dict[str, Any]] = []
    for placement in plan.placements:
        node = _shown(placement.target, shared)
        pods = names_of[placement.shape][placement.first : placement.first + placement.pods]
        names = [f"{spaces[placement.shape]}/{name}" for name in pods]
        if found and found[-1]["node"] == node:
            found[-1]["pods"] += names
        else:
            found.append({"node": node, "pods": names})
    return found


def _shown(target: str, shared: frozenset[str]) -> str:
    group, mark, number = target.rpartition("#")
    if not mark:
        return target
    name = group.partition("/")[2]
    return target if name in shared else f"{name}#{number}"


def _shared(plan: Plan, fleet: FleetSnapshot | None) -> frozenset[str]:
    """Names of groups that are in more than one region."""
    regions: dict[str, set[str]] = {}
    for region, name in set(_spoken_of(plan) if fleet is None else ((g.region, g.name) for g in fleet.groups)):
        regions.setdefault(name, set()).add(region)
    return frozenset(name for name, found in regions.items() if len(found) > 1)


def _spoken_of(plan: Plan) -> Iterable[tuple[str, str]]:
    for placement in plan.placements:
        group, mark, _ = placement.target.rpartition("#")
        if mark:
            yield group.partition("/")[0], group.partition("/")[2]
    for step in plan.scale_out:
        yield step.region, step.group
        yield from ((other.region, other.group) for other in step.fallbacks)
    yield from ((reason.region, reason.group) for one in plan.unserved for reason in one.reasons)
