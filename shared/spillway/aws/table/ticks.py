"""Ticks that are done: a second delivery of the same stream record ends early."""

from spillway.aws.table import keys
from spillway.aws.table.store import ABSENT, Conflict, Table, expiry

_KEEP_S = 86400


def is_done(table: Table, trigger: str) -> bool:
    """`trigger` names what started it: the head or the event."""
    return table.get(keys.tick(trigger)) is not None


def mark_done(table: Table, trigger: str) -> bool:
    """Called last, so that a tick that died is done again. False when another invocation had done it."""
    try:
        table.put(keys.tick(trigger), {keys.TTL: expiry(_KEEP_S)}, ABSENT)
    except Conflict:
        return False
    return True
