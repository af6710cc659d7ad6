"""A fake Kubernetes cluster: API server over HTTP on the loopback, with scheduler, kubelets and controllers.

It answers as the real server does, so far as an autoscaler from outside can see it, and its time is the clock's.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec

from spillway_local.kube_api import pods
from spillway_local.kube_api.access import TESTER, Access
from spillway_local.kube_api.api import Api
from spillway_local.kube_api.backend import FakeBackend
from spillway_local.kube_api.controllers import Controllers
from spillway_local.kube_api.defaults import check
from spillway_local.kube_api.deletion import delete
from spillway_local.kube_api.kinds import BUDGET, NAMESPACE, POD, Kind, Kinds
from spillway_local.kube_api.node_agent import DURATION, NodeAgent, Timing
from spillway_local.kube_api.protocol import Clock, Cluster, Object, What
from spillway_local.kube_api.refusals import Refusal
from spillway_local.kube_api.scheduler import Scheduler
from spillway_local.kube_api.served import Served
from spillway_local.kube_api.store import Change, Key, Record, Store

__all__ = ["DURATION", "Clock", "Cluster", "FakeCluster", "Kind", "NodeAgent", "Object", "Refusal", "Timing", "What"]


class FakeCluster(Served):
    """One cluster. What it holds stays when it stops.

    Scheduler, kubelets and controllers act in the clock's timers only: without a driver of the clock nothing moves
    by itself, and objects stay as they were put.
    """

    def __init__(self, clock: Clock, timing: Timing | None = None, packed: bool = False, replace_lost: bool = True) -> None:
        """`packed`: the scheduler's MostAllocated profile; `replace_lost`: ReplicaSets and Jobs make new pods for lost ones."""
        self.kinds = Kinds()
        self.store = Store(clock.now)
        self.api = Api(self.store, self.kinds, clock)
        self.access = Access(self.store)
        super().__init__(FakeBackend(self.api, self.access), clock)
        self.agent = NodeAgent(self, timing)
        self.controllers = Controllers(self.store, self.kinds, clock)
        self.controllers.replace_lost = replace_lost
        self.scheduler = Scheduler(self.api, clock, packed=packed)
        for name in ("default", "kube-node-lease", "kube-public", "kube-system"):
            self._have_namespace(name)

    @property
    def tokens(self) -> Mapping[str, str]:
        """A bearer token for each user: `tester` and `spillway`."""
        return self.access.tokens

    @property
    def token(self) -> str:
        """The tester's."""
        return self.access.tokens[TESTER]

    def allow(self, rules: Iterable[tuple[str, str]] | None) -> None:
        """The tester may do only these (verb, resource) from now on, as `("create", "pods/eviction")`; None: all."""
        self.access.allow(rules)

    # What the cluster holds

    def define(self, group: str, version: str, name: str, plural: str, namespaced: bool = True) -> Kind:
        """Serves a custom resource."""
        return self.kinds.define(Kind(group, version, name, plural, namespaced, ("status",)))

    def add(self, obj: Object) -> Object:
        """Stores an object (or the items of a List) as it is, uid, times and status included; raises Refusal 400, 409.

        A namespace that is not there is made, and one that is there stays as it is.
        """
        if "items" in obj:
            for item in obj["items"]:
                self.add({"apiVersion": obj.get("apiVersion", "v1"), "kind": obj["kind"].removesuffix("List"), **item})
            return obj
        meta = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
        kind = self.kinds.of(obj["apiVersion"], obj["kind"], "namespace" in meta)
        if kind.namespaced:
            self._have_namespace(meta.setdefault("namespace", "default"))
        if kind is NAMESPACE and (there := self.store.find(NAMESPACE, ("", meta["name"]))):
            return _copy(there)
        body = {**obj, "metadata": meta}
        if kind is POD:
            body["status"] = {"phase": "Pending", **(obj.get("status") or {})}
        check(kind, body)
        return _copy(self.store.create(kind, {name: body[name] for name in body if name not in ("kind", "apiVersion")}))

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """A copy of the object, None when there is none."""
        record = self.store.find(*self._key(kind, name, namespace))
        return _copy(record) if record else None

    def objects(self, kind: str) -> list[Object]:
        """Copies of all objects of a kind, by namespace and name."""
        return [_copy(record) for record in self.records(kind)]

    def records(self, kind: str) -> tuple[Record, ...]:
        """The same without copies, for looking often: `record.body` must not be changed."""
        found = self.kinds.named(kind)
        if found is BUDGET:
            self.api.budgets.refresh()
        return self.store.records(found)

    def edit(self, kind: str, name: str, change: Callable[[Object], None], namespace: str | None = None) -> Object:
        """Has `change` work on a copy and stores what comes of it; raises Refusal 404."""
        found, key = self._key(kind, name, namespace)
        with self.store.lock:
            record = self.store.get(found, key)
            body = _copy(record)
            change(body)
            return _copy(self.store.replace(record, body))

    def remove(self, kind: str, name: str, namespace: str | None = None, grace_s: int = 0) -> None:
        """Deletes an object as a client would; raises Refusal 404."""
        delete(self.store, self.store.get(*self._key(kind, name, namespace)), {"gracePeriodSeconds": grace_s})

    def watch(self, kind: str, listener: Callable[[What, Object], None]) -> Callable[[], None]:
        """Has `listener` told of what there is, as ADDED, and then of each change; the answer ends that.

        It is called under the store's lock by the thread that writes.
        """
        found = self.kinds.named(kind)

        def tell(change: Change) -> None:
            if change.record.kind is found:
                listener(change.what, _whole(change.record))

        with self.store.lock:
            for record in self.records(kind):
                listener("ADDED", _whole(record))
            return self.store.subscribe(tell)

    def phases(self) -> Counter[str]:
        """How many pods are in each phase; `Terminating` counts as a phase of its own."""
        return pods.phases(record.body for record in self.store.records(POD))

    # Machines

    def join(self, node: Object, ready_after_s: float = 0.0) -> Object:
        """A machine's kubelet registers its node; Ready at once, or tainted not-ready until `ready_after_s`."""
        return self.agent.join(node, ready_after_s)

    def leave(self, name: str, delete_node: bool = False) -> None:
        """A machine is gone. Its node turns NotReady 40 s later and stays until deleted.

        With `delete_node` a cloud controller deletes it at once.
        """
        self.agent.leave(name, delete_node)

    def set_ready(self, name: str, ready: bool) -> None:
        """The kubelet of a node says that it is ready, or not."""
        self.agent.set_ready(name, ready)

    def compact(self) -> None:
        """Old resourceVersions and continue tokens get 410 from now on."""
        self.store.compact()

    def _have_namespace(self, name: str) -> None:
        if self.store.find(NAMESPACE, ("", name)) is None:
            self.store.create(NAMESPACE, {"metadata": {"name": name}, "spec": {}, "status": {"phase": "Active"}})

    def _key(self, kind: str, name: str, namespace: str | None) -> tuple[Kind, Key]:
        found = self.kinds.named(kind)
        return found, ((namespace or "default") if found.namespaced else "", name)


def _whole(record: Record) -> Object:
    """With kind and apiVersion; the parts are the record's own and must not be changed."""
    return {"kind": record.kind.name, "apiVersion": record.kind.api_version, **record.body}


def _copy(record: Record) -> Object:
    copied: Object = msgspec.json.decode(record.whole)
    return copied
