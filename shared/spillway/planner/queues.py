"""The pods of each shape that have no node, numbered: so a Placement names them without their names."""

from dataclasses import dataclass, field
from datetime import datetime

from spillway.model.cluster import ClusterSnapshot, PodSet, PodState

ORDER = (PodState.UNSCHEDULABLE, PodState.UNSEEN, PodState.NOMINATED)
_WITHOUT_PLACE = (PodState.UNSCHEDULABLE, PodState.UNSEEN)
_Pod = tuple[str, datetime, str]  # node, created, name


@dataclass
class Queue:
    """Those that the scheduler judged, then those that it has not seen, oldest first; then those nominated, by node."""

    pods: dict[PodState, list[_Pod]] = field(default_factory=lambda: {state: [] for state in ORDER})

    @property
    def names(self) -> list[str]:
        return [name for state in ORDER for _, _, name in self.pods[state]]

    def of(self, state: PodState) -> tuple[tuple[datetime, ...], tuple[str, ...]]:
        """When they were created, and their names."""
        pods = self.pods[state]
        return tuple([created for _, created, _ in pods]), tuple([name for *_, name in pods])

    def before(self, state: PodState) -> int:
        """The number of the first pod in this state."""
        return sum(len(self.pods[earlier]) for earlier in ORDER[: ORDER.index(state)])


def queues(cluster: ClusterSnapshot) -> dict[str, Queue]:
    """By shape; without those whose gang is not known."""
    found: dict[str, Queue] = {}
    aside = {id(pods) for pods, _ in of_unknown_gangs(cluster)}
    for pods in cluster.pods:
        if pods.state in ORDER and id(pods) not in aside:
            queue = found.setdefault(pods.shape, Queue())
            queue.pods[pods.state] += [(pods.node, c, n) for c, n in zip(pods.created, pods.names, strict=True)]
    for queue in found.values():
        for waiting in queue.pods.values():
            waiting.sort()
    return found


def of_unknown_gangs(cluster: ClusterSnapshot) -> list[tuple[PodSet, str]]:
    """Pods without a place whose gang cannot be read at present, and why: one by one they might be bought for by halves."""
    problems = {gang.id: gang.problem for gang in cluster.gangs if gang.problem}
    return [(pods, problems[pods.gang]) for pods in cluster.pods if pods.gang in problems and pods.state in _WITHOUT_PLACE]
