"""Snapshots: parts first, the head last and always, so a half-written snapshot can never be read.

A snapshot's lists are cut into chunks at places that its content chooses: one changed node changes one chunk,
and the others keep their hash. `HEAD#…` is the newest; a manifest under the snapshot's id keeps older ones
readable for three days, so that a plan can be replayed.
"""

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

import msgspec

from spillway.aws.table import keys, parts, schemas
from spillway.aws.table.store import Conflict, Item, Table, condition, expiry
from spillway.errors import ClusterStale, NotFound, SnapshotTooNew
from spillway.model.base import SCHEMA_VERSION, decode, encode
from spillway.model.cluster import CLUSTER_SCHEMA_VERSION, ClusterSnapshot
from spillway.model.fleet import FleetSnapshot

_MANIFEST = "MANIFEST"
_LISTS: Mapping[type, tuple[str, ...]] = {
    ClusterSnapshot: (
        "nodes", "unread_nodes", "shapes", "pods", "namespaces", "budgets", "daemons", "gangs", "buffers",
        "provisioning_requests", "priorities", "free_volumes", "warnings",
    ),
    FleetSnapshot: ("groups",),
}  # fmt: skip
_VERSIONS: Mapping[type, int] = {ClusterSnapshot: CLUSTER_SCHEMA_VERSION, FleetSnapshot: SCHEMA_VERSION}
_CHUNK_BYTES = 128 * 1024  # before compression, which makes a fifth to a tenth of it
_CHUNK_BYTES_MAX = 1024 * 1024
_CUT_ONE_IN = 32  # items, once a chunk has its size

S = TypeVar("S", ClusterSnapshot, FleetSnapshot)


class _Chunk(msgspec.Struct):
    field: str
    parts: list[tuple[str, int]]


class _Manifest(msgspec.Struct):
    """`rest` is the snapshot without its lists, `version` its schema's: the first one was not written down."""

    rest: msgspec.Raw
    chunks: list[_Chunk]
    version: int = 1


def store_cluster(table: Table, snapshot: ClusterSnapshot, fence: int | None = None) -> str:
    """Stores it as the newest; returns the id of its head. Raises ClusterStale when a later one is there, or one by whoever
    has taken the lease of the watch after the holder of `fence`."""
    head_id, is_newest = _store(table, keys.HEAD_CLUSTER, snapshot, fence)
    if not is_newest:
        raise ClusterStale(snapshot.cluster, snapshot.taken_at.isoformat(), "and a later view is stored already")
    return head_id


def store_fleet(table: Table, snapshot: FleetSnapshot) -> str:
    """Stores it as the newest, unless a later one is there; returns the id of its head."""
    return _store(table, keys.HEAD_FLEET, snapshot)[0]


def latest_cluster(table: Table) -> ClusterSnapshot:
    """Raises NotFound when there is none, or a part of it is gone, and SnapshotTooNew."""
    return _load(table, _head(table, keys.HEAD_CLUSTER), ClusterSnapshot)


def latest_fleet(table: Table) -> FleetSnapshot:
    """Raises NotFound when there is none, or a part of it is gone."""
    return _load(table, _head(table, keys.HEAD_FLEET), FleetSnapshot)


def cluster(table: Table, head_id: str) -> ClusterSnapshot:
    """An older one, as a plan names it; raises NotFound and SnapshotTooNew."""
    return _load(table, _old(table, head_id), ClusterSnapshot)


def fleet(table: Table, head_id: str) -> FleetSnapshot:
    """An older one, as a plan names it; raises NotFound."""
    return _load(table, _old(table, head_id), FleetSnapshot)


def head_ids(table: Table) -> tuple[str, str]:
    """Ids of the newest cluster and fleet heads, "" for one that is not there."""
    found = table.get_many([(table.pk, keys.HEAD_CLUSTER), (table.pk, keys.HEAD_FLEET)])
    cluster_head, fleet_head = (found.get((table.pk, sk), {}) for sk in (keys.HEAD_CLUSTER, keys.HEAD_FLEET))
    return cluster_head.get("id", ""), fleet_head.get("id", "")


