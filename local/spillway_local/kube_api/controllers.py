"""Controllers: pods of DaemonSets on every node they fit, and new pods for lost ones."""

from typing import Any

from spillway_local.kube_api import pods
from spillway_local.kube_api.defaults import pod_spec
from spillway_local.kube_api.fit import Place, shape_of
from spillway_local.kube_api.kinds import DAEMON_SET, NODE, POD, Kinds
from spillway_local.kube_api.protocol import Clock
from spillway_local.kube_api.store import Body, Change, Record, Store

_SOON_S = 0.1
_REPLACED = frozenset({"ReplicaSet", "StatefulSet", "ReplicationController", "Job"})
# What every DaemonSet pod tolerates: pkg/controller/daemon/util/daemonset_util.go.
_TOLERATIONS = tuple(
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
    for key, effect in (
        ("not-ready", "NoExecute"), ("unreachable", "NoExecute"), ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"), ("pid-pressure", "NoSchedule"), ("unschedulable", "NoSchedule"),
    )
)  # fmt: skip


class Controllers:
    """`replace_lost` False leaves a ReplicaSet or Job short when one of its pods is deleted."""

    def __init__(self, store: Store, kinds: Kinds, clock: Clock) -> None:
        self._store, self._kinds, self._clock = store, kinds, clock
        self.replace_lost = True
        self._daemons_asked = False
        self._made = 0
        store.subscribe(self._on_change)

    def _on_change(self, change: Change) -> None:
        record = change.record
        if record.kind in (NODE, DAEMON_SET) and change.what == "ADDED":
            self._ask_daemons()
        if record.kind is POD and change.what == "DELETED":
            owner = pods.controller(record.body)
            if owner and owner["kind"] == "DaemonSet":
                self._ask_daemons()
            elif owner and owner["kind"] in _REPLACED and not pods.is_finished(record.body):
                self._clock.call_in(_SOON_S, lambda: self._replace(record, owner))

    def _ask_daemons(self) -> None:
        if not self._daemons_asked:
            self._daemons_asked = True
            self._clock.call_in(0, self._run_daemons)

    def _run_daemons(self) -> None:
        with self._store.lock:
            self._daemons_asked = False
            daemon_sets = self._store.records(DAEMON_SET)
            if not daemon_sets:
                return
            there = {
                ((pods.controller(pod.body) or {}).get("uid"), pods.node_of(pod.body))
                for pod in self._store.records(POD)
                if not pods.is_terminating(pod.body)
            }
            for node in self._store.records(NODE):
                place = Place(node.name)
                place.describe(node.body)
                for daemon_set in daemon_sets:
                    if (daemon_set.metadata["uid"], node.name) not in there:
                        self._place(daemon_set, place)

    def _place(self, daemon_set: Record, place: Place) -> None:
        template = daemon_set.body["spec"]["template"]
        spec = pod_spec(template["spec"])
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *_TOLERATIONS]
        if not place.verdict(shape_of({"spec": spec}, {})):
            meta = {**(template.get("metadata") or {}), "namespace": daemon_set.key[0], "ownerReferences": [_owner(daemon_set)]}
            self._create(f"{daemon_set.name}-", meta, {**spec, "nodeName": place.name})

    def _replace(self, lost: Record, owner: Body) -> None:
        """One new pod, unless the owner is gone or has enough; an owner that nobody put in the cluster wants one."""
        if not self.replace_lost:
            return
        with self._store.lock:
            record = self._store.find(self._kinds.of(owner["apiVersion"], owner["kind"], True), (lost.key[0], owner["name"]))
            if record:
                spec = record.body.get("spec") or {}
                living = sum(
                    (pods.controller(pod.body) or {}).get("uid") == owner["uid"]
                    and (pods.is_finished(pod.body) or not pods.is_terminating(pod.body))
                    for pod in self._store.records(POD)
                )
                if living >= int(spec.get("replicas", spec.get("parallelism", 1))):
                    return
            kept = ("labels", "annotations", "ownerReferences", "generateName", "namespace")
            meta = {name: value for name, value in lost.metadata.items() if name in kept}
            spec = {name: value for name, value in lost.body["spec"].items() if name != "nodeName"}
            if owner["kind"] == "StatefulSet":
                self._create("", {**meta, "name": lost.name}, spec)
            else:
                self._create(meta.get("generateName") or f"{owner['name']}-", meta, spec)

    def _create(self, prefix: str, meta: dict[str, Any], spec: Body) -> None:
        namespace = meta["namespace"]
        while "name" not in meta or self._store.find(POD, (namespace, meta["name"])):
            if "name" in meta and not prefix:
                return  # a pod of that name came back by itself
            self._made += 1
            meta = {**meta, "name": f"{prefix}{_suffix(self._made)}"}
        self._store.create(POD, {"metadata": meta, "spec": spec, "status": {"phase": "Pending"}})


def _owner(record: Record) -> Body:
    name = {"apiVersion": record.kind.api_version, "kind": record.kind.name, "name": record.name}
    return {**name, "uid": record.metadata["uid"], "controller": True, "blockOwnerDeletion": True}


def _suffix(number: int) -> str:
    """Five letters from the alphabet that Kubernetes takes its own from, the same in every run."""
    alphabet, letters = "bcdfghjklmnpqrstvwxz2456789", []
    for _ in range(5):
        number, digit = divmod(number * 7 + 3, len(alphabet))
        letters.append(alphabet[digit])
    return "".join(letters)
