"""Nodes register, are Ready or not, fall silent and leave, with the taints that the node lifecycle controller gives them."""

import threading
from types import TracebackType

from spillway_local.kube_api import pods
from spillway_local.kube_api.node_agent.kubelets import Kubelets, Timing
from spillway_local.kube_api.protocol import Cluster, Object, What
from spillway_local.kube_api.refusals import unless_gone
from spillway_local.kube_api.store import stamp

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_UNREACHABLE = "node.kubernetes.io/unreachable"
_CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_SILENCE_S = 40.0  # until the node controller misses a kubelet (node-monitor-grace-period)
_SOON_S = 0.1


class NodeAgent:
    """Plays all machines of one cluster from its construction until `close`.

    The controllers of node lifecycle and of pods without a node are played too, in the clock's time: no real one can be.
    """

    def __init__(self, cluster: Cluster, timing: Timing | None = None) -> None:
        self._cluster, self._clock = cluster, cluster.clock
        self._kubelets = Kubelets(cluster, timing or Timing())
        self._lock = threading.Lock()  # never held while the cluster is asked: it may hold its own while it calls a listener
        self._there: set[str] = set()
        self._cordons: set[str] = set()  # nodes whose taint is about to follow their cordon
        self._ends = [cluster.watch("Node", self._heard), cluster.watch("Pod", self._kubelets.heard)]

    def close(self) -> None:
        """Nothing new is begun from now on; what was planned still comes."""
        while self._ends:
            self._ends.pop()()

    def __enter__(self) -> "NodeAgent":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def join(self, node: Object, ready_after_s: float = 0.0) -> Object:
        """Registers a node with the body given; Ready at once or after a while, tainted until then."""
        name = node["metadata"]["name"]
        self._kubelets.speak(name)
        status = {"capacity": (node.get("status") or {}).get("allocatable", {}), **(node.get("status") or {})}
        labels = {"kubernetes.io/hostname": name, **(node["metadata"].get("labels") or {})}
        body = {**node, "metadata": {**node["metadata"], "labels": labels}, "status": status}
        body = pods.with_condition(body, self._ready(not ready_after_s))
        if ready_after_s:
            body["spec"] = {**(body.get("spec") or {})}
            _taint(body, _NOT_READY)
            self._clock.call_in(ready_after_s, lambda: self.set_ready(name, True))
        return self._cluster.add(body)

    def leave(self, name: str, delete_node: bool = False) -> None:
        """The machine is gone; its Node turns NotReady after a while and stays, unless a cloud controller deletes it."""
        self._kubelets.fall_silent(name)
        if delete_node:
            with unless_gone():
                self._cluster.remove("Node", name)
        else:
            self._clock.call_in(_SILENCE_S, lambda: self._miss(name))

    def set_ready(self, name: str, ready: bool) -> None:
        """The node's Ready condition, with the taint that goes with it."""

        def change(node: Object) -> None:
            node["status"] = pods.with_condition(node, self._ready(ready))["status"]
            _untaint(node, _NOT_READY["key"])
            if not ready:
                _taint(node, _NOT_READY)

        if not (ready and self._kubelets.is_silent(name)):
            with unless_gone():
                self._cluster.edit("Node", name, change)

    def _heard(self, what: What, node: Object) -> None:
        name = node["metadata"]["name"]
        with self._lock:
            if what == "DELETED":
                self._there.discard(name)
                self._clock.call_in(0, lambda: self._collect(name))
                return
            self._there.add(name)
            cordoned, tainted = _is_cordoned(node)
            if cordoned is not tainted and name not in self._cordons:
                self._cordons.add(name)
                self._clock.call_in(_SOON_S, lambda: self._follow_cordon(name))

    def _ready(self, ready: bool) -> Object:
        now = stamp(self._clock.now())
        reason = "KubeletReady" if ready else "KubeletNotReady"
        times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
        return {"type": "Ready", "status": "True" if ready else "False", "reason": reason, **times}

    def _miss(self, name: str) -> None:
        if not (self._kubelets.is_silent(name) and name in self._there):
            return
        now = stamp(self._clock.now())

        def change(node: Object) -> None:
            unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": now}
            told = {**unknown, "message": "Kubelet stopped posting node status."}
            node["status"] = pods.with_condition(node, told)["status"]
            _untaint(node, _UNREACHABLE)
            _taint(node, *({"key": _UNREACHABLE, "effect": effect, "timeAdded": now} for effect in ("NoSchedule", "NoExecute")))

        with unless_gone():
            self._cluster.edit("Node", name, change)
            self._kubelets.give_up(name)

    def _follow_cordon(self, name: str) -> None:
        """As pkg/controller/nodelifecycle taints every node that is cordoned, by whomever."""
        with self._lock:
            self._cordons.discard(name)

        def change(node: Object) -> None:
            cordoned, tainted = _is_cordoned(node)
            if cordoned and not tainted:
                _taint(node, _CORDONED)
            elif tainted and not cordoned:
                _untaint(node, _CORDONED["key"])

        with unless_gone():
            self._cluster.edit("Node", name, change)

    def _collect(self, name: str) -> None:
        if name not in self._there:
            self._kubelets.collect(name)


def _is_cordoned(node: Object) -> tuple[bool, bool]:
    """Whether it is cordoned, and whether the taint says so."""
    spec = node.get("spec") or {}
    return bool(spec.get("unschedulable")), any(taint["key"] == _CORDONED["key"] for taint in spec.get("taints") or ())


def _taint(node: Object, *taints: Object) -> None:
    spec = node.setdefault("spec", {})
    spec["taints"] = [*(spec.get("taints") or ()), *taints]


def _untaint(node: Object, key: str) -> None:
    """Without taints the field is left out, as the server stores it."""
    spec = node.setdefault("spec", {})
    left = [taint for taint in spec.pop("taints", None) or () if taint["key"] != key]
    if left:
        spec["taints"] = left