def _store(table: Table, sk: str, snapshot: S, fence: int | None = None) -> tuple[str, bool]:
    """The id of its head, and whether it is the newest."""
    before = table.get(sk)
    packed = [(field, parts.pack(chunk)) for field in _LISTS[type(snapshot)] for chunk in _chunks(getattr(snapshot, field))]
    there = _parts_of(before) if before else {}
    written = iter(parts.write(table, (piece for _, pieces in packed for piece in pieces), there))
    chunks = [_Chunk(field, list(islice(written, len(pieces)))) for field, pieces in packed]
    rest = encode(msgspec.structs.replace(snapshot, id="", **dict.fromkeys(_LISTS[type(snapshot)], ())))
    head_id = hashlib.sha256(rest + b"".join(part.encode() for chunk in chunks for part, _ in chunk.parts)).hexdigest()[:16]
    body = zlib.compress(encode(_Manifest(msgspec.Raw(rest), chunks, snapshot.schema_version)))
    head = {
        "id": head_id,
        "taken_at": snapshot.taken_at.isoformat(timespec="microseconds"),
        "body": body,
        keys.TTL: expiry(parts.KEEP_S),
    }
    table.put(_MANIFEST, head, pk=keys.snapshot(table.cluster, head_id))
    # A slow read that ends after a faster, later one must not turn the clock back.
    later = "attribute_not_exists(pk) OR taken_at <= :taken_at"
    free = condition(later, taken_at=head["taken_at"])
    if fence is not None:
        head |= {"fence": fence}
        free = condition(
            f"({later}) AND (attribute_not_exists(fence) OR fence <= :fence)", taken_at=head["taken_at"], fence=fence
        )
    try:
        table.put(sk, head, free)
    except Conflict:
        return head_id, False
    return head_id, True


def _head(table: Table, sk: str) -> Item:
    head = table.get(sk)
    if head is None:
        raise NotFound("the snapshot", sk)
    return head


def _old(table: Table, head_id: str) -> Item:
    head = table.get(_MANIFEST, pk=keys.snapshot(table.cluster, head_id))
    if head is None:
        raise NotFound("the snapshot", head_id)
    return head


def _load(table: Table, head: Item, kind: type[S]) -> S:
    manifest = _manifest(head)
    if manifest.version > _VERSIONS[kind]:
        raise SnapshotTooNew(table.cluster, manifest.version, _VERSIONS[kind])
    pieces = parts.read(table, [part for chunk in manifest.chunks for part, _ in chunk.parts], f"snapshot {head['id']}")
    rest: dict[str, Any] = msgspec.json.decode(manifest.rest)
    lists: dict[str, list[bytes]] = defaultdict(list)
    for chunk in manifest.chunks:
        lists[chunk.field].append(parts.unpack([pieces[part] for part, _ in chunk.parts])[1:-1])
    whole = {
        field: msgspec.Raw(schemas.upgrade(manifest.version, field, b"[" + b",".join(items) + b"]"))
        for field, items in lists.items()
    }
    return decode(msgspec.json.encode({**rest, "id": head["id"], **whole}), kind)


def _manifest(head: Item) -> _Manifest:
    return decode(zlib.decompress(head["body"]), _Manifest)


def _parts_of(head: Item) -> dict[str, int]:
    return {part: until for chunk in _manifest(head).chunks for part, until in chunk.parts}


def _chunks(items: tuple[Any, ...]) -> Iterator[bytes]:
    """JSON lists. A chunk ends after an item whose own bytes say so, once it has some size, or when it is large."""
    chunk: list[bytes] = []
    size = 0
    for item in items:
        data = encode(item)
        chunk.append(data)
        size += len(data)
        if size >= _CHUNK_BYTES_MAX or (size >= _CHUNK_BYTES and zlib.crc32(data) % _CUT_ONE_IN == 0):
            yield b"[" + b",".join(chunk) + b"]"
            chunk, size = [], 0
    if chunk:
        yield b"[" + b",".join(chunk) + b"]"
