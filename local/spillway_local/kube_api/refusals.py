"""Errors as the API server words them: k8s.io/apimachinery/pkg/api/errors/errors.go."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from spillway_local.kube_api.kinds import Kind

_REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed", 409: "Conflict",
    410: "Expired", 415: "UnsupportedMediaType", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError",
    503: "ServiceUnavailable", 504: "Timeout",
}  # fmt: skip
_CAUSES = {
    "Required": "FieldValueRequired", "Invalid": "FieldValueInvalid", "Unsupported": "FieldValueNotSupported",
    "Duplicate": "FieldValueDuplicate", "Forbidden": "FieldValueForbidden",
}  # fmt: skip
_WORDS = {
    429: "the server has received too many requests and has asked us to try again later",
    500: "Internal error occurred: injected fault",
    503: "the server is currently unable to handle the request",
    504: "Timeout: request did not complete within the allotted timeout",
}


@dataclass(eq=False)
class Refusal(Exception):
    """An answer that is no success; `status` is the body, a `Status` object. `reason` None: the usual one of the code."""

    code: int
    message: str
    reason: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)

    def status(self) -> dict[str, Any]:
        body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure"}
        reason = _REASONS.get(self.code, "Unknown") if self.reason is None else self.reason
        body |= {"message": self.message, "reason": reason} if reason else {"message": self.message}
        if self.details:
            body["details"] = self.details
        return body | {"code": self.code}

    def body(self) -> bytes:
        return msgspec.json.encode(self.status())

    @property
    def retry_after_s(self) -> int:
        """0: no advice, and no header."""
        return int(self.details.get("retryAfterSeconds", 0))


@contextmanager
def unless_gone() -> Iterator[None]:
    """What somebody else has deleted meanwhile needs nothing more: a 404 inside is none."""
    try:
        yield
    except Refusal as refusal:
        if refusal.code != 404:
            raise


def about(kind: Kind, name: str = "") -> dict[str, Any]:
    details = {"name": name, "group": kind.group, "kind": kind.plural}
    return {key: value for key, value in details.items() if value}


def bad_request(message: str) -> Refusal:
    return Refusal(400, message)


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized")


def forbidden(kind: Kind, name: str, why: str) -> Refusal:
    subject = f'{kind.qualified} "{name}"' if name else kind.qualified
    return Refusal(403, f"{subject} is forbidden: {why}", details=about(kind, name))


def not_found(kind: Kind, name: str) -> Refusal:
    return Refusal(404, f'{kind.qualified} "{name}" not found', details=about(kind, name))


def not_supported(kind: Kind, action: str) -> Refusal:
    return Refusal(405, f'{action} is not supported on resources of kind "{kind.qualified}"', details=about(kind))


def already_exists(kind: Kind, name: str) -> Refusal:
    return Refusal(409, f'{kind.qualified} "{name}" already exists', "AlreadyExists", about(kind, name))


def conflict(kind: Kind, name: str, why: str = "") -> Refusal:
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    return Refusal(409, f'Operation cannot be fulfilled on {kind.qualified} "{name}": {why}', details=about(kind, name))


def unmet(kind: Kind, name: str, why: str) -> Refusal:
    """A precondition of a delete, for which the server names the kind and not the resource."""
    details = about(kind, name) | {"kind": kind.name}
    subject = f"{kind.name}.{kind.group}" if kind.group else kind.name
    return Refusal(409, f'Operation cannot be fulfilled on {subject} "{name}": {why}', details=details)


def expired(message: str, resume: str = "") -> Refusal:
    return Refusal(410, message, metadata={"continue": resume} if resume else {})


def unsupported_media(got: str, accepted: str) -> Refusal:
    message = f"the body of the request was in an unknown format - accepted media types include: {accepted} (got {got})"
    return Refusal(415, message)


class Problem(NamedTuple):
    """What is wrong with one field, as validation words it."""

    field: str
    text: str


def invalid(kind: Kind, name: str, problems: Sequence[Problem]) -> Refusal:
    causes = [{"reason": _CAUSES[one.text.split()[0].strip(":")], "message": one.text, "field": one.field} for one in problems]
    details = {"name": name, "group": kind.group, "kind": kind.name, "causes": causes}
    subject = f"{kind.name}.{kind.group}" if kind.group else kind.name
    told = ", ".join(f"{one.field}: {one.text}" for one in problems)
    return Refusal(422, f'{subject} "{name}" is invalid: {told if len(problems) == 1 else f"[{told}]"}', details=details)


def injected(code: int, retry_after_s: int | None) -> Refusal:
    """What a fault hook answers."""
    if code == 401:
        return unauthorized()
    details = {"retryAfterSeconds": retry_after_s} if retry_after_s else {}
    return Refusal(code, _WORDS.get(code, f"injected fault {code}"), details=details)
