"""A plane on which worlds are set up, many at once, and what its scheduler made of their pods."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic, sleep
from types import TracebackType

from spillway_local.control_plane import ControlPlane
from spillway_local.control_plane.client import Client
from spillway_local.control_plane.watching import Watching
from spillway_local.judge.canary import canary
from spillway_local.judge.caretaker import Caretaker
from spillway_local.judge.queue import Queue
from spillway_local.judge.scene import Key, key_of
from spillway_local.kube_api.kinds import POD, Kinds
from spillway_local.kube_api.protocol import Object, What
from spillway_local.kube_api.refusals import Refusal

_THREADS = 12
_LOOK_S = 0.05
_LOOK_AT_QUEUE_S = 0.2
_LIMIT_S = 90.0
_WITH_PODS = ("Pod", "DaemonSet", "PersistentVolumeClaim")
_WITH_NODES = ("Node", "PersistentVolume", "CSINode", "CSIDriver", "StorageClass", "VolumeAttachment")
_OWN_STATUS = frozenset({"PersistentVolume", "PersistentVolumeClaim"})  # read by the scheduler; creating drops it
_SHARED = ("Namespace", "PriorityClass", "RuntimeClass")  # stay from world to world
_FIRST = (*_SHARED, "CSIDriver", "StorageClass", "PersistentVolumeClaim", "PersistentVolume", "CSINode", "Node")


class NotAtRest(RuntimeError):
    """The scheduler still has work after the time allowed: the message tells what."""


@dataclass(frozen=True)
class Verdict:
    """`node` is "" for a pod that is not bound; then `message` says why, in the scheduler's words, once it has tried."""

    node: str = ""
    message: str = ""

    @property
    def is_told(self) -> bool:
        return bool(self.node or self.message)

    @property
    def text(self) -> str:
        """Without what the scheduler says about preemption."""
        return f"bound to {self.node}" if self.node else self.message.partition(" preemption:")[0] or "no word"


PREEMPTED = Verdict(message="preempted, and gone")


