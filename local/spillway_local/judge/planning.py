"""A random world's plan, made by the product's own decoders and planner, in terms of pods and nodes to create."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spillway import planner
from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.cluster import ClusterSnapshot, PodState
from spillway.model.fleet import FleetSnapshot, NodeGroup
from spillway.model.memory import Memory
from spillway.model.plan import Plan, Unserved
from spillway.model.policy import Policy
from spillway.planner import clocks, explain
from spillway_local.dump import named
from spillway_local.judge import launches, nodes
from spillway_local.judge.company import company
from spillway_local.judge.scene import CLUSTER, Key, Object, key_of


@dataclass(frozen=True)
class Planned:
    """A plan and what it asks for.

    `nodes` are exactly the new ones, by name, in the order in which they are numbered, `company` what comes with them, and
    `targets` gives their names by `group#k`; `uncordoned` are nodes that are there, as they are once the plan has given them
    back. `assigned` are pods in the plan's order with the name of the node that each is meant for, `unserved` all others that
    wait, with what the plan says of them.
    """

    plan: Plan
    cluster: ClusterSnapshot
    fleet: FleetSnapshot
    nodes: Mapping[str, Object]
    company: tuple[Object, ...]
    targets: Mapping[str, str]
    uncordoned: Mapping[str, Object]
    assigned: tuple[tuple[Object, str], ...]
    unserved: tuple[tuple[Object, str], ...]

    def is_of_choice(self, node: str) -> bool:
        """A new one of a group of several zones or types: what it turned out to be was not known beforehand."""
        choices = [
            max(len(group.zones), len(group.template.instance_types))
            for group in self.fleet.groups
            if group.template and group.name == node.rpartition("-")[0]
        ]
        return node in self.nodes and max(choices, default=1) > 1


def plan(
    objects: Iterable[Object],
    answers: Mapping[str, Any],
    policy: Mapping[str, Any],
    now: datetime,
    closed: tuple[str, ...],
) -> Planned:
    """What to do at `now` about Kubernetes objects and AWS's answers; `closed` as `launches.closed_zones` says."""
    items = list(objects)
    cluster, groups, rules = snapshot(items, now), named(launches.read(answers, now)), Policy.model_validate(policy)
    memory = clocks.observe(Memory(), cluster, groups, rules, now)
    found = planner.plan(cluster, groups, memory, rules, now)
    by_name = {group.name: group for group in groups.groups}
    live = {one["metadata"]["name"]: one for one in items if one["kind"] == "Node"}
    new, targets = _new_nodes(found, by_name, live, now, closed)
    pods = {key_of(one): one for one in items if one["kind"] == "Pod"}
    assigned = {
        key: targets.get(entry["node"], entry["node"])
        for entry in explain.assignments(found, cluster, groups)
        for key in (_split(name) for name in entry["pods"])
    }
    return Planned(
        plan=found,
        cluster=cluster,
        fleet=groups,
        nodes=new,
        company=tuple(
            one for target, name in targets.items() for one in company(items, by_name[target.partition("#")[0]], new[name])
        ),
        targets=targets,
        uncordoned={name: nodes.uncordoned(live[name]) for step in found.scale_out for name in step.uncordon},
        assigned=tuple((pods[key], node) for key, node in assigned.items()),
        unserved=tuple((pods[key], why) for key, why in _unserved(found, cluster, assigned)),
    )


def snapshot(items: Iterable[Object], now: datetime) -> ClusterSnapshot:
    """Kubernetes objects, each with its kind, as our own decoder reads them."""
    read = Objects()
    read.add(json.dumps({"kind": "List", "apiVersion": "v1", "items": list(items)}).encode())
    return named(reduce(read, cluster=CLUSTER, taken_at=now))


def _new_nodes(
    found: Plan, by_name: Mapping[str, NodeGroup], live: Mapping[str, Object], now: datetime, closed: tuple[str, ...]
) -> tuple[dict[str, Object], dict[str, str]]:
    new: dict[str, Object] = {}
    targets: dict[str, str] = {}
    for step in found.scale_out:
        group = by_name[step.group]
        for number, zone in enumerate(launches.launch_zones(group, step.nodes, closed)):
            name = f"{group.name}-{len(group.instances) + number}"
            node = nodes.joined(group, name, zone, now.strftime("%Y-%m-%dT%H:%M:%SZ"))
            new[name] = nodes.like(node, nodes.fellows(group, live.values()))
            targets[f"{group.name}#{number}"] = name
    return new, targets


def _unserved(found: Plan, cluster: ClusterSnapshot, assigned: Mapping[Key, str]) -> Iterable[tuple[Key, str]]:
    """Pods without a place, oldest first, with the plan's reason for each group; "" for those that are no demand."""
    spaces = {shape.id: shape.namespace for shape in cluster.shapes}
    why = {one.shape: _reasons(one) for one in found.unserved}
    left = [
        (created, (spaces[pods.shape], name), why.get(pods.shape, ""))
        for pods in cluster.pods
        if pods.state in (PodState.UNSCHEDULABLE, PodState.UNSEEN, PodState.NOMINATED, PodState.GATED)
        for created, name in zip(pods.created, pods.names, strict=True)
        if (spaces[pods.shape], name) not in assigned
    ]
    return ((key, text) for _, key, text in sorted(left))


def _reasons(one: Unserved) -> str:
    return "; ".join(f"{reason.group}: {reason.code}, {reason.text}" for reason in one.reasons)


def _split(name: str) -> Key:
    namespace, _, pod = name.partition("/")
    return namespace, pod
