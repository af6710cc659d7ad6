"""The kubelets: nodes join and leave, bound pods start, end and stop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spillway_local.kube_api import pods
from spillway_local.kube_api.deletion import delete
from spillway_local.kube_api.kinds import NODE, POD
from spillway_local.kube_api.protocol import Clock, Timer
from spillway_local.kube_api.store import Body, Change, Record, Store, stamp

DURATION = "local.spillway.io/duration-s"  # annotation: how long a pod runs until it has succeeded
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_UNREACHABLE = "node.kubernetes.io/unreachable"
_SILENCE_S = 40.0  # until the node controller misses a kubelet (node-monitor-grace-period)
_TOLERATED_S = 300.0  # how long a pod stays on a node that is unreachable (DefaultTolerationSeconds)


@dataclass
class Timing:
    """Seconds of the cluster's time."""

    start_s: float = 2.0  # from bound to Running and Ready
    stop_s: float = 1.0  # how long a pod takes to stop, within its grace
    duration_s: Callable[[dict[str, Any]], float | None] | None = None  # of a pod, when its annotation says nothing


class Kubelets:
    def __init__(self, store: Store, clock: Clock, timing: Timing) -> None:
        self._store, self._clock, self._timing = store, clock, timing
        self._silent: set[str] = set()
        self._timers: dict[tuple[str, str], Timer] = {}  # what happens next to a pod: (uid, what)
        store.subscribe(self._on_change)

    def join(self, node: Body, ready_after_s: float = 0.0) -> Record:
        """Registers a node with the body given; Ready at once or after a while, tainted until then."""
        name = node["metadata"]["name"]
        self._silent.discard(name)
        status = {"capacity": (node.get("status") or {}).get("allocatable", {}), **(node.get("status") or {})}
        labels = {"kubernetes.io/hostname": name, **(node["metadata"].get("labels") or {})}
        body = {**node, "metadata": {**node["metadata"], "labels": labels}, "status": status}
        body = pods.with_condition(body, self._ready(not ready_after_s))
        if ready_after_s:
            spec = body.get("spec") or {}
            body["spec"] = {**spec, "taints": [*(spec.get("taints") or ()), _NOT_READY]}
            self._clock.call_in(ready_after_s, lambda: self.set_ready(name, True))
        return self._store.create(NODE, {key: value for key, value in body.items() if key not in ("kind", "apiVersion")})

    def leave(self, name: str) -> None:
        """The machine is gone: its kubelet falls silent, its pods end unseen, its Node object stays until deleted."""
        self._silent.add(name)
        self._clock.call_in(_SILENCE_S, lambda: self._miss(name))

    def set_ready(self, name: str, ready: bool) -> None:
        """The node's Ready condition, with the taint that the node controller keeps beside it."""
        with self._store.lock:
            record = self._store.find(NODE, ("", name))
            if record is None or (ready and name in self._silent):
                return
            body = pods.with_condition(record.body, self._ready(ready))
            others = _without(body, _NOT_READY["key"])
            spec = {**(body.get("spec") or {}), "taints": others if ready else [*others, _NOT_READY]}
            self._store.replace(record, {**body, "spec": _tidy(spec)})

    def _ready(self, ready: bool) -> Body:
        now = stamp(self._clock.now())
        reason = "KubeletReady" if ready else "KubeletNotReady"
        times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
        return {"type": "Ready", "status": "True" if ready else "False", "reason": reason, **times}

    def _miss(self, name: str) -> None:
        with self._store.lock:
            record = self._store.find(NODE, ("", name))
            if record is None or name not in self._silent:
                return
            now = stamp(self._clock.now())
            unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": now}
            body = pods.with_condition(record.body, {**unknown, "message": "Kubelet stopped posting node status."})
            taints = [{"key": _UNREACHABLE, "effect": effect, "timeAdded": now} for effect in ("NoSchedule", "NoExecute")]
            spec = {**(body.get("spec") or {}), "taints": [*_without(body, _UNREACHABLE), *taints]}
            self._store.replace(record, {**body, "spec": spec})
            for pod in self._on(name):
                if not pods.is_terminating(pod.body) and not _stays(pod.body):
                    self._plan(pod, "miss", _TOLERATED_S, lambda pod=pod: delete(self._store, pod, {}))  # type: ignore[misc]

    def _on(self, node: str) -> list[Record]:
        return [record for record in self._store.records(POD) if pods.node_of(record.body) == node]

    def _on_change(self, change: Change) -> None:
        record = change.record
        if record.kind is NODE and change.what == "DELETED":
            self._clock.call_in(0, lambda: self._collect(record.name))
        if record.kind is not POD or not pods.node_of(record.body):
            return
        if change.what == "DELETED" or pods.is_finished(record.body):
            for what in ("start", "end", "stop", "miss"):
                if timer := self._timers.pop((record.metadata["uid"], what), None):
                    timer.cancel()
        if change.what == "DELETED" or pods.node_of(record.body) in self._silent:
            return
        if pods.is_terminating(record.body):
            grace_s = record.metadata.get("deletionGracePeriodSeconds", 0)
            self._plan(record, "stop", min(grace_s, self._timing.stop_s), lambda: self._stop(record))
        elif (record.body.get("status") or {}).get("phase", "Pending") == "Pending":
            self._plan(record, "start", self._timing.start_s, lambda: self._start(record))
        elif not pods.is_finished(record.body):
            self._plan_end(record)

    def _plan(self, pod: Record, what: str, seconds: float, action: Callable[[], object]) -> None:
        """Once per pod and kind of action."""
        mark = (pod.metadata["uid"], what)
        if mark not in self._timers:
            self._timers[mark] = self._clock.call_in(seconds, lambda: self._come(mark, action))

    def _come(self, mark: tuple[str, str], action: Callable[[], object]) -> None:
        with self._store.lock:
            if self._timers.pop(mark, None):
                action()

    def _current(self, pod: Record) -> Record | None:
        """The pod as it is now, None when it is gone or its kubelet is."""
        now = self._store.find(POD, pod.key)
        if now is None or now.metadata["uid"] != pod.metadata["uid"] or pods.node_of(now.body) in self._silent:
            return None
        return now

    def _start(self, pod: Record) -> None:
        now = self._current(pod)
        if now and not pods.is_terminating(now.body):
            at = stamp(self._clock.now())
            body = now.body
            for kind in ("Initialized", "ContainersReady", "Ready"):
                body = pods.with_condition(body, {"type": kind, "status": "True", "lastTransitionTime": at})
            status = {name: value for name, value in body["status"].items() if name != "nominatedNodeName"}
            self._store.replace(now, {**body, "status": {**status, "phase": "Running", "startTime": at}})

    def _plan_end(self, pod: Record) -> None:
        text = (pod.metadata.get("annotations") or {}).get(DURATION)
        duration_s = float(text) if text else self._timing.duration_s(pod.body) if self._timing.duration_s else None
        if duration_s is not None:
            self._plan(pod, "end", duration_s, lambda: self._end(pod))

    def _end(self, pod: Record) -> None:
        if now := self._current(pod):
            at = stamp(self._clock.now())
            done = {"type": "Ready", "status": "False", "reason": "PodCompleted", "lastTransitionTime": at}
            self._store.replace(now, pods.with_condition(now.body, done, phase="Succeeded"))

    def _stop(self, pod: Record) -> None:
        if now := self._current(pod):
            delete(self._store, now, {"gracePeriodSeconds": 0})

    def _collect(self, node: str) -> None:
        """Pods of a node that is no more go at once (pkg/controller/podgc)."""
        with self._store.lock:
            if self._store.find(NODE, ("", node)) is None:
                for pod in self._on(node):
                    delete(self._store, pod, {"gracePeriodSeconds": 0})


def _without(node: Body, key: str) -> list[Body]:
    return [taint for taint in (node.get("spec") or {}).get("taints") or () if taint["key"] != key]


def _tidy(spec: Body) -> Body:
    return {key: value for key, value in spec.items() if key != "taints" or value}


def _stays(pod: Body) -> bool:
    """DaemonSet pods tolerate an unreachable node for ever."""
    return (pods.controller(pod) or {}).get("kind") == "DaemonSet"
