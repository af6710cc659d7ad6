"""The verbs of the API on the store."""

import threading
from collections.abc import Callable
from typing import Any

import msgspec

from spillway_local.kube_api import events, patch
from spillway_local.kube_api.budgets import Budgets
from spillway_local.kube_api.defaults import check, created
from spillway_local.kube_api.deletion import delete, evict
from spillway_local.kube_api.kinds import BUDGET, NAMESPACE, NEWER_EVENT, POD, Kinds
from spillway_local.kube_api.lists import Lists, select
from spillway_local.kube_api.pods import with_condition
from spillway_local.kube_api.protocol import Clock
from spillway_local.kube_api.refusals import about, bad_request, conflict, not_found, not_supported, unsupported_media
from spillway_local.kube_api.requests import Answer, Ask
from spillway_local.kube_api.selectors import matcher
from spillway_local.kube_api.store import Body, Record, Store, stamp
from spillway_local.kube_api.validation import validate
from spillway_local.kube_api.watch import Watch

_PATCHES = {
    "application/json-patch+json": patch.json_patch,
    "application/merge-patch+json": patch.merge,
    "application/strategic-merge-patch+json": patch.strategic,
}


class Api:
    def __init__(self, store: Store, kinds: Kinds, clock: Clock) -> None:
        self.store, self.kinds, self.clock = store, kinds, clock
        self.lists = Lists(store)
        self.budgets = Budgets(store, kinds)
        self.stopping = threading.Event()
        self.first_bookmark_s = 0.0

    def answer(self, ask: Ask) -> Answer:
        """Does what is asked; raises Refusal."""
        if ask.kind is NEWER_EVENT:
            return events.answered(ask, self.answer)
        if ask.kind is BUDGET:
            self.budgets.refresh()
        verbs: dict[str, Callable[[Ask], Answer]] = {
            "get": lambda ask: _object(self.store.get(ask.kind, self._key(ask))),
            "list": self.lists.answer,
            "watch": self._watch,
            "create": self._act if ask.subresource else self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_all,
        }
        if ask.verb not in verbs or (ask.verb == "create" and ask.name and not ask.subresource):
            raise not_supported(ask.kind, ask.verb)
        return verbs[ask.verb](ask)

    def _key(self, ask: Ask) -> tuple[str, str]:
        return (ask.namespace if ask.kind.namespaced else "", ask.name)

    def _watch(self, ask: Ask) -> Answer:
        return Answer(stream=Watch(self.store, self.clock, ask, self.stopping, self.first_bookmark_s).lines())

    def _create(self, ask: Ask) -> Answer:
        body = created(ask.kind, ask.namespace, _object_of(ask))
        if ask.kind.namespaced and self.store.find(NAMESPACE, ("", ask.namespace)) is None:
            raise not_found(NAMESPACE, ask.namespace)
        validate(ask.kind, body)
        if ask.dry_run:
            return Answer(201, [msgspec.json.encode({"kind": ask.kind.name, "apiVersion": ask.kind.api_version, **body})])
        return _object(self.store.create(ask.kind, body), 201)

    def _update(self, ask: Ask) -> Answer:
        body = _object_of(ask)
        with self.store.lock:
            return self._write(ask, self.store.get(ask.kind, self._key(ask)), body)

    def _patch(self, ask: Ask) -> Answer:
        apply = _PATCHES.get(ask.content_type.partition(";")[0].strip())
        if apply is None:
            raise unsupported_media(ask.content_type, ", ".join(_PATCHES))
        change = ask.json()
        if isinstance(change, list) is not (apply is patch.json_patch):
            raise bad_request(f"a body of {ask.content_type} must be {'a list' if apply is patch.json_patch else 'an object'}")
        with self.store.lock:
            old = self.store.get(ask.kind, self._key(ask))
            return self._write(ask, old, apply(old.body, change))

    def _write(self, ask: Ask, old: Record, body: Body) -> Answer:
        """A write to an object touches all but its status, one to its status only that (and labels and the like)."""
        meta = body.get("metadata") or {}
        if meta.get("name", old.name) != old.name:
            raise bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({old.name})")
        version = meta.get("resourceVersion")
        if version and version != old.metadata["resourceVersion"]:
            raise conflict(old.kind, old.name)
        if ask.subresource == "status":
            body = {**old.body, "metadata": meta, "status": body.get("status") or {}}
        elif "status" in old.kind.subresources:
            body = {name: value for name, value in body.items() if name != "status"}
            body |= {"status": old.body["status"]} if "status" in old.body else {}
        check(old.kind, body)
        validate(old.kind, {**body, "metadata": {**meta, "name": old.name}}, old.body)
        return _object(old if ask.dry_run else self.store.replace(old, {**body, "metadata": meta}))

    def _delete(self, ask: Ask) -> Answer:
        options = _options(ask)
        record = self.store.get(ask.kind, self._key(ask))
        gone = delete(self.store, record, options, ask.dry_run)
        if ask.kind is POD or "deletionTimestamp" in gone.metadata:
            return _object(gone)
        details = about(ask.kind, record.name) | {"uid": record.metadata["uid"]}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return Answer(body=[msgspec.json.encode(status)])

    def _delete_all(self, ask: Ask) -> Answer:
        matches = matcher(ask.kind, ask.query.get("labelSelector", ""), ask.query.get("fieldSelector", ""))
        with self.store.lock:
            chosen = select(self.store.records(ask.kind), ask, matches)
            for record in chosen:
                delete(self.store, record, _options(ask), ask.dry_run)
        head = {"kind": f"{ask.kind.name}List", "apiVersion": ask.kind.api_version}
        meta = {"resourceVersion": str(self.store.version)}
        items = [msgspec.Raw(record.raw) for record in chosen]
        return Answer(body=[msgspec.json.encode({**head, "metadata": meta, "items": items})])

    def _act(self, ask: Ask) -> Answer:
        pod = self.store.get(ask.kind, self._key(ask))
        body = _object_of(ask)
        if ask.subresource == "eviction":
            status = evict(self.store, self.budgets, pod, body, ask.dry_run)
        elif ask.subresource == "binding":
            if not ask.dry_run:
                self.bind(pod.key, str((body.get("target") or {}).get("name", "")))
            status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        else:
            raise not_supported(ask.kind, "create")
        return Answer(201, [msgspec.json.encode(status)])

    def bind(self, key: tuple[str, str], node: str) -> Record:
        """Assigns a pod to a node, once (pkg/registry/core/pod/storage/storage.go); raises Refusal 404, 409."""
        with self.store.lock:
            pod = self.store.get(POD, key)
            if taken := pod.body["spec"].get("nodeName"):
                raise conflict(POD, pod.name, f"pod {pod.name} is already assigned to node {taken!r}".replace("'", '"'))
            if "deletionTimestamp" in pod.metadata:
                raise conflict(POD, pod.name, f"pod {pod.name} is being deleted, cannot be assigned to a host")
            if not node:
                raise bad_request("target.name is required")
            now = stamp(self.clock.now())
            scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
            body = with_condition(pod.body, scheduled)
            return self.store.replace(pod, {**body, "spec": {**pod.body["spec"], "nodeName": node}})


def _object(record: Record, code: int = 200) -> Answer:
    return Answer(code, [record.whole])


def _object_of(ask: Ask) -> Body:
    body = ask.json()
    if not isinstance(body, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {ask.kind.name})")
    if not ask.subresource or ask.subresource == "status":
        kind, version = body.get("kind", ask.kind.name), body.get("apiVersion", ask.kind.api_version)
        if (kind, version) != (ask.kind.name, ask.kind.api_version):
            raise bad_request(f"{version} {kind} in the body does not match {ask.kind.api_version} {ask.kind.name} of the path")
    return body


def _options(ask: Ask) -> Body:
    """DeleteOptions of the body; the query's grace period counts when the body has none."""
    given = ask.json()
    options: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    if "gracePeriodSeconds" in ask.query:
        options.setdefault("gracePeriodSeconds", int(ask.query["gracePeriodSeconds"]))
    return options
