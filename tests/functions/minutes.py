"""A minute of watch mode in virtual time, and what happens in it."""

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from spillway import telemetry
from spillway.aws.table import snapshots
from spillway.kube import watch
from spillway.kube.streams import Streams, Told
from spillway.telemetry import Metric
from spillway_local.clock import VirtualClock
from spillway_local.handlers import Handlers
from spillway_local.kube_api import Cluster, FakeCluster
from tests.kube.handlers import World, handlers_on
from tests.kube.objects import node, pod

STEP_S = 0.25  # what passes while nothing is told
LOOK_S = {True: 0.01, False: 0.08}  # in which an event comes, of the fake server and of a real one


@dataclass
class Minute:
    """One tick in watch mode, and what is to happen in the seconds after it."""

    world: World
    metrics: list[tuple[float, dict[Metric, float]]] = field(default_factory=list)
    began: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.world.time.now()

    def now(self) -> float:
        return (self.world.time.now() - self.began).total_seconds()

    def at(self, second: float, action: Callable[[], Any]) -> None:
        self.world.time.call_in(second - self.now(), action)

    def pod_at(self, second: float, name: str) -> None:
        self.at(second, lambda: self.world.api.add(too_large(name)))

    def run(self, lasts_s: float = 55.0, context: Any = None) -> dict[str, Any]:
        """Of a tick that was due so long ago that so many seconds are left."""
        due = self.world.time.now() + timedelta(seconds=lasts_s - 55)
        answer: dict[str, Any] = Handlers()["snapshot_cluster"]({"time": due.isoformat()}, context)
        return answer

    def views(self) -> list[float]:
        """When each view was stored, in seconds after the tick."""
        return [second for second, one in self.metrics if one[Metric.CLUSTER_SNAPSHOTS] == 1]

    def seen(self) -> set[str]:
        return {name for pods in snapshots.latest_cluster(self.world.table).pods for name in pods.names}


@contextmanager
def open_minute(api_server: Cluster) -> Iterator[Minute]:
    """Over a cluster of one node."""
    api_server.add(node("n1"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPILLWAY_WATCH_MODE", "on")
        with handlers_on(api_server) as world:
            opened = Minute(world)

            def emit(cluster: str, values: dict[Metric, float], region: str = "") -> None:
                opened.metrics.append((opened.now(), dict(values)))

            patch.setattr(telemetry, "emit", emit)
            patch.setattr(watch, "Streams", streams_in(world.time, LOOK_S[isinstance(api_server, FakeCluster)]))
            patch.setattr(watch, "sleep", world.pass_s)
            yield opened


def too_large(name: str) -> dict[str, Any]:
    """Which no scheduler gives a node."""
    return pod(name, cpu="99")


def streams_in(time: VirtualClock, look_s: float) -> type[Streams]:
    """Time passes while nothing is told, and not before what is under way has had time to come."""

    class Passing(Streams):
        def next(self, seconds: float) -> Told | None:
            try:
                return self._told.get(timeout=look_s)
            except queue.Empty:
                step_s = min(seconds, STEP_S)
                time.call_in(step_s, lambda: None)
                time.run(limit_s=step_s)
                return None

    return Passing


def about(second: float) -> Any:
    return pytest.approx(second, abs=2 * STEP_S)
