"""The pods of each shape that have no node, numbered: so a Placement names them without their names."""

from dataclasses import dataclass, field
from datetime import datetime

from spillway.model.cluster import ClusterSnapshot, PodState

ORDER = (PodState.UNSCHEDULABLE, PodState.UNSEEN, PodState.NOMINATED)
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
    """By shape."""
    found: dict[str, Queue] = {}
    for pods in cluster.pods:
        if pods.state in ORDER:
            queue = found.setdefault(pods.shape, Queue())
            queue.pods[pods.state] += [(pods.node, c, n) for c, n in zip(pods.created, pods.names, strict=True)]
    for queue in found.values():
        for waiting in queue.pods.values():
            waiting.sort()
    return found
