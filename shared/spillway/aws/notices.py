"""What an event of EC2 tells of an instance or a capacity block. Blocks have two spellings: AWS's pages have used both.

Sources: EC2 User Guide, "Monitor Capacity Blocks using EventBridge", "Monitor interruptible Capacity Reservations with
EventBridge and CloudTrail", "Instance state-change events".
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from spillway.aws.failures import moment
from spillway.errors import EventError
from spillway.model.memory import Notice, Told

STATE_CHANGED = "EC2 Instance State-change Notification"
TAKEN = frozenset({
    "EC2 Capacity Reservation Instance Interruption Warning",
    "EC2 Interruptible Capacity Reservation Instance Interruption Warning",
})  # fmt: skip
BLOCKS = {
    "Capacity Block Delivered": Told.DELIVERED,
    "Capacity Block Reservation Delivered": Told.DELIVERED,
    "Capacity Block Expiration Warning": Told.EXPIRES,
    "Capacity Block Reservation Expiration Warning": Told.EXPIRES,
}
KINDS = frozenset({STATE_CHANGED, *TAKEN, *BLOCKS})
_GONE = frozenset({"stopping", "stopped", "shutting-down", "terminated"})
_NOTICE = timedelta(minutes=2)  # that AWS gives at least; where the event names no time


def of_event(kind: str, region: str, at: datetime, detail: Mapping[str, Any]) -> Notice | None:
    """`kind` is one of KINDS. None for a state that is no end. Raises EventError where the subject or a time is not there."""
    if kind == STATE_CHANGED:
        state, instance = _text(detail, "state"), _text(detail, "instance-id")
        return Notice(region=region, subject=instance, told=Told.GONE, at=at) if state in _GONE else None
    if kind in TAKEN:
        ends_at = _time(detail, "instance-termination-time") or at + _NOTICE
        return Notice(region=region, subject=_text(detail, "instance-id"), told=Told.ENDS, at=at, ends_at=ends_at)
    block = _text(detail, "capacity-reservation-id")
    return Notice(region=region, subject=block, told=BLOCKS[kind], at=at, ends_at=_time(detail, "end-date"))


def _text(detail: Mapping[str, Any], field: str) -> str:
    value = detail.get(field)
    if not isinstance(value, str) or not value:
        raise EventError("intake", ((f"detail.{field}", "is not there"),))
    return value


def _time(detail: Mapping[str, Any], field: str) -> datetime | None:
    try:
        return moment(detail.get(field))
    except msgspec.ValidationError as error:
        raise EventError("intake", ((f"detail.{field}", f"is no time: {error}"),)) from error
