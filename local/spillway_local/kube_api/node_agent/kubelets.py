"""The kubelets: pods that are bound start, end and stop."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from spillway_local.kube_api import pods
from spillway_local.kube_api.protocol import Cluster, Object, Timer, What
from spillway_local.kube_api.refusals import unless_gone
from spillway_local.kube_api.store import stamp

DURATION = "local.spillway.io/duration-s"  # annotation: how long a pod runs until it has succeeded
_TOLERATED_S = 300.0  # how long a pod stays on a node that is unreachable (DefaultTolerationSeconds)


@dataclass
class Timing:
    """Seconds of the cluster's time."""

    start_s: float = 2.0  # from bound to Running and Ready
    stop_s: float = 1.0  # how long a pod takes to stop, within its grace
    duration_s: Callable[[dict[str, Any]], float | None] | None = None  # of a pod, when its annotation says nothing


class Kubelets:
    def __init__(self, cluster: Cluster, timing: Timing) -> None:
        self._cluster, self._clock, self._timing = cluster, cluster.clock, timing
        self._lock = threading.Lock()  # never held while the cluster is asked
        self._silent: set[str] = set()
        self._bound: dict[str, dict[str, Object]] = {}  # node -> uid -> pod as last heard of
        self._timers: dict[tuple[str, str], Timer] = {}  # what happens next to a pod: (uid, what)

    def is_silent(self, node: str) -> bool:
        return node in self._silent

    def speak(self, node: str) -> None:
        """A machine of that name has come."""
        self._silent.discard(node)

    def fall_silent(self, node: str) -> None:
        """The machine is gone: its pods end unseen."""
        self._silent.add(node)

    def give_up(self, node: str) -> None:
        """Pods of a node that is unreachable are deleted in the end; nobody is there to stop them."""
        for pod in self._on(node):
            if not pods.is_terminating(pod) and not _stays(pod):
                grace_s = pod["spec"].get("terminationGracePeriodSeconds", 30)
                self._plan(pod, "miss", _TOLERATED_S, partial(self._delete, pod, grace_s))

    def collect(self, node: str) -> None:
        """Pods of a node that is no more go at once (pkg/controller/podgc)."""
        for pod in self._on(node):
            self._delete(pod, 0)

    def heard(self, what: What, pod: Object) -> None:
        """The listener of the pods."""
        node, uid = pods.node_of(pod), pod["metadata"]["uid"]
        if not node:
            return
        with self._lock:
            here = self._bound.setdefault(node, {})
            if what == "DELETED":
                here.pop(uid, None)
            else:
                here[uid] = pod
        if what == "DELETED" or pods.is_finished(pod):
            self._forget(uid)
        if what == "DELETED" or node in self._silent:
            return
        if pods.is_terminating(pod):
            grace_s = pod["metadata"].get("deletionGracePeriodSeconds", 0)
            self._plan(pod, "stop", min(grace_s, self._timing.stop_s), lambda: self._stop(pod))
        elif _is_pending(pod):
            self._plan(pod, "start", self._timing.start_s, lambda: self._start(pod))
        elif not pods.is_finished(pod):
            self._plan_end(pod)

    def _on(self, node: str) -> list[Object]:
        with self._lock:
            return list(self._bound.get(node, {}).values())

    def _plan(self, pod: Object, what: str, seconds: float, action: Callable[[], object]) -> None:
        """Once per pod and kind of action."""
        mark = (pod["metadata"]["uid"], what)
        with self._lock:
            if mark not in self._timers:
                self._timers[mark] = self._clock.call_in(seconds, lambda: self._come(mark, action))

    def _come(self, mark: tuple[str, str], action: Callable[[], object]) -> None:
        with self._lock:
            due = self._timers.pop(mark, None)
        if due:
            action()

    def _forget(self, uid: str) -> None:
        with self._lock:
            for what in ("start", "end", "stop", "miss"):
                if timer := self._timers.pop((uid, what), None):
                    timer.cancel()

    def _plan_end(self, pod: Object) -> None:
        text = (pod["metadata"].get("annotations") or {}).get(DURATION)
        duration_s = float(text) if text else self._timing.duration_s(pod) if self._timing.duration_s else None
        if duration_s is not None:
            self._plan(pod, "end", duration_s, lambda: self._end(pod))

    def _start(self, pod: Object) -> None:
        def run(now: Object) -> None:
            if pods.is_terminating(now) or not _is_pending(now):
                return
            at = stamp(self._clock.now())
            for kind in ("Initialized", "ContainersReady", "Ready"):
                now["status"] = pods.with_condition(now, {"type": kind, "status": "True", "lastTransitionTime": at})["status"]
            now["status"] |= {"phase": "Running", "startTime": at}
            now["status"].pop("nominatedNodeName", None)

        self._edit(pod, run)

    def _end(self, pod: Object) -> None:
        def succeed(now: Object) -> None:
            at = stamp(self._clock.now())
            done = {"type": "Ready", "status": "False", "reason": "PodCompleted", "lastTransitionTime": at}
            now["status"] = pods.with_condition(now, done, phase="Succeeded")["status"]

        self._edit(pod, succeed)

    def _stop(self, pod: Object) -> None:
        if pods.node_of(pod) not in self._silent:
            self._delete(pod, 0)

    def _edit(self, pod: Object, change: Callable[[Object], None]) -> None:
        """Unless the pod is gone or its kubelet is; a namesake is another pod."""
        meta = pod["metadata"]

        def guarded(now: Object) -> None:
            if now["metadata"]["uid"] == meta["uid"] and pods.node_of(now) not in self._silent:
                change(now)

        with unless_gone():
            self._cluster.edit("Pod", meta["name"], guarded, meta["namespace"])

    def _delete(self, pod: Object, grace_s: int) -> None:
        meta = pod["metadata"]
        with self._lock:
            there = meta["uid"] in self._bound.get(pods.node_of(pod), {})
        if there:
            with unless_gone():
                self._cluster.remove("Pod", meta["name"], meta["namespace"], grace_s)


def _is_pending(pod: Object) -> bool:
    return bool((pod.get("status") or {}).get("phase", "Pending") == "Pending")


def _stays(pod: Object) -> bool:
    """DaemonSet pods tolerate an unreachable node for ever."""
    return (pods.controller(pod) or {}).get("kind") == "DaemonSet"
