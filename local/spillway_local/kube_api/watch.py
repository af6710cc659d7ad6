"""Watches: a stream of changes from a resourceVersion on.

Bookmarks come as from k8s.io/apiserver/pkg/storage/cacher: every minute, and 2 s before the end. But the first comes, unless
`first_bookmark_s` says otherwise, as soon as all is told that there was, where a real server's comes after a second: nobody in
virtual time can wait so long.
"""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import msgspec

from spillway_local.kube_api.protocol import Clock
from spillway_local.kube_api.refusals import Refusal, bad_request
from spillway_local.kube_api.requests import Ask
from spillway_local.kube_api.selectors import matcher
from spillway_local.kube_api.store import Change, Record, Store

_DEFAULT_S = 1800.0  # a real server ends a watch after 30 to 60 minutes
_BOOKMARK_EVERY_S, _BEFORE_THE_END_S = 60.0, 2.0
_LOOK_S = 0.2  # real seconds between looks at whether the client has gone


class Watch:
    """Ends `timeoutSeconds` later on the cluster's clock or on a real one, whichever comes first.

    So it also ends when nobody drives virtual time. Raises Refusal 400 for selectors it cannot read.
    """

    def __init__(self, store: Store, clock: Clock, ask: Ask, stopping: threading.Event, first_bookmark_s: float = 0.0) -> None:
        self._store, self._clock, self._ask, self._stopping = store, clock, ask, stopping
        self._matches = matcher(ask.kind, ask.query.get("labelSelector", ""), ask.query.get("fieldSelector", ""))
        try:
            self._timeout_s = float(ask.query.get("timeoutSeconds") or _DEFAULT_S)
            self._since = int(ask.query.get("resourceVersion") or 0)
        except ValueError as problem:
            raise bad_request(f"invalid watch parameter: {problem}") from None
        self._bookmarks = ask.query.get("allowWatchBookmarks") in ("true", "1")
        self._end_at = clock.now() + timedelta(seconds=self._timeout_s)
        self._bookmark_at = clock.now() + timedelta(seconds=first_bookmark_s)

    def lines(self) -> Iterator[bytes]:
        """JSON events, one a line, and b"" now and then so that the caller can look at the connection."""
        over = threading.Event()
        timer = self._clock.call_in(self._timeout_s, lambda: self._end(over))
        real_end = time.monotonic() + self._timeout_s
        try:
            yield from self._begin()
            while True:
                with self._store.lock:
                    changes = self._store.changes_since(self._since)
                    bookmark = b"" if changes else self._bookmark()
                    if not changes and not bookmark:
                        if over.is_set() or self._stopping.is_set() or time.monotonic() >= real_end:
                            return
                        self._store.changed.wait(min(_LOOK_S, max(0.0, real_end - time.monotonic())))
                for change in changes:
                    self._since = change.record.version
                    if line := self._tell(change):
                        yield line
                if not changes:
                    yield bookmark
        except Refusal as refusal:
            # Once a watch is accepted, errors come as events: k8s.io/apiserver/pkg/storage/cacher, newErrWatcher.
            yield _line("ERROR", refusal.body())
        finally:
            timer.cancel()

    def _begin(self) -> Iterator[bytes]:
        """Without a version to start from, what there is comes first."""
        if self._since:
            return
        with self._store.lock:
            records, self._since = self._store.records(self._ask.kind), self._store.version
        for record in records:
            if self._wants(record):
                yield _line("ADDED", record.whole)

    def _bookmark(self) -> bytes:
        """The version up to which all is told, when it is time for one."""
        now = self._clock.now()
        if not self._bookmarks or now < self._bookmark_at:
            return b""
        last = self._end_at - timedelta(seconds=_BEFORE_THE_END_S)
        following = now + timedelta(seconds=_BOOKMARK_EVERY_S)
        self._bookmark_at = min(following, last) if now < last else following
        meta = {"resourceVersion": str(self._store.version), "creationTimestamp": None}
        kind = self._ask.kind
        return _line("BOOKMARK", msgspec.json.encode({"kind": kind.name, "apiVersion": kind.api_version, "metadata": meta}))

    def _end(self, over: threading.Event) -> None:
        over.set()
        with self._store.lock:
            self._store.changed.notify_all()

    def _wants(self, record: Record | None) -> bool:
        ask = self._ask
        if record is None or record.kind is not ask.kind or (ask.namespace and record.key[0] != ask.namespace):
            return False
        return self._matches is None or self._matches(record.body)

    def _tell(self, change: Change) -> bytes | None:
        """An object that begins or ceases to match is added or deleted, as far as this watcher sees."""
        is_in = change.what != "DELETED" and self._wants(change.record)
        was_in = self._wants(change.before)
        if not is_in and not was_in:
            return None
        return _line("MODIFIED" if is_in and was_in else "ADDED" if is_in else "DELETED", change.record.whole)


def _line(what: str, body: bytes) -> bytes:
    return b'{"type":"' + what.encode() + b'","object":' + body + b"}\n"
