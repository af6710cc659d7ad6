"""Which pods ask for a node, and in which order: priority, then age, then name, as the scheduler's queue has it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from spillway.model.cluster import PodSet, PodShape, PodState
from spillway.model.plan import Placement
from spillway.model.policy import Policy
from spillway.planner.amounts import NOTHING, UNLIMITED, Need
from spillway.planner.durations import duration_s
from spillway.planner.queues import of_unknown_gangs
from spillway.planner.rules.requirement import matches
from spillway.planner.view import View

SCALE_UP_DELAY = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"


@dataclass
class Lot:
    """Pods of one shape that wait, at `number` in the queue. `left` of them have no place yet; `kind` is the shape's in `Fit`.

    `moving` pods still run, on nodes that leave: their successors will ask for the same room, under other names. `offset`
    is where they begin among all pods of their shape that wait, as Placement counts them. No more than `limit` may be placed,
    and `refused` says why the others may not. `problem`: why it is not known which others must start with them; then they get
    no place.
    """

    shape: PodShape
    pods: PodSet
    count: int
    moving: bool = False
    need: Need = NOTHING
    kind: int = 0
    left: int = 0
    offset: int = 0
    number: int = 0
    limit: int = UNLIMITED
    refused: str = ""
    problem: str = ""

    def __post_init__(self) -> None:
        self.left = self.count

    @property
    def is_judged(self) -> bool:
        """Whether a node may be bought for them."""
        return not (self.shape.resource_claims or self.problem)

    @property
    def asked(self) -> int:
        """How many may still have a place."""
        return min(self.left, self.limit)

    @property
    def rank(self) -> tuple[int, bool, datetime, str, str]:
        return -self.shape.priority, self.moving, self.pods.created[0], self.pods.names[0], self.shape.id

    def place(self, target: str, pods: int) -> Placement:
        """Takes the next `pods` of the queue."""
        first = self.offset + self.count - self.left
        self.left -= pods
        return Placement(target=target, shape=self.shape.id, first=first, pods=pods)

    def examples(self, first: int = 0) -> tuple[str, ...]:
        """At most three, as `namespace/name`."""
        return tuple(f"{self.shape.namespace}/{name}" for name in self.pods.names[first : min(first + 3, self.count)])


def waiting(view: View) -> list[Lot]:
    """All demand in queue order."""
    lots = []
    for shape_id, queue in view.queues.items():
        shape = view.shapes[shape_id]
        if not asks(shape, view.policy):
            continue
        for state in _states(shape, view.policy):
            created, names = queue.of(state)
            if old_enough := _old_enough(view, shape, created):
                pods = PodSet(shape=shape_id, state=state, names=names, created=created)
                lots.append(Lot(shape, pods, old_enough, offset=queue.before(state)))
    found = sorted([*lots, *_moving(view), *_of_unknown_gangs(view)], key=lambda lot: lot.rank)
    for number, lot in enumerate(found):
        lot.number = number
    return found


def _states(shape: PodShape, policy: Policy) -> Iterable[PodState]:
    return (PodState.UNSCHEDULABLE, PodState.UNSEEN)[: 2 if _is_bypassed(shape, policy) else 1]


def _old_enough(view: View, shape: PodShape, created: Iterable[datetime]) -> int:
    """How many of them; they are ordered by age."""
    limit = view.now - timedelta(seconds=delay_s(shape, view.policy))
    return sum(moment <= limit for moment in created)


def _of_unknown_gangs(view: View) -> Iterable[Lot]:
    for pods, problem in of_unknown_gangs(view.cluster):
        shape = view.shapes[pods.shape]
        old_enough = _old_enough(view, shape, pods.created) if pods.state in _states(shape, view.policy) else 0
        if old_enough and asks(shape, view.policy):
            yield Lot(shape, pods, old_enough, problem=problem)


def _moving(view: View) -> Iterable[Lot]:
    """Pods of nodes that leave, as far as a controller makes them anew. A pod that leaves already has its successor
    among those that wait, but for a StatefulSet's, which comes back under its own name."""
    found: dict[str, list[tuple[datetime, str]]] = {}
    for live in view.nodes:
        if live.is_leaving or live.node.name in view.draining:
            for pods in live.workload:
                owner = view.shapes[pods.shape].owner_kind
                if owner.partition(".")[0] == "StatefulSet" or (owner and pods.state == PodState.BOUND):
                    found.setdefault(pods.shape, []).extend(zip(pods.created, pods.names, strict=True))
    for shape_id, members in found.items():
        shape = view.shapes[shape_id]
        if asks(shape, view.policy):
            created, names = zip(*sorted(members), strict=True)
            yield Lot(
                shape, PodSet(shape=shape_id, state=PodState.BOUND, names=names, created=created), len(names), moving=True
            )


def asks(shape: PodShape, policy: Policy) -> bool:
    """Whether pods of this shape may buy nodes at all."""
    include, exclude = policy.namespaces.include, policy.namespaces.exclude
    return (
        not shape.is_daemon
        and shape.priority >= policy.pods.priority_cutoff
        and shape.scheduler_name in policy.pods.scheduler_names
        and (not include or shape.namespace in include)
        and shape.namespace not in exclude
        and all(matches(requirement, shape.labels) for requirement in policy.pods.selector.requirements())
    )


def delay_s(shape: PodShape, policy: Policy) -> float:
    """How old a pod must be to be demand: the policy's delay, or a longer one of its own."""
    own = duration_s(shape.annotations.get(SCALE_UP_DELAY, ""))
    return max(policy.pods.new_pod_delay_s, own or 0)


def _is_bypassed(shape: PodShape, policy: Policy) -> bool:
    return shape.scheduler_name in policy.pods.bypass_scheduler_names


def nominated(view: View) -> Iterator[Placement]:
    """Pods for which the scheduler is making room already: they hold it, and ask for no node."""
    first = {shape: queue.before(PodState.NOMINATED) for shape, queue in view.queues.items()}
    for live in view.nodes:
        for pods in live.pods:
            if pods.state == PodState.NOMINATED:
                number = first[pods.shape]
                first[pods.shape] = number + len(pods.names)
                if asks(view.shapes[pods.shape], view.policy):
                    yield Placement(target=live.node.name, shape=pods.shape, first=number, pods=len(pods.names))
