"""Cluster snapshots that an older version of Spillway stored, as this one means them.

Version 2 knows the volumes of a pod, where version 1 had the names of its claims; and what version 1 did not read, as
budgets, is not in it.
"""

from typing import Any

import msgspec

UNKNOWN_VOLUMES = "its snapshot was stored by an older version, which did not read volumes"


def upgrade(version: int, field: str, items: bytes) -> bytes:
    """A JSON list of the snapshot's `field` in this version's terms."""
    return _volumes(items) if version < 2 and field == "shapes" else items


def _volumes(items: bytes) -> bytes:
    """A pod with a claim fits no node, since nobody knows which: it buys nothing and keeps its node until the next snapshot."""
    shapes: list[dict[str, Any]] = msgspec.json.decode(items)
    for shape in shapes:
        if shape.pop("claims", None):
            shape["volumes"] = [{"problem": UNKNOWN_VOLUMES}]
    return msgspec.json.encode(shapes)
