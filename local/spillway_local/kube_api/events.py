"""Events, which two API groups serve with other names for the same fields, and one of them strictly.

Sources: pkg/apis/core/validation/events.go, pkg/apis/events/v1/conversion.go.
"""

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from spillway_local.kube_api.kinds import EVENT, NEWER_EVENT
from spillway_local.kube_api.refusals import Problem, bad_request, invalid
from spillway_local.kube_api.requests import Answer, Ask
from spillway_local.kube_api.store import Body

# By their names in events.k8s.io.
_CORE_NAMES = {
    "regarding": "involvedObject", "note": "message", "reportingController": "reportingComponent",
    "deprecatedSource": "source", "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp", "deprecatedCount": "count",
}  # fmt: skip
_NEWER_NAMES = {core: newer for newer, core in _CORE_NAMES.items()}
_OLD_FIELDS = ("firstTimestamp", "lastTimestamp", "count", "source")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}


def check(event: Body, strict: bool = False) -> None:
    """A new one, in the names of the core group; raises Refusal 400, 422. `strict`: it came through events.k8s.io."""
    _times(event)
    controller = "reportingController" if strict else "reportingComponent"
    problems = list(_modern(event, controller) if event.get("eventTime") else _old(event))
    problems += _strict(event) if strict else ()
    if problems:
        raise invalid(EVENT, event["metadata"]["name"], problems)


def _times(event: Body) -> None:
    """MicroTime reads nothing but its own form: k8s.io/apimachinery/pkg/apis/meta/v1/micro_time.go."""
    for at in (event.get("eventTime"), (event.get("series") or {}).get("lastObservedTime")):
        if at and not _MICRO_TIME.fullmatch(at):
            raise bad_request(
                f'Event in version "v1" cannot be handled as a Event: parsing time "{at}" as "2006-01-02T15:04:05.000000Z07:00"'
            )


def _old(event: Body) -> Iterator[Problem]:
    about, namespace = event.get("involvedObject") or {}, event["metadata"].get("namespace", "default")
    if (about.get("namespace") or "default") != namespace:
        yield _elsewhere(about.get("namespace", ""))


def _modern(event: Body, controller: str) -> Iterator[Problem]:
    about, namespace = event.get("involvedObject") or {}, event["metadata"].get("namespace", "default")
    if not about.get("namespace") and namespace not in ("default", "kube-system"):
        yield _elsewhere("")
    for name, shown in (("reportingComponent", controller), ("reportingInstance", ""), ("action", ""), ("reason", "")):
        if not event.get(name):
            yield Problem(shown or name, "Required value")
    for name, most in _LIMITS.items():
        if len(event.get(name) or "") > most:
            yield Problem(name, f'Invalid value: "": can have at most {most} characters')


def _strict(event: Body) -> Iterator[Problem]:
    series = event.get("series")
    if series and series.get("count", 0) < 2:
        yield Problem("series.count", 'Invalid value: "": should be at least 2')
    if not event.get("eventTime"):
        yield Problem("eventTime", "Required value")
    if event.get("type") not in ("Normal", "Warning"):
        yield Problem("type", f'Invalid value: "": has invalid value: {event.get("type", "")}')
    yield from (Problem(name, 'Invalid value: "": needs to be unset') for name in _OLD_FIELDS if event.get(name))


def _elsewhere(namespace: str) -> Problem:
    return Problem("involvedObject.namespace", f'Invalid value: "{namespace}": does not match event.namespace')


def answered(ask: Ask, answer: Callable[[Ask], Answer]) -> Answer:
    """What events.k8s.io says of the events that `answer` knows by the names of the core group."""
    query = dict(ask.query)
    if "fieldSelector" in query:
        query["fieldSelector"] = re.sub(r"\b(regarding|reportingController)\b", _core_word, query["fieldSelector"])
    payload = ask.payload
    if payload and isinstance(body := ask.json(), dict) and ask.verb != "delete":
        core = _renamed(body, _CORE_NAMES) | ({"apiVersion": EVENT.api_version} if "apiVersion" in body else {})
        if ask.verb == "create":
            check({**core, "metadata": {"name": "", "namespace": ask.namespace, **(core.get("metadata") or {})}}, strict=True)
        payload = msgspec.json.encode(core)
    got = answer(dataclasses.replace(ask, kind=EVENT, query=query, payload=payload))
    if got.stream is not None:
        return Answer(stream=map(_line, got.stream))
    return dataclasses.replace(got, body=[msgspec.json.encode(_newer(msgspec.json.decode(b"".join(got.body))))])


def _core_word(found: re.Match[str]) -> str:
    return _CORE_NAMES[found[0]]


def _line(line: bytes) -> bytes:
    if not line:
        return line
    told = msgspec.json.decode(line)
    return msgspec.json.encode({**told, "object": _newer(told["object"])}) + b"\n"


def _newer(body: Any) -> Any:
    """An Event, or an EventList; a Status stays as it is."""
    if body.get("kind") == "Status":
        return body
    if "items" in body:
        body = {**body, "items": [_renamed(item, _NEWER_NAMES) for item in body["items"]]}
    return {**_renamed(body, _NEWER_NAMES), "apiVersion": NEWER_EVENT.api_version}


def _renamed(body: Body, names: dict[str, str]) -> Body:
    return {names.get(name, name): value for name, value in body.items()}
