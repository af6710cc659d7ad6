"""What a warm process keeps of a cluster, and the events of watches that bring it up to date."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import Raw

from spillway.kube import fields, scan
from spillway.kube.fields import UNREADABLE
from spillway.kube.objects import Objects
from spillway.kube.resources import Resource


class Doubt(Exception):
    """Whether all that changed was seen cannot be told: the list has to be read again."""


class _Meta(fields.BareMeta):
    resource_version: str = ""
    name: str = ""


class _Object(fields.Part):
    metadata: _Meta


class _Event(fields.Part):
    type: str
    object: Raw


class _List(fields.Part):
    metadata: fields.ListMeta


_type = msgspec.json.Decoder(str)
_event = msgspec.json.Decoder(_Event)
_object = msgspec.json.Decoder(_Object)
_list = msgspec.json.Decoder(_List)


@dataclass
class Kept:
    """`versions` are the resourceVersions up to which each kind is known; `listed_at` is when all were listed."""

    listed_at: datetime
    objects: Objects = field(default_factory=Objects)
    versions: dict[str, str] = field(default_factory=dict)


class Applied(NamedTuple):
    """`before` and `after` are what is kept of the object, None for nothing, and of a bookmark, which is of none."""

    version: int
    before: object | None
    after: object | None


def apply(kept: Kept, resource: Resource, line: bytes) -> Applied:
    """Takes one event in. Raises Doubt for an error of the watch and for what does not read."""
    event, meta = _read(line)
    key = (meta.namespace or "", meta.name)
    before = kept.objects.of(resource.kind).get(key)
    if event.type in ("ADDED", "MODIFIED"):
        kept.objects.put(resource.kind, event.object)
    elif event.type == "DELETED":
        kept.objects.remove(resource.kind, *key)
    elif event.type != "BOOKMARK":
        raise Doubt(f"the watch ended: {bytes(event.object)[:200].decode(errors='replace')}")
    version = number(meta.resource_version)
    kept.versions[resource.kind] = meta.resource_version
    return Applied(version, before, kept.objects.of(resource.kind).get(key))


def _read(line: bytes) -> tuple[_Event, _Meta]:
    """Also an event whose object does not decode, as long as it says which it is. Raises Doubt."""
    try:
        event = _event.decode(line)
        return event, _object.decode(event.object).metadata if event.type != "ERROR" else _Meta()
    except UNREADABLE as error:
        problem = str(error)
    try:
        parts = dict(scan.members(line))
        event = _Event(_type.decode(parts.get(b"type", b"")), Raw(parts.get(b"object", b"")))
        return event, _object.decode(scan.outline(bytes(event.object), scan.NAME)).metadata
    except UNREADABLE as error:
        raise Doubt(f"an event does not read: {problem}") from error


def version_of(body: bytes) -> int:
    """Of a list. Raises Doubt."""
    try:
        return number(_list.decode(body).metadata.resource_version or "")
    except UNREADABLE as error:
        raise Doubt(f"a list does not read: {error}") from error


def number(version: str) -> int:
    """Versions of one kind can be compared (Kubernetes 1.35, KEP-5504). Raises Doubt where they are no numbers."""
    if not (version.isascii() and version.isdigit()):
        raise Doubt(f"resourceVersion {version[:50]!r} is no number")
    return int(version)
