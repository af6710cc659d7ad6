"""Pods left to the scheduler, which spreads where we pack: how much of a plan comes true at once, and when is there rest?

As in life: pods wait, the plan is made of what the API server tells, its nodes come, the scheduler takes them as it likes,
and the next plan buys for those that were left over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spillway_local.judge.pinned import Disagreement
from spillway_local.judge.scene import Key, Object, key_of
from spillway_local.judge.stage import PREEMPTED, Stage, Verdict
from spillway_local.judge.world import Planned, RandomWorld

ROUNDS = 3


@dataclass
class Course:
    """How one world went. `served` and `bound` are of the first plan, `nodes` what each plan bought, until one bought none."""

    world: RandomWorld
    served: int = 0
    bound: int = 0
    nodes: list[int] = field(default_factory=list)
    empty: int = 0
    at_rest: bool = False
    disagreements: list[Disagreement] = field(default_factory=list)
    made: set[str] = field(default_factory=set)

    @property
    def rounds(self) -> int:
        return len(self.nodes)


def run(stage: Stage, worlds: Sequence[RandomWorld], nominate: bool = False) -> list[Course]:
    """All worlds at once: `ROUNDS` plans each at most, and one more to see that it is over; the stage is emptied.

    `nominate`: the pods of each plan are nominated for their nodes before these exist. Raises NotAtRest and Refusal.
    """
    stage.clear()
    courses = [Course(world) for world in worlds]
    stage.put(one for world in worlds for one in (*world.standing(), *world.waiting()))
    found = stage.settle()
    for _ in range(ROUNDS + 1):
        plans = _plan(stage, [course for course in courses if not course.at_rest], None if nominate else found)
        if not plans:
            break
        if nominate:
            stage.nominate({key_of(pod): node for _, planned in plans for pod, node in planned.assigned})
        stage.put(one for _, planned in plans for one in planned.company)  # there before a pod that waits sees the node
        stage.put(node for _, planned in plans for node in planned.nodes.values())
        stage.replace(node for _, planned in plans for node in planned.uncordoned.values())
        for course, planned in plans:
            course.world = course.world.bought(planned)
        found = stage.settle()
        for course, planned in plans:
            if course.rounds == 1:
                course.bound = sum(bool(found.get(key_of(pod), PREEMPTED).node) for pod, _ in planned.assigned)
    used = {verdict.node for verdict in found.values()}
    stage.clear()
    for course in courses:
        course.empty = len(course.made - used)
    return courses


def _plan(stage: Stage, courses: Sequence[Course], found: Mapping[Key, Verdict] | None) -> list[tuple[Course, Planned]]:
    """A plan for each world out of what the server tells; worlds whose plan buys nothing are at rest.

    `found`: what the scheduler said of all pods, where that is its last word. It is not where pods are nominated: who was
    kept out by a nomination that was then used elsewhere is looked at again minutes later only.
    """
    objects = _by_world(stage) if courses else {}
    plans = []
    for course in courses:
        planned = course.world.plan(objects[course.world.name])
        if not course.rounds:
            course.served = len(planned.assigned)
        if found is not None:
            course.disagreements += _free_room(course.world.seed, planned, found)
        if not planned.nodes and not planned.uncordoned:
            course.at_rest = True
        elif course.rounds < ROUNDS:
            course.nodes.append(len(planned.nodes))
            course.made |= planned.nodes.keys()
            plans.append((course, planned))
    return plans


def _free_room(seed: int, planned: Planned, found: Mapping[Key, Verdict]) -> list[Disagreement]:
    """The scheduler is at rest: what it left waiting has no room on any node that is there, but for those to whom the pods that
    the plan's nodes bring may open one; whether they do, `pinned` sees."""
    new = planned.nodes.keys()
    brings = bool(planned.nodes or planned.uncordoned)
    return [
        Disagreement(seed, key_of(pod), f"has room on {node}, which is there", found[key_of(pod)].text)
        for pod, node in planned.assigned
        if node not in new and node not in planned.uncordoned and not (brings and _may_be_helped(pod))
    ]


def _may_be_helped(pod: Object) -> bool:
    """Whether pods that come elsewhere can open a node for it: as company, or as what makes other domains fuller."""
    spec = pod["spec"]
    company = (spec.get("affinity") or {}).get("podAffinity") or {}
    spreads = spec.get("topologySpreadConstraints") or ()
    return bool(company.get("requiredDuringSchedulingIgnoredDuringExecution")) or any(
        one["whenUnsatisfiable"] == "DoNotSchedule" for one in spreads
    )


def _by_world(stage: Stage) -> dict[str, list[Object]]:
    found: dict[str, list[Object]] = {}
    for kind in (
        "Node",
        "Pod",
        "Namespace",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "CSINode",
        "DaemonSet",
    ):
        for obj in stage.objects(kind):
            owner = (obj["metadata"].get("namespace") or obj["metadata"]["name"]).partition("-")[0]
            found.setdefault(owner, []).append(obj)
    return found
