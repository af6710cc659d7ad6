"""Each pod pinned to the node that the plan means for it: whatever the plan says must come true, to the last pod.

Exactly the plan's nodes are made, then the pods that it serves, in its order, each kept to its own node; then the others,
allowed everywhere. Served pods that are not bound break a rule of the scheduler's that we do not know;
unserved pods that are bound found room that we left unused.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spillway_local.judge.features import BETWEEN_PODS, Feature
from spillway_local.judge.scene import Key, Object, key_of
from spillway_local.judge.stage import PREEMPTED, Stage, Verdict
from spillway_local.judge.world import Planned, RandomWorld


@dataclass(frozen=True)
class Disagreement:
    """`ours` is what the plan said of the pod, `theirs` what the scheduler did."""

    seed: int
    pod: Key
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"seed {self.seed}: pod {'/'.join(self.pod)}: plan: {self.ours}; scheduler: {self.theirs}"


def judge(stage: Stage, worlds: Sequence[RandomWorld]) -> list[Disagreement]:
    """All worlds at once; the stage is emptied before and after. Raises NotAtRest and Refusal."""
    plans, found = set_up(stage, worlds)
    stage.clear()
    return [one for world, planned in plans for one in _compare(world, planned, found)]


def set_up(stage: Stage, worlds: Sequence[RandomWorld]) -> tuple[list[tuple[RandomWorld, Planned]], dict[Key, Verdict]]:
    """The worlds with their plans come true, on a stage emptied before, and what the scheduler then said of all pods."""
    plans, _ = come_true(stage, worlds)
    stage.put(pod for _, planned in plans for pod, _ in planned.unserved)
    return plans, stage.settle()


def come_true(stage: Stage, worlds: Sequence[RandomWorld]) -> tuple[list[tuple[RandomWorld, Planned]], dict[Key, Verdict]]:
    """The same with the pods alone that the plans serve."""
    stage.clear()
    plans = [(world, world.plan()) for world in worlds]
    there = (one for world, planned in plans for one in (*world.standing(planned), *planned.nodes.values(), *planned.company))
    stage.put(_with_pass(one) if one["kind"] == "Node" else one for one in there)
    stage.put(kept_to(pod, node) for _, planned in plans for pod, node in planned.assigned)
    return plans, stage.settle()


def _compare(world: RandomWorld, planned: Planned, found: Mapping[Key, Verdict]) -> Iterator[Disagreement]:
    for pod, node in planned.assigned:
        verdict = found.get(key_of(pod), PREEMPTED)
        if verdict.node != node:
            yield Disagreement(world.seed, key_of(pod), f"served on {node}", verdict.text)
    for pod, why in planned.unserved:
        verdict = found.get(key_of(pod), PREEMPTED)
        if why and verdict.node and not is_luck(world, planned, verdict.node):  # who is no demand may find room or not
            yield Disagreement(world.seed, key_of(pod), f"unserved ({why})", verdict.text)


def is_luck(world: RandomWorld, planned: Planned, node: str) -> bool:
    """Whether a pod that the plan does not serve may find room there without the plan being wrong.

    Groups that chose a zone or a type make such luck: with several types on their own new nodes, and where pods have rules
    about each other anywhere, as the pods on these count in the zone that was chosen.
    """
    if world.features & BETWEEN_PODS:
        return any(map(planned.is_of_choice, planned.nodes))
    return Feature.MIXED_TYPES in world.features and planned.is_of_choice(node)


_PASS = "judge.spillway.io/"  # of a resource that one node alone has


def kept_to(pod: Object, node: str) -> Object:
    """The pod, which only this node can take: it asks for what no other has.

    No rule of the pod's own could say so as well: a spread counts the nodes that selector and affinity allow.
    """
    spec = copy.deepcopy(pod["spec"])
    resources = spec["containers"][0].setdefault("resources", {})
    for kind in ("requests", "limits"):
        resources[kind] = {**resources.get(kind, {}), f"{_PASS}{node}": "1"}
    return {**pod, "spec": spec}


def _with_pass(node: Object) -> Object:
    more = {f"{_PASS}{node['metadata']['name']}": "1000"}
    status = node["status"]
    return {**node, "status": {**status, **{field: {**status[field], **more} for field in ("allocatable", "capacity")}}}


def pinned(pod: Object, node: str) -> Object:
    """The pod, allowed on this node only and judged by its rules there: each term of its node affinity gets the node's name."""
    mine = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    spec = pod["spec"]
    affinity: dict[str, Any] = spec.get("affinity") or {}
    to_nodes: dict[str, Any] = affinity.get("nodeAffinity") or {}
    required = to_nodes.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = [_and(term, mine) for term in required["nodeSelectorTerms"]] if required else [mine]
    to_nodes = {**to_nodes, "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {**pod, "spec": {**spec, "affinity": {**affinity, "nodeAffinity": to_nodes}}}


def _and(term: Mapping[str, Any], mine: Mapping[str, Any]) -> Mapping[str, Any]:
    """An empty term matches no node, and must go on doing so."""
    if not term.get("matchExpressions") and not term.get("matchFields"):
        return term
    return {**term, "matchFields": [*(term.get("matchFields") or ()), *mine["matchFields"]]}
