"""Lists in pages, each page of one list from the same moment."""

import base64
import threading
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from spillway_local.kube_api.kinds import Kind
from spillway_local.kube_api.refusals import Refusal, bad_request, expired
from spillway_local.kube_api.requests import Answer, Ask
from spillway_local.kube_api.selectors import matcher
from spillway_local.kube_api.store import Record, Store

_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted "
    "between the time the first chunk was returned and now may show up in the list."
)
_KEEP = 64
_KEEP_FOR = timedelta(minutes=5)  # etcd's default compaction interval, which ends real continue tokens too


class Lists:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._moments: OrderedDict[tuple[Kind, int], tuple[datetime, tuple[Record, ...]]] = OrderedDict()

    def forget(self) -> None:
        """Ends all continue tokens, as a compaction does."""
        with self._lock:
            self._moments.clear()

    def answer(self, ask: Ask, now: datetime) -> Answer:
        """A page as the query asks for it; raises Refusal 400 or 410."""
        records, version, start = self._moment(ask, now)
        limit = _number(ask, "limit")
        matches = matcher(ask.kind, ask.query.get("labelSelector", ""), ask.query.get("fieldSelector", ""))
        chosen = select(records, ask, matches)
        if start:
            chosen = [record for record in chosen if list(record.key) >= start]
        page = chosen[:limit] if limit else chosen
        meta: dict[str, Any] = {"resourceVersion": str(version)}
        if len(page) < len(chosen):
            meta["continue"] = _token(version, chosen[len(page)])
            if matches is None:
                meta["remainingItemCount"] = len(chosen) - len(page)
            self._keep(ask.kind, version, now, records)
        head = {"kind": f"{ask.kind.name}List", "apiVersion": ask.kind.api_version, "metadata": meta}
        body = [msgspec.json.encode(head)[:-1] + b',"items":[', b",".join([record.raw for record in page]), b"]}"]
        return Answer(body=body)

    def _moment(self, ask: Ask, now: datetime) -> tuple[Sequence[Record], int, list[str]]:
        with self._store.lock:
            records, version = self._store.records(ask.kind), self._store.version
        resume = ask.query.get("continue", "")
        if not resume:
            wanted = _number(ask, "resourceVersion")
            if wanted > version:
                raise Refusal(
                    504, f"Timeout: Too large resource version: {wanted}, current: {version}", details={"retryAfterSeconds": 1}
                )
            if ask.query.get("resourceVersionMatch") != "Exact" or wanted in (0, version):
                return records, version, []
            kept = self._kept(ask.kind, wanted, now)
            if kept is None:
                raise expired(f"The resourceVersion for the provided list is too old: {wanted}")
            return kept, wanted, []
        try:
            token = msgspec.json.decode(base64.urlsafe_b64decode(resume))
            wanted, start = int(token["rv"]), list(token["start"])
        except (ValueError, KeyError, TypeError):
            raise bad_request("continue key is not valid: it is none that this server gave out") from None
        if wanted < 0:
            return records, version, start
        kept = self._kept(ask.kind, wanted, now)
        if kept is None:
            raise expired(_EXPIRED, _encode(-1, start))
        return kept, wanted, start

    def _keep(self, kind: Kind, version: int, now: datetime, records: Sequence[Record]) -> None:
        with self._lock:
            self._moments.setdefault((kind, version), (now, tuple(records)))
            while len(self._moments) > _KEEP:
                self._moments.popitem(last=False)

    def _kept(self, kind: Kind, version: int, now: datetime) -> tuple[Record, ...] | None:
        with self._lock:
            at, records = self._moments.get((kind, version), (now, None))
            return records if now - at < _KEEP_FOR else None


def select(records: Sequence[Record], ask: Ask, matches: Any) -> Sequence[Record]:
    """Those of the namespace asked for that match."""
    if ask.namespace:
        records = [record for record in records if record.key[0] == ask.namespace]
    return records if matches is None else [record for record in records if matches(record.body)]


def _token(version: int, record: Record) -> str:
    return _encode(version, list(record.key))


def _encode(version: int, start: list[str]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": version, "start": start})).decode()


def _number(ask: Ask, name: str) -> int:
    text = ask.query.get(name) or "0"
    if not text.isdigit():
        raise bad_request(f"invalid {name}: {text!r} is no number")
    return int(text)
