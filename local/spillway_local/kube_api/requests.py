"""From a path and a method to what is asked for, and the shape of an answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from spillway_local.kube_api.kinds import Kind, Kinds
from spillway_local.kube_api.refusals import bad_request

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get", "HEAD": "get"}


@dataclass(frozen=True)
class Ask:
    """One request, understood: `verb` and `resource` (`pods`, `pods/eviction`) as RBAC rules name them."""

    verb: str
    kind: Kind
    namespace: str
    name: str
    subresource: str
    query: Mapping[str, str]
    content_type: str
    payload: bytes

    @property
    def resource(self) -> str:
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural

    @property
    def dry_run(self) -> bool:
        return self.query.get("dryRun") == "All"

    def json(self) -> Any:
        """The body, {} when there is none; raises Refusal 400."""
        if not self.payload:
            return {}
        try:
            return msgspec.json.decode(self.payload)
        except msgspec.DecodeError as problem:
            raise bad_request(f"the object provided is unrecognized (must be of type {self.kind.name}): {problem}") from None


@dataclass(frozen=True)
class Call:
    """A request as it came in. `ask` is None when it names no resource that the server knows."""

    method: str
    target: str
    headers: Message  # which knows them by any case
    payload: bytes
    ask: Ask | None


@dataclass
class Answer:
    """`body` in pieces, or a `stream` of pieces that are sent as they come; `whole`: head and framing are in the stream."""

    code: int = 200
    body: list[bytes] = field(default_factory=list)
    stream: Iterator[bytes] | None = None
    whole: bool = False
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


def understand(kinds: Kinds, method: str, target: str, content_type: str, payload: bytes) -> Ask | None:
    """None for a path that names no resource the server has."""
    parts = urlsplit(target)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    steps = [unquote(step) for step in parts.path.strip("/").split("/")]
    if steps[0] == "api" and len(steps) > 2:
        group, version, steps = "", steps[1], steps[2:]
    elif steps[0] == "apis" and len(steps) > 3:
        group, version, steps = steps[1], steps[2], steps[3:]
    else:
        return None
    namespace = ""
    if steps[0] == "namespaces" and len(steps) > 2 and kinds.at(group, version, steps[2]):
        namespace, steps = steps[1], steps[2:]
    kind = kinds.at(group, version, steps[0])
    name, subresource = [*steps[1:], "", ""][:2]
    if kind is None or len(steps) > 3 or (namespace and not kind.namespaced):
        return None
    if subresource and subresource not in kind.subresources:
        return None
    verb = _VERBS.get(method, "")
    if verb == "get" and not name:
        verb = "watch" if query.get("watch") in ("true", "1") else "list"
    elif verb == "delete" and not name:
        verb = "deletecollection"
    return Ask(verb, kind, namespace, name, subresource, query, content_type, payload)
