"""A simple default scheduler: pods by priority and age, each on the best node that takes it.

It keeps its own view of nodes and waiting pods from the store's changes, and works only when one of them could matter:
what fitted nowhere is looked at again when a node changes or a pod goes. No preemption, no pod affinity, no spread.
"""

from collections import Counter
from dataclasses import dataclass, field

from spillway_local.kube_api import pods
from spillway_local.kube_api.api import Api
from spillway_local.kube_api.fit import Place, Shape, shape_of
from spillway_local.kube_api.kinds import NODE, POD
from spillway_local.kube_api.protocol import Clock
from spillway_local.kube_api.store import Body, Change, Key, stamp

_SOON_S = 0.1  # so that a batch of new pods is seen as one


@dataclass(eq=False)
class _Waiting:
    key: Key
    shape: Shape
    priority: int
    since: str
    nominated: str

    @property
    def rank(self) -> tuple[int, str, Key]:
        return (-self.priority, self.since, self.key)


@dataclass(eq=False)
class _Doors:
    """Where labels and taints let the pods of one shape in; kept from change to change, as they seldom do."""

    shape: Shape
    open: dict[str, Place] = field(default_factory=dict)
    shut: dict[str, str] = field(default_factory=dict)  # node -> why

    def move(self, name: str, place: Place | None) -> None:
        self.open.pop(name, None)
        self.shut.pop(name, None)
        if place and (verdict := place.verdict(self.shape)):
            self.shut[name] = verdict
        elif place:
            self.open[name] = place


