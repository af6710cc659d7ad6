"""Lists in pages, each page of one list from the same moment."""

import base64
from collections.abc import Sequence
from typing import Any

import msgspec

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


class Lists:
    def __init__(self, store: Store) -> None:
        self._store = store

    def answer(self, ask: Ask) -> Answer:
        """A page as the query asks for it; raises Refusal 400 or 410."""
        records, version, start = self._moment(ask)
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
        head = {"kind": f"{ask.kind.name}List", "apiVersion": ask.kind.api_version, "metadata": meta}
        body = [msgspec.json.encode(head)[:-1] + b',"items":[', b",".join([record.raw for record in page]), b"]}"]
        return Answer(body=body)

    def _moment(self, ask: Ask) -> tuple[Sequence[Record], int, list[str]]:
        with self._store.lock:
            records, version = self._store.records(ask.kind), self._store.version
        resume = ask.query.get("continue", "")
        if not resume:
            wanted = _number(ask, "resourceVersion")
            if wanted > version:
                raise Refusal(
                    504, f"Timeout: Too large resource version: {wanted}, current: {version}", details={"retryAfterSeconds": 1}
                )
            if ask.query.get("resourceVersionMatch") != "Exact":
                return records, version, []
            return self._store.records_at(ask.kind, wanted), wanted, []
        try:
            token = msgspec.json.decode(base64.urlsafe_b64decode(resume))
            wanted, start = int(token["rv"]), list(token["start"])
        except (ValueError, KeyError, TypeError):
            raise bad_request("continue key is not valid: it is none that this server gave out") from None
        if wanted < 0:
            return records, version, start
        try:
            return self._store.records_at(ask.kind, wanted), wanted, start
        except Refusal:
            raise expired(_EXPIRED, _encode(-1, start)) from None


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
