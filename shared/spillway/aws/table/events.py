"""Events that were taken. `EVENT#` items wake the planner through the stream; every event leaves a mark against its
second delivery, since EventBridge and SQS deliver at least once."""

from collections.abc import Mapping
from typing import Any

import msgspec

from spillway.aws.table import keys
from spillway.aws.table.store import ABSENT, Conflict, Table, expiry

_KEEP_S = 86400


def is_seen(table: Table, event_id: str) -> bool:
    return table.get(keys.seen(event_id)) is not None


def mark_seen(table: Table, event_id: str) -> None:
    """Called last, so that an event whose taking died is taken again; taking twice does no harm."""
    table.put(keys.seen(event_id), {keys.TTL: expiry(_KEEP_S)})


def wake_planner(table: Table, event_id: str, about: Mapping[str, Any]) -> bool:
    """Stores the event so that a plan is made now. False when it is there already."""
    body = msgspec.json.encode(about, order="deterministic").decode()
    try:
        table.put(keys.event(event_id), {"body": body, keys.TTL: expiry(_KEEP_S)}, ABSENT)
    except Conflict:
        return False
    return True