class Scheduler:
    def __init__(
        self, api: Api, clock: Clock, names: frozenset[str] = frozenset({"default-scheduler"}), packed: bool = False
    ) -> None:
        """`names`: the schedulerNames it serves; `packed`: scores as the MostAllocated profile does."""
        self._api, self._clock, self._names, self._packed = api, clock, names, packed
        self._places: dict[str, Place] = {}
        self._homeless: dict[str, dict[str, dict[str, int]]] = {}  # pods bound to nodes that are not there (yet)
        self._shapes: dict[bytes, Shape] = {}
        self._doors: dict[bytes, _Doors] = {}
        self._active: dict[str, _Waiting] = {}
        self._parked: dict[str, _Waiting] = {}
        self._asked = False
        api.store.subscribe(self.on_change)

    def on_change(self, change: Change) -> None:
        if change.record.kind is NODE:
            self._on_node(change)
        elif change.record.kind is POD:
            self._on_pod(change)

    def _on_node(self, change: Change) -> None:
        name = change.record.name
        if change.what == "DELETED":
            self._move_doors(name, None)
            place = self._places.pop(name, None)
            if place and place.here:
                self._homeless[name] = place.here
            return
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = Place(name, here=self._homeless.pop(name, {}))
        if place.describe(change.record.body):
            self._move_doors(name, place)
            self._retry()

    def _on_pod(self, change: Change) -> None:
        pod, uid = change.record.body, change.record.metadata["uid"]
        gone = change.what == "DELETED" or pods.is_finished(pod)
        node = pods.node_of(pod)
        if node or gone or pods.is_terminating(pod):
            self._forget(uid)
        if node and gone:
            place = self._places.get(node)
            self._homeless.get(node, {}).pop(uid, None)
            if place and place.drop(uid):
                self._retry()
        elif node:
            requests = shape_of(pod, self._shapes).requests
            if node in self._places:
                self._places[node].put(uid, requests)
            else:
                self._homeless.setdefault(node, {})[uid] = requests
        elif not gone and not pods.is_terminating(pod):
            self._wait(uid, change)

    def _wait(self, uid: str, change: Change) -> None:
        spec = change.record.body["spec"]
        if spec.get("schedulerName", "default-scheduler") not in self._names or spec.get("schedulingGates"):
            return
        nominated = str((change.record.body.get("status") or {}).get("nominatedNodeName") or "")
        old = self._active.get(uid) or self._parked.get(uid)
        if old and old.nominated == nominated and change.before and change.before.body["spec"] == spec:
            return  # its status changed: our own doing
        self._forget(uid)
        shape = shape_of(change.record.body, self._shapes)
        waiting = _Waiting(
            change.record.key, shape, int(spec.get("priority") or 0), change.record.metadata["creationTimestamp"], nominated
        )
        self._active[uid] = waiting
        self._ask()

    def _forget(self, uid: str) -> None:
        self._active.pop(uid, None)
        self._parked.pop(uid, None)

    def _retry(self) -> None:
        """Something got room or changed its labels: who fitted nowhere may fit now."""
        self._active |= self._parked
        self._parked.clear()
        if self._active:
            self._ask()

    def _ask(self) -> None:
        if not self._asked:
            self._asked = True
            self._clock.call_in(_SOON_S, self.run)

    def run(self) -> None:
        """One pass over all that wait."""
        with self._api.store.lock:
            self._asked = False
            queue = sorted(self._active.items(), key=lambda item: item[1].rank)
            reserved = self._nominate()
            stuck: dict[bytes, str] = {}  # shapes that fit nowhere in this pass; room only shrinks within it
            for uid, waiting in queue:
                if uid not in self._active:
                    continue
                why = None if reserved else stuck.get(waiting.shape.key)
                place = self._choose(uid, waiting) if why is None else None
                if place:
                    place.nominated.pop(uid, None)
                    self._api.bind(waiting.key, place.name)
                    continue
                if why is None:
                    why = stuck[waiting.shape.key] = self._explain(waiting.shape)
                self._park(uid, waiting, why)

    def _nominate(self) -> bool:
        """Whether some pod that waits is nominated; then room may be kept from one pod and not from its like."""
        for place in self._places.values():
            place.nominated.clear()
        for uid, waiting in (*self._active.items(), *self._parked.items()):
            if waiting.nominated in self._places:
                self._places[waiting.nominated].nominated[uid] = (waiting.priority, waiting.shape.requests)
        return any(place.nominated for place in self._places.values())

    def _doors_of(self, shape: Shape) -> _Doors:
        doors = self._doors.get(shape.key)
        if doors is None:
            doors = self._doors[shape.key] = _Doors(shape)
            for name, place in self._places.items():
                doors.move(name, place)
        return doors

    def _move_doors(self, name: str, place: Place | None) -> None:
        for doors in self._doors.values():
            doors.move(name, place)

    def _choose(self, uid: str, waiting: _Waiting) -> Place | None:
        """The nominated node if it takes the pod, else the one with the best score; among equals the first by name."""
        shape, priority = waiting.shape, waiting.priority
        nominated = self._places.get(waiting.nominated)
        if nominated and not nominated.verdict(shape) and nominated.has_room(shape, uid, priority):
            return nominated
        best: Place | None = None
        best_score = -1
        for place in self._doors_of(shape).open.values():
            if place.has_room(shape, uid, priority):
                score = place.score(shape, self._packed)
                if score > best_score or (score == best_score and best is not None and place.name < best.name):
                    best, best_score = place, score
        return best

    def _explain(self, shape: Shape) -> str:
        if not self._places:
            return "no nodes available to schedule pods"
        doors = self._doors_of(shape)
        reasons = Counter(doors.shut.values())
        reasons.update(reason for place in doors.open.values() for reason in place.lacks(shape))
        texts = sorted(f"{count} {reason}" for reason, count in reasons.items())
        return f"0/{len(self._places)} nodes are available: {', '.join(texts)}."

    def _park(self, uid: str, waiting: _Waiting, why: str) -> None:
        self._parked[uid] = self._active.pop(uid)
        record = self._api.store.get(POD, waiting.key)
        known = pods.condition(record.body, "PodScheduled")
        if (known.get("status"), known.get("message")) == ("False", why):
            return
        now = stamp(self._clock.now())
        condition: Body = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
        condition |= {"lastProbeTime": None, "lastTransitionTime": now}
        self._api.store.replace(record, pods.with_condition(record.body, condition))
