"""What DaemonSets put on a node: computed from those that match, never from what happens to run already.

Source of who lands where: pkg/controller/daemon/daemon_controller.go, nodeShouldRunDaemonPod. What the controller tolerates
by itself is in the shapes; PreferNoSchedule keeps no pod away.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from spillway.planner.amounts import Dimensions, Need
from spillway.planner.fit import Fit
from spillway.planner.rules.base import Host
from spillway.planner.view import LiveNode, View

Amounts = Mapping[int, int]
"""By dimension."""


class Daemons:
    """Judged once for each kind of node, and once for DaemonSets that are alike."""

    def __init__(self, view: View, dimensions: Dimensions) -> None:
        shapes = [view.shapes[daemon.shape] for daemon in view.cluster.daemons if daemon.shape in view.shapes]
        self._view, self._dimensions, self._fit = view, dimensions, Fit(shapes)
        self._ids = [shape.id for shape in shapes]
        self._daemons = [(self._fit.shape_kind(shape), dimensions.need(shape)) for shape in shapes]
        self._known: dict[tuple[int, ...], Amounts] = {}

    def on(self, host: Host) -> Amounts:
        """What all that land there ask for. Where the group will choose zone or type, the most that any of its nodes gets."""
        if not self._daemons:
            return {}
        kinds = tuple(sorted({self._fit.host_kind(one) for one in host.each(self._fit.keys)}))
        if kinds not in self._known:
            self._known[kinds] = _most([self._landing(kind) for kind in kinds])
        return self._known[kinds]

    def _landing(self, kind: int) -> Amounts:
        return _sum(need for shape, need in self._daemons if self._fit.refusal(shape, kind) is None)

    def shapes_on(self, host: Host) -> Iterator[tuple[str, bool]]:
        """Ids of the shapes that land there, and whether they do so whatever zone or type the group will choose."""
        kinds = [self._fit.host_kind(one) for one in host.each(self._fit.keys)]
        for shape_id, (shape, _) in zip(self._ids, self._daemons, strict=True):
            verdicts = [self._fit.refusal(shape, kind) is None for kind in kinds]
            if any(verdicts):
                yield shape_id, all(verdicts)

    def wait_for(self, live: LiveNode) -> bool:
        """Whether the node is young. Later nobody waits for daemons that are not there: they found no room."""
        return bool(self._daemons) and live.group is not None and self._view.is_young(live.born, live.group)

    def missing(self, live: LiveNode, host: Host) -> Amounts:
        """What those that are still to come to a young node ask for."""
        if not self.wait_for(live):
            return {}
        shapes = ((self._view.shapes[pods.shape], len(pods.names)) for pods in live.pods)
        there = _sum(self._dimensions.need(shape) for shape, number in shapes if shape.is_daemon for _ in range(number))
        return {dimension: max(0, amount - there.get(dimension, 0)) for dimension, amount in self.on(host).items()}


def _most(each: Sequence[Amounts]) -> Amounts:
    """Of each dimension."""
    return {dimension: max(one.get(dimension, 0) for one in each) for dimension in sorted({d for one in each for d in one})}


def _sum(needs: Iterable[Need]) -> dict[int, int]:
    total: dict[int, int] = {}
    for need in needs:
        for dimension, amount in (*need.alone, *need.drains):
            total[dimension] = total.get(dimension, 0) + amount
    return total
