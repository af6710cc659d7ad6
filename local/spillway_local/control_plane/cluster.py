"""A running control plane behind the same interface as the fake cluster."""

import copy
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from spillway_local.control_plane import custom, rights
from spillway_local.control_plane.client import Client
from spillway_local.control_plane.etcd import compact
from spillway_local.control_plane.front import Front
from spillway_local.control_plane.plane import ControlPlane
from spillway_local.control_plane.watching import Watching
from spillway_local.kube_api.access import TESTER, as_rules
from spillway_local.kube_api.kinds import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CONFIG_MAP,
    EVENT,
    NAMESPACE,
    NODE,
    PRIORITY_CLASS,
    Kind,
    Kinds,
)
from spillway_local.kube_api.pods import phases
from spillway_local.kube_api.protocol import Clock, Object, What
from spillway_local.kube_api.refusals import Refusal, unless_gone
from spillway_local.kube_api.served import Served

_SERVERS_OWN = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields")
_SHARED = (NAMESPACE, CONFIG_MAP, CLUSTER_ROLE, CLUSTER_ROLE_BINDING, PRIORITY_CLASS)  # of which a plane has some of its own
_FREED = {"metadata": {"finalizers": None}}
_THREADS = 4
_TRIES = 20  # of a write that others come before


class RealCluster(Served):
    """When it stops, all objects are gone that were made through it; one plane serves one after the other."""

    def __init__(self, plane: ControlPlane, clock: Clock) -> None:
        """`clock` is the caller's; the server's own time is that of the machine."""
        self._kinds = Kinds()
        super().__init__(Front(plane.url, plane.ca_file, self._kinds), clock)
        self._plane = plane
        self._client = Client(plane.url, plane.ca_file, plane.token)
        self._added: dict[Kind, list[Object]] = {}
        self._namespaces: dict[str, Object] = {}
        self._namespaces_lock = threading.Lock()
        self._watches: list[Watching] = []
        self._custom: list[Kind] = []

    def start(self) -> Self:
        rights.grant(self._client, TESTER, rights.ALL)
        return super().start()

    def stop(self) -> None:
        """Also takes away all that was made."""
        for watch in self._watches:
            watch.end()
        self._watches.clear()
        super().stop()
        try:
            self._empty()
        finally:
            self._client.close()

    @property
    def tokens(self) -> Mapping[str, str]:
        return self._plane.tokens

    @property
    def token(self) -> str:
        return self._plane.tokens[TESTER]

    def allow(self, rules: Iterable[tuple[str, str]] | None) -> None:
        """By a ClusterRole; returns when the server's authorizer knows it."""
        rights.grant(self._client, TESTER, rights.ALL if rules is None else as_rules(rules))

    def define(self, group: str, version: str, name: str, plural: str, namespaced: bool = True) -> Kind:
        """By a CustomResourceDefinition, which goes with the cluster."""
        kind = self._kinds.define(Kind(group, version, name, plural, namespaced, ("status",)))
        self._custom.append(kind)
        custom.install(self._client, kind)
        return kind

    def add(self, obj: Object) -> Object:
        """Creates it and then gives it its status; raises Refusal. The items of a List come in no order.

        A namespace that is not there is made, and one that is there stays as it is. A ClusterRoleBinding comes after its
        role, and counts on return.
        """
        if "items" in obj:
            head = {"apiVersion": obj.get("apiVersion", "v1"), "kind": obj["kind"].removesuffix("List")}
            with ThreadPoolExecutor(_THREADS) as threads:
                list(threads.map(lambda item: self.add({**head, **item}), obj["items"]))
            return obj
        meta = {name: value for name, value in obj["metadata"].items() if name not in _SERVERS_OWN}
        kind = self._kinds.of(obj["apiVersion"], obj["kind"], "namespace" in meta)
        namespace = meta.setdefault("namespace", "default") if kind.namespaced else ""
        if namespace or kind is NAMESPACE:
            there = self._namespace(namespace or meta["name"])
        if kind is NAMESPACE:
            return there
        made = self._create(kind, {**obj, "metadata": meta})
        if obj.get("status") and "status" in kind.subresources and kind is not NODE:  # a node is created with its own
            made = self._client.ask("PUT", f"{_path_of(kind, made)}/status", {**made, "status": obj["status"]})
        if kind is CLUSTER_ROLE_BINDING:
            rights.follow(self._client, made)
        return made

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        try:
            found: Object = self._client.get(self._one(kind, name, namespace))
        except Refusal as refusal:
            if refusal.code != 404:
                raise
            return None
        return found

    def objects(self, kind: str) -> list[Object]:
        found = self._kinds.named(kind)
        head = {"kind": found.name, "apiVersion": found.api_version}
        return [{**head, **item} for item in self._client.get(found.path())["items"]]

    def edit(self, kind: str, name: str, change: Callable[[Object], None], namespace: str | None = None) -> Object:
        path = self._one(kind, name, namespace)
        for attempt in range(_TRIES):
            old: Object = self._client.get(path)
            new = copy.deepcopy(old)
            change(new)
            try:
                if {**new, "status": None} != {**old, "status": None}:
                    old = self._client.ask("PUT", path, new)
                if new.get("status") != old.get("status") and "status" in self._kinds.named(kind).subresources:
                    old = self._client.ask("PUT", f"{path}/status", {**old, "status": new.get("status")})
            except Refusal as refusal:
                if refusal.code != 409 or attempt + 1 == _TRIES:
                    raise
                continue
            break
        return old

    def remove(self, kind: str, name: str, namespace: str | None = None, grace_s: int = 0) -> None:
        self._client.ask("DELETE", self._one(kind, name, namespace), {"gracePeriodSeconds": grace_s})

    def watch(self, kind: str, listener: Callable[[What, Object], None]) -> Callable[[], None]:
        found = self._kinds.named(kind)
        watching = Watching(self._client, found, listener)
        self._watches.append(watching)
        return watching.end

    def phases(self) -> Counter[str]:
        return phases(self.objects("Pod"))

    def compact(self) -> None:
        """As etcd is compacted every five minutes; the server is started anew, since it caches what is younger than it."""
        compact(self._plane.etcd_url)
        self._plane.restart_apiserver()

    def _one(self, kind: str, name: str, namespace: str | None) -> str:
        found = self._kinds.named(kind)
        return f"{found.path((namespace or 'default') if found.namespaced else '')}/{name}"

    def _create(self, kind: Kind, obj: Object) -> Object:
        namespace = obj["metadata"].get("namespace", "")
        made: Object = self._client.ask("POST", kind.path(namespace), obj)
        self._added.setdefault(kind, []).append(made)
        return made

    def _namespace(self, name: str) -> Object:
        """It stays: without its controller a namespace never goes, and nothing more can be made in it."""
        with self._namespaces_lock:  # the items of a List come at once, and each finds its namespace missing
            if name not in self._namespaces:
                there = self.get("Namespace", name)
                self._namespaces[name] = there or self._client.ask("POST", NAMESPACE.path(), {"metadata": {"name": name}})
            return self._namespaces[name]

    def _empty(self) -> None:
        for binding in self._added.pop(CLUSTER_ROLE_BINDING, ()):
            rights.forget(self._client, binding)
        created = {resource for verb, resource in self.requests if verb == "create"} | {EVENT.plural}  # controllers write them
        for kind in [kind for kind in self._kinds if kind in self._added or kind.plural in created]:
            if kind in _SHARED:
                for one in self._added.get(kind, ()):
                    with unless_gone():
                        self._client.ask("DELETE", _path_of(kind, one))
            elif kind not in self._custom:
                self._clear(kind)
        for kind in self._custom:
            custom.uninstall(self._client, kind)
        self._added.clear()
        self._custom.clear()

    def _clear(self, kind: Kind) -> None:
        for _ in range(_TRIES):
            items = self._client.get(kind.path())["items"]
            if not items:
                return
            for one in items:
                if one["metadata"].get("finalizers"):
                    with unless_gone():  # a controller may take it away meanwhile
                        self._client.ask("PATCH", _path_of(kind, one), _FREED, "application/merge-patch+json")
            for namespace in {one["metadata"].get("namespace", "") for one in items}:
                self._client.ask("DELETE", kind.path(namespace), {"gracePeriodSeconds": 0})
        raise RuntimeError(f"{kind.plural} of a test would not go: {[one['metadata']['name'] for one in items]}")


def _path_of(kind: Kind, obj: Mapping[str, Any]) -> str:
    return f"{kind.path(obj['metadata'].get('namespace', ''))}/{obj['metadata']['name']}"
