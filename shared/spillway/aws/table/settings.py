"""What people set: versions of the policy document, and the switch that stops everything. Read uncached by all who write."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from spillway import clock
from spillway.aws.table import keys
from spillway.aws.table.store import ABSENT, Conflict, Table
from spillway.model.policy import Policy
from spillway.model.policy_document import parse

NO_POLICY = "0"
"""The version of the defaults, when no document was ever stored."""
_WIDTH = 8  # versions sort as text


@dataclass(frozen=True)
class Switch:
    """`stopped`: nothing is planned and no task writes."""

    stopped: bool = False
    by: str = ""
    reason: str = ""
    at: datetime | None = None


def policy(table: Table) -> tuple[Policy, str]:
    """The newest document and its version; the defaults and NO_POLICY when there is none. Raises PolicyError."""
    for item in table.query(keys.POLICY, newest_first=True, limit=1):
        version = _version(item["sk"])
        return parse(msgspec.json.decode(item["body"]), f"version {version}"), version
    return Policy(), NO_POLICY


def document(table: Table, version: str) -> dict[str, Any] | None:
    """A stored document as it was handed in; None when there is no such version."""
    item = table.get(keys.policy(version.zfill(_WIDTH)))
    return dict(msgspec.json.decode(item["body"])) if item else None


def put_policy(table: Table, fields: Mapping[str, Any], by: str, source: str = "document") -> str:
    """Stores a new version and returns it; the same document as the newest is not stored again.

    Raises PolicyError, which names every wrong field, before anything is written.
    """
    parse(fields, source)
    body = msgspec.json.encode(fields, order="deterministic").decode()
    while True:
        newest = next(iter(table.query(keys.POLICY, newest_first=True, limit=1)), None)
        if newest and newest["body"] == body:
            return _version(newest["sk"])
        version = str(int(_version(newest["sk"])) + 1 if newest else 1)
        about = {"body": body, "written_by": by, "written_at": clock.utcnow().isoformat()}
        try:
            table.put(keys.policy(version.zfill(_WIDTH)), about, ABSENT)
        except Conflict:
            continue  # somebody stored that version meanwhile: ours comes after it
        return version


def stop(table: Table, by: str, reason: str) -> None:
    _throw(table, True, by, reason)


def resume(table: Table, by: str, reason: str = "") -> None:
    _throw(table, False, by, reason)


def switch(table: Table) -> Switch:
    item = table.get(keys.SWITCH)
    if item is None:
        return Switch()
    return Switch(item["stopped"], item["written_by"], item["reason"], datetime.fromisoformat(item["written_at"]))


def is_stopped(table: Table) -> bool:
    return switch(table).stopped


def _throw(table: Table, stopped: bool, by: str, reason: str) -> None:
    about = {"stopped": stopped, "written_by": by, "reason": reason, "written_at": clock.utcnow().isoformat()}
    table.put(keys.SWITCH, about)


def _version(sk: str) -> str:
    return str(int(sk.removeprefix(keys.POLICY)))
