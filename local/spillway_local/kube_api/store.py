"""What the cluster holds: one lock, one resourceVersion counter, and the log of changes that watches read.

Bodies are never changed in place; each write makes a new Record, so a list can be handed out while others write.
"""

import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from spillway_local.kube_api.kinds import NODE, Kind
from spillway_local.kube_api.refusals import already_exists, expired, not_found

Body = dict[str, Any]
Key = tuple[str, str]  # namespace ("" for cluster-wide resources), name
_FIXED = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_META = ("labels", "annotations", "finalizers", "ownerReferences")
_NODE_SPEC = ("taints", "unschedulable", "podCIDRs")
_ENCODE = msgspec.json.Encoder().encode


def stamp(when: datetime) -> str:
    """A time as the API writes it, in whole seconds."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, eq=False)
class Record:
    """One version of one object. `body` has no kind and apiVersion, as the items of a real List have none."""

    kind: Kind
    key: Key
    version: int
    body: Body

    @property
    def metadata(self) -> Body:
        meta: Body = self.body["metadata"]
        return meta

    @property
    def name(self) -> str:
        return self.key[1]

    @property
    def raw(self) -> bytes:
        """The body as JSON, made once."""
        try:
            cached: bytes = self.__dict__["_raw"]
        except KeyError:
            cached = self.__dict__["_raw"] = _ENCODE(self.body)
        return cached

    @property
    def whole(self) -> bytes:
        """The object as JSON, with kind and apiVersion."""
        head = f'{{"kind":"{self.kind.name}","apiVersion":"{self.kind.api_version}",'
        return head.encode() + self.raw[1:]


@dataclass(frozen=True)
class Change:
    what: Literal["ADDED", "MODIFIED", "DELETED"]
    record: Record
    before: Record | None


class Store:
    def __init__(self, now: Callable[[], datetime], keep_changes: int = 100_000) -> None:
        """`keep_changes`: how many changes a watch can look back on before it gets 410."""
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.version = 1
        self.now = now
        self._keep = keep_changes
        self._objects: dict[Kind, dict[Key, Record]] = {}
        self._keys: dict[Kind, list[Key]] = {}  # sorted; dropped when an object comes or goes
        self._lists: dict[Kind, tuple[Record, ...]] = {}
        self._log: list[Change] = []
        self._floor = 0  # changes up to this version are forgotten
        self._listeners: list[Callable[[Change], None]] = []

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Has `listener` called after each change, under the lock and in the writer's thread: keep it short.

        What is returned ends that.
        """
        with self.lock:
            self._listeners = [*self._listeners, listener]

        def end() -> None:
            with self.lock:
                self._listeners = [one for one in self._listeners if one is not listener]

        return end

    def find(self, kind: Kind, key: Key) -> Record | None:
        return self._objects.get(kind, {}).get(key)

    def get(self, kind: Kind, key: Key) -> Record:
        """Raises Refusal 404."""
        record = self.find(kind, key)
        if record is None:
            raise not_found(kind, key[1])
        return record

    def records(self, kind: Kind) -> tuple[Record, ...]:
        """All, in the order of their keys, as etcd lists them."""
        with self.lock:
            if kind not in self._lists:
                objects = self._objects.get(kind, {})
                keys = self._keys.get(kind) or sorted(objects)
                self._keys[kind] = keys
                self._lists[kind] = tuple(objects[key] for key in keys)
            return self._lists[kind]

    def records_at(self, kind: Kind, version: int) -> tuple[Record, ...]:
        """All as they were at a version; raises Refusal 410 when that is no longer known."""
        with self.lock:
            changes = [change for change in self.changes_since(version) if change.record.kind is kind]
            if not changes:
                return self.records(kind)
            then = dict(self._objects.get(kind, {}))
            for change in reversed(changes):
                if change.before is None:
                    del then[change.record.key]
                else:
                    then[change.record.key] = change.before
            return tuple(then[key] for key in sorted(then))

    def create(self, kind: Kind, body: Body) -> Record:
        """Raises Refusal 409. A uid, creation time and generation that the body brings are kept."""
        meta = dict(body["metadata"])
        key = (meta.get("namespace", "") if kind.namespaced else "", meta["name"])
        with self.lock:
            if self.find(kind, key):
                raise already_exists(kind, key[1])
            meta.setdefault("uid", str(uuid.uuid4()))
            meta.setdefault("creationTimestamp", stamp(self.now()))
            if "spec" in body:
                meta.setdefault("generation", 1)
            return self._write("ADDED", kind, key, _tidy(kind, {"metadata": meta, **_rest(body)}), None)

    def replace(self, old: Record, body: Body) -> Record:
        """A new version of `old`, unless nothing differs; without finalizers a deleted object goes."""
        with self.lock:
            was = old.metadata
            meta = {name: value for name, value in body["metadata"].items() if name not in _FIXED}
            meta |= {name: was[name] for name in _FIXED if name in was}
            meta["resourceVersion"] = was["resourceVersion"]
            if "generation" in was:
                meta["generation"] = was["generation"] + (body.get("spec") != old.body.get("spec"))
            fresh = _tidy(old.kind, {"metadata": meta, **_rest(body)})
            if fresh == old.body:
                return old
            record = self._write("MODIFIED", old.kind, old.key, fresh, old)
            if "deletionTimestamp" in meta and was.get("finalizers") and not meta.get("finalizers"):
                return self.remove(record)
            return record

    def mark_deleted(self, old: Record, grace_s: int) -> Record:
        """Sets deletionTimestamp, `grace_s` after the first delete; never in the past."""
        meta = dict(old.metadata)
        now = self.now()
        since = now
        if "deletionTimestamp" in meta:
            since = datetime.fromisoformat(meta["deletionTimestamp"]) - timedelta(seconds=meta["deletionGracePeriodSeconds"])
        elif "generation" in meta:
            meta["generation"] += 1
        at = since + timedelta(seconds=grace_s)
        meta |= {"deletionTimestamp": stamp(max(at, now)), "deletionGracePeriodSeconds": grace_s if at >= now else 1}
        return self._write("MODIFIED", old.kind, old.key, {"metadata": meta, **_rest(old.body)}, old)

    def remove(self, old: Record) -> Record:
        return self._write("DELETED", old.kind, old.key, old.body, old)

    def changes_since(self, version: int) -> list[Change]:
        """Raises Refusal 410 when they are no longer known."""
        with self.lock:
            if version < self._floor:
                raise expired(f"too old resource version: {version} ({self._floor})")
            # Every version is one change, so the log can be sliced without a search.
            first = max(0, len(self._log) - (self.version - version))
            return self._log[first:]

    def compact(self) -> None:
        """Forgets all changes so far, as etcd does every five minutes; the server's mark of that is a version of its own."""
        with self.lock:
            self._log.clear()
            self.version += 1
            self._floor = self.version

    def _write(
        self, what: Literal["ADDED", "MODIFIED", "DELETED"], kind: Kind, key: Key, body: Body, before: Record | None
    ) -> Record:
        with self.lock:
            self.version += 1
            body = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
            record = Record(kind, key, self.version, body)
            if what == "DELETED":
                del self._objects[kind][key]
            else:
                self._objects.setdefault(kind, {})[key] = record
            self._lists.pop(kind, None)
            if what != "MODIFIED":
                self._keys.pop(kind, None)
            change = Change(what, record, before)
            self._log.append(change)
            if len(self._log) > self._keep:
                half = len(self._log) // 2
                self._floor = self._log[half - 1].record.version
                del self._log[:half]
            for listener in self._listeners:
                listener(change)
            self.changed.notify_all()
            return record


def _tidy(kind: Kind, body: Body) -> Body:
    """Without fields that say nothing, as the server writes no empty ones (omitempty of k8s.io/api)."""
    body = {**body, "metadata": _said(body["metadata"], _META)}
    return {**body, "spec": _said(body["spec"], _NODE_SPEC)} if kind is NODE and "spec" in body else body


def _said(part: Body, fields: tuple[str, ...]) -> Body:
    return {name: value for name, value in part.items() if value or name not in fields}


def _rest(body: Body) -> Body:
    return {name: value for name, value in body.items() if name not in ("metadata", "kind", "apiVersion")}