class Stage:
    """Use it as a context manager. It owns the plane's nodes and namespaces: `clear` removes all of them."""

    def __init__(self, plane: ControlPlane) -> None:
        self._client = Client(plane.url, plane.ca_file, plane.token)
        self._queue = Queue(plane)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="stage")
        self._kinds = Kinds()
        self._pods: dict[Key, Verdict] = {}
        self._lock = threading.Lock()
        self._care = Caretaker(self._client, self._in_background)
        self._troubles: list[BaseException] = []
        self._watches: list[Watching] = []
        self._shared: set[tuple[str, str]] = set()
        self._claims: dict[Key, str] = {}  # uids that the server gave them
        self._spaces = set[str]()  # namespaces that something was put in since all was taken away
        self._canaries = 0

    def __enter__(self) -> "Stage":
        listeners = (
            (POD, self._note),
            (self._kinds.named("PersistentVolumeClaim"), self._care.see_claim),
            (self._kinds.named("PersistentVolume"), self._care.see_volume),
        )
        for kind, listener in listeners:
            self._watches.append(Watching(self._client, kind, listener))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for watch in self._watches:
            watch.end()
        self._threads.shutdown()
        self._queue.close()
        self._client.close()

    # Set up and take away

    def put(self, objects: Iterable[Object]) -> None:
        """Creates all, what others lean on first, in the given order within a kind; raises Refusal.

        Pods are created one after the other, so that the scheduler's queue has them in the given order.
        """
        by_kind: dict[str, list[Object]] = {}
        for obj in objects:
            name = obj["kind"], obj["metadata"]["name"]
            if name not in self._shared:
                by_kind.setdefault(obj["kind"], []).append(obj)
            if obj["kind"] in _SHARED:
                self._shared.add(name)
            self._spaces.add(obj["metadata"].get("namespace", "default"))
        pods = by_kind.pop("Pod", [])
        for kind in sorted(by_kind, key=lambda kind: _FIRST.index(kind) if kind in _FIRST else len(_FIRST)):
            list(self._threads.map(self._create, by_kind[kind]))
        bound = [pod for pod in pods if pod["spec"].get("nodeName")]
        list(self._threads.map(self._create, bound))
        queues: dict[str, list[Object]] = {}
        for pod in pods:
            if not pod["spec"].get("nodeName"):
                queues.setdefault(pod["metadata"]["namespace"].partition("-")[0], []).append(pod)
        list(self._threads.map(self._create_in_turn, queues.values()))

    def nominate(self, pods: Mapping[Key, str]) -> None:
        """Sets status.nominatedNodeName of each pod."""

        def write(item: tuple[Key, str]) -> None:
            (namespace, name), node = item
            path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
            self._client.ask("PATCH", path, {"status": {"nominatedNodeName": node}}, "application/merge-patch+json")

        list(self._threads.map(write, pods.items()))

    def replace(self, nodes: Iterable[Object]) -> None:
        """Writes the labels and the spec of nodes that are there."""

        def write(node: Object) -> None:
            path = f"/api/v1/nodes/{node['metadata']['name']}"
            now = self._client.get(path)
            meta = {**now["metadata"], "labels": node["metadata"].get("labels", {})}
            self._client.ask("PUT", path, {**now, "metadata": meta, "spec": node["spec"]})

        list(self._threads.map(write, nodes))

    def clear(self) -> None:
        """Empties the plane of nodes, pods and what volumes need, if anything is there."""
        if not self._spaces:
            return
        paths = [kind.path(namespace) for namespace in sorted(self._spaces) for kind in map(self._kinds.named, _WITH_PODS)]
        paths += [self._kinds.named(name).path() for name in _WITH_NODES]
        list(self._threads.map(lambda path: self._client.ask("DELETE", f"{path}?gracePeriodSeconds=0"), paths))
        self._until(lambda: not self.verdicts(), "pods are left after all were deleted")
        self._spaces.clear()

    # What is so

    def verdicts(self) -> dict[Key, Verdict]:
        """Of all pods that there are."""
        with self._lock:
            return dict(self._pods)

    def objects(self, kind: str) -> list[Object]:
        """All of a kind, as the server lists them, with kind and apiVersion."""
        found = self._kinds.named(kind)
        listed = self._client.get(found.path())
        return [{"kind": found.name, "apiVersion": found.api_version, **item} for item in listed["items"]]

    def settle(self) -> dict[Key, Verdict]:
        """Waits until the scheduler has nothing left to do and has said why; gives `verdicts`. Raises NotAtRest.

        We may hear of a pod before the scheduler does. So when it rests, a node and a pod for it come last: once that pod is
        bound, the scheduler has seen all nodes and bindings before; if it rests again with nothing changed, no pod is left that
        a node, or another pod, could still help.
        """
        before: dict[Key, str] | None = None
        while True:
            self._until(self._is_at_rest, "the scheduler is not at rest", _LOOK_AT_QUEUE_S)
            found = self.verdicts()
            nodes = {key: verdict.node for key, verdict in found.items()}
            if nodes == before:
                return found
            before = nodes
            self._send_canary()

    def _send_canary(self) -> None:
        self._canaries += 1
        node, pod = canary(self._canaries)
        name = pod["metadata"]["name"]
        self._create(node)
        self._create(pod)
        self._until(lambda: bool(self.verdicts()[key_of(pod)].node), "the scheduler does not take up new pods")
        self._client.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")
        self._client.ask("DELETE", f"/api/v1/nodes/{name}")
        self._until(lambda: key_of(pod) not in self.verdicts(), "the last pod does not go")

    def _is_at_rest(self) -> bool:
        unbound = [verdict for verdict in self.verdicts().values() if not verdict.node]
        if not all(one.message for one in unbound):
            return False
        return self._queue.set_aside() == len(unbound)

    def _until(self, holds: Callable[[], bool], problem: str, look_s: float = _LOOK_S) -> None:
        end = monotonic() + _LIMIT_S
        while not holds():
            if self._troubles:
                raise self._troubles[0]
            if monotonic() > end:
                untold = [f"{namespace}/{name}" for (namespace, name), one in self.verdicts().items() if not one.is_told]
                raise NotAtRest(f"{problem} after {_LIMIT_S:.0f} s; no word yet on {untold[:5]}")
            sleep(look_s)

    def _in_background(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads.submit(work, *arguments).add_done_callback(self._heed)

    def _heed(self, done: Future[None]) -> None:
        if trouble := done.exception():
            self._troubles.append(trouble)

    def _create_in_turn(self, objects: Sequence[Object]) -> None:
        for obj in objects:
            self._create(obj)

    def _create(self, obj: Object) -> None:
        kind = self._kinds.of(obj["apiVersion"], obj["kind"], "namespace" in obj["metadata"])
        path = kind.path(obj["metadata"].get("namespace", ""))
        if claim := obj["spec"].get("claimRef") if kind.name == "PersistentVolume" else None:
            uid = self._claims[claim["namespace"], claim["name"]]
            obj = {**obj, "spec": {**obj["spec"], "claimRef": {**claim, "uid": uid}}}
        try:
            made = self._client.ask("POST", path, obj)
        except Refusal as refusal:
            if refusal.reason == "AlreadyExists" and kind.name in _SHARED:
                return  # another stage on this plane was here before
            raise
        if kind.name in _OWN_STATUS:
            self._client.ask("PUT", f"{path}/{obj['metadata']['name']}/status", {**made, "status": obj["status"]})
        if kind.name == "PersistentVolumeClaim":
            self._claims[key_of(made)] = made["metadata"]["uid"]
        if kind.name == "Pod":
            with self._lock:
                self._pods.setdefault(key_of(obj), Verdict(obj["spec"].get("nodeName", "")))

    def _note(self, what: What, pod: Object) -> None:
        self._care.see_pod(what, pod)
        with self._lock:
            if what == "DELETED":
                self._pods.pop(key_of(pod), None)
            else:
                self._pods[key_of(pod)] = _verdict(pod)


def _verdict(pod: Object) -> Verdict:
    node = pod["spec"].get("nodeName", "")
    conditions = pod["status"].get("conditions") or ()
    refused = [one for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False"]
    return Verdict(node, refused[0].get("message", "") if refused and not node else "")
