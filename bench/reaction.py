"""From a pod that the scheduler finds no node for to the capacity that AWS has accepted for it, end to end.

A real control plane, emulated AWS, the real handlers and the real workflow, joined as `spillway_local.world` joins them;
time is the wall's. Pods come at random, each as large as a node, so the n-th of them is served by the capacity of n. A pod's
time begins when a watch of our own sees its condition PodScheduled=False, since the time in the condition has whole seconds.
In it are half a second from the table's stream to the function (`emulator/sources.py`), and no network but the loopback.
"""

import json
import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median, quantiles
from time import monotonic
from typing import Any

from bench.check import Wrong
from bench.data import ROOT, Missing
from bench.figure import Figure
from spillway.aws import clients
from spillway.env import env
from spillway_local.control_plane import ControlPlane
from spillway_local.control_plane.binaries import are_there
from spillway_local.emulator.functions import FunctionFailed
from spillway_local.kube_api import Object, What
from spillway_local.kube_api.pods import condition
from spillway_local.world import World
from spillway_local.world_dump import RawDump, read_raw

GOAL_S = 2.0  # to the start of the plan, half of the time
_MINUTES = {"on": 2, "off": 3}
_EVERY_S = 4.0  # on average
_MINUTE_S, _LATE_S = 60.0, 90.0


def reaction() -> Iterator[Figure]:
    """Of watch mode, and beside it once a minute; raises Missing where there is no control plane."""
    if not are_there():
        raise Missing("no real control plane: `make test-cluster` builds it")
    for mode, name in (("on", "reaction"), ("off", "reaction_once_a_minute")):
        moments = _measure(mode)
        for what, suffix, goal in ((moments.planned(), "_plan", GOAL_S), (moments.served(), "", None)):
            yield {
                "figure": name + suffix, "value": round(median(what), 2), "unit": "s", "goal": goal if mode == "on" else None,
                "p95": round(quantiles(what, n=20)[-1], 2), "least": round(min(what), 2), "most": round(max(what), 2),
                "pods": len(what), "checked": True,
            }  # fmt: skip


@dataclass
class _Moments:
    """When pods turned unschedulable by name, when plans began, and when the sum of all capacities became what."""

    world: World
    pods: dict[str, float] = field(default_factory=dict)
    plans: list[float] = field(default_factory=list)
    capacity: list[tuple[float, int]] = field(default_factory=list)

    def pod(self, what: What, pod: Object) -> None:
        judged = condition(pod, "PodScheduled")
        if what != "DELETED" and (judged.get("status"), judged.get("reason")) == ("False", "Unschedulable"):
            self.pods.setdefault(pod["metadata"]["name"], monotonic())

    def function(self, name: str, event: Object) -> None:
        if name == "plan":
            self.plans.append(monotonic())

    def accepted(self, http_response: Any, **_: Any) -> None:
        if http_response.status_code == 200:
            self.capacity.append((monotonic(), sum(self.world.desired().values())))

    def served(self) -> list[float]:
        """Seconds of each pod. Raises Wrong for one that was never served."""
        return [at - began for began, at in self._pairs()]

    def planned(self) -> list[float]:
        return [max(start for start in self.plans if start < at) - began for began, at in self._pairs()]

    def _pairs(self) -> Iterator[tuple[float, float]]:
        for number, began in enumerate(sorted(self.pods.values()), 1):
            at = next((at for at, total in self.capacity if total >= number and at > began), None)
            if at is None:
                raise Wrong(f"pod {number} of {len(self.pods)} was not served")
            yield began, at


def _measure(mode: str) -> _Moments:
    minutes = _MINUTES[mode]
    with ControlPlane() as plane, World(_empty(), plane=plane, ticks=False) as world, _watch_mode(mode):
        moments, ended = _Moments(world), threading.Event()
        world.cluster.watch("Pod", moments.pod)
        world.aws.functions.before = moments.function
        events = clients.client("autoscaling", world.raw.home).meta.events
        events.register("after-call.auto-scaling.SetDesiredCapacity", moments.accepted)
        made: list[str] = []
        threads = [
            threading.Thread(target=_tick, args=(world, minutes + 1, ended)),
            threading.Thread(target=_come, args=(world, minutes * _MINUTE_S, made, ended)),
        ]
        for thread in threads:
            thread.start()

        def done() -> bool:
            capacity = moments.capacity[-1][1] if moments.capacity else 0
            return not threads[1].is_alive() and capacity >= len(made)

        try:
            world.run(done, minutes * _MINUTE_S + _LATE_S)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
    if world.aws.functions.failures:
        raise Wrong(f"a function failed: {world.aws.functions.failures[0]}")
    return moments


def _tick(world: World, minutes: int, ended: threading.Event) -> None:
    """Each minute both snapshots, as the Scheduler does."""
    began = monotonic()
    for minute in range(minutes):
        if ended.wait(max(0.0, began + minute * _MINUTE_S - monotonic())):
            return
        due = world.clock.now().isoformat()
        for name in ("snapshot_fleet", "snapshot_cluster"):
            try:
                world.aws.functions.invoke(name, {"time": due})
            except FunctionFailed:
                ended.set()  # it is among the failures


def _come(world: World, seconds: float, made: list[str], ended: threading.Event) -> None:
    """Pods, each too large for a second one on its node."""
    chance, began = random.Random(0), monotonic()
    while not ended.wait(chance.expovariate(1 / _EVERY_S)) and monotonic() - began < seconds:
        name = f"pod-{len(made)}"
        container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "3"}}}
        spec = {"containers": [container]}
        world.cluster.add({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec})
        made.append(name)


def _empty() -> RawDump:
    """The group of the idle example, without machines."""
    raw = read_raw(ROOT / "examples" / "idle")
    answers = json.loads(json.dumps(raw.answers[raw.home]))
    answers["AutoScalingGroups"][0].update(MinSize=0, MaxSize=500, DesiredCapacity=0, Instances=[])
    policy = {"may_be_empty": True, "scale_in": {"enabled": False}}
    return RawDump(raw.cluster, raw.home, raw.now, (), {raw.home: {**answers, "Reservations": []}}, policy)


@contextmanager
def _watch_mode(mode: str) -> Iterator[None]:
    """In the world's own environment, which ends with it."""
    os.environ["SPILLWAY_WATCH_MODE"] = mode
    env.cache_clear()
    yield
