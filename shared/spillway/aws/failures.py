"""What an activity of an Auto Scaling group tells of a launch that AWS refused; `failure_table.py` knows the texts."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import msgspec

from spillway.aws import shapes
from spillway.aws.failure_general import GENERAL, NO_FAILURE
from spillway.aws.failure_row import Row
from spillway.aws.failure_table import ROWS
from spillway.model.fleet import CapacityType, FailureClass, LaunchFailure, Scope

SPOT_WAIT = timedelta(seconds=300)  # a spot request that waits longer will not be filled soon [O]


@dataclass(frozen=True)
class Failure:
    """`zone` and `instance_type` are "", `capacity_type` is None when the text names none."""

    failure: FailureClass
    scope: Scope
    zone: str = ""
    instance_type: str = ""
    capacity_type: CapacityType | None = None


_WITHIN = r"(?:[^.]|\.(?=\S)){0,120}?"  # a sentence ends with a dot and a blank: types and prices have dots, too


def _codes(rows: Iterable[Row]) -> dict[str, Row]:
    return {code.lower(): row for row in rows for code in row.codes}


def _wordings(rows: Iterable[Row]) -> tuple[tuple[re.Pattern[str], Row], ...]:
    return tuple(
        (re.compile(wording.replace("…", _WITHIN), re.IGNORECASE | re.DOTALL), row) for row in rows for wording in row.wordings
    )


_DECISIVE, _WORDINGS = _codes(ROWS), _wordings(ROWS)
_GENERAL, _VAGUE = _codes(GENERAL), _wordings(GENERAL)
_NO_FAILURE = re.compile("|".join(NO_FAILURE), re.IGNORECASE)
_REBALANCING = re.compile(
    "|".join(w for row in ROWS if row.failure is FailureClass.REBALANCE for w in row.wordings), re.IGNORECASE
)
_SAYS_WHY = re.compile(r"termination reason|failed", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]\w*(?:\.[A-Za-z]\w*)*")
_ENCODED = re.compile(r"encoded authorization failure message:\s*\S*", re.IGNORECASE)  # letters without a meaning
_INTO_POOL = "into warm pool"
_FROM_POOL = re.compile(r"Launching a new EC2 instance from warm pool: (i-\w+)")  # [F] as activities are listed in the field
_MARKET = re.compile(r"could not launch (spot|on-demand) instances", re.IGNORECASE)


@lru_cache(maxsize=4096)  # a thousand launches are refused in the same words
def classify(text: str) -> Failure:
    """Decisive codes, wordings, general codes, in this order. Unknown texts are UNKNOWN and concern the group."""
    text = _ENCODED.sub("", text)
    named = _MARKET.search(text)
    market = CapacityType(named[1].lower()) if named else None
    row, match = _find(text)
    if row is None:
        return Failure(FailureClass.UNKNOWN, Scope.GROUP, capacity_type=market)
    names = {key: value.lower() for key, value in match.groupdict().items() if value} if match else {}
    return Failure(row.failure, row.scope, names.get("zone", ""), names.get("type", ""), row.market or market)


def _find(text: str) -> tuple[Row | None, re.Match[str] | None]:
    """The row that the text belongs to, and the wording that was found if it was one."""
    words = _WORD.findall(text)
    if row := _by_code(words, _DECISIVE):
        return row, None
    for pattern, row in _WORDINGS:
        if match := pattern.search(text):
            return row, match
    if row := _by_code(words, _GENERAL):
        return row, None
    return next(((row, match) for pattern, row in _VAGUE if (match := pattern.search(text))), (None, None))


def _by_code(words: Iterable[str], codes: Mapping[str, Row]) -> Row | None:
    """`Client.InvalidKMSKey.InvalidState` is looked up whole, without its side, and by the family before its last dots."""
    for word in words:
        parts = word.lower().split(".")
        families = [parts[start:end] for start in (0, 1) for end in range(len(parts), start, -1)]
        if parts[0] not in ("client", "server"):
            families = [parts[:end] for end in range(len(parts), 0, -1)]
        for family in families:
            if row := codes.get(".".join(family)):
                return row
    return None


def is_launch(activity: Mapping[str, Any]) -> bool:
    """Of a member. One into the warm pool refills that by itself: it closes no gap, and its refusal is none of a raise."""
    description = str(activity.get("Description", ""))
    return description.startswith("Launching") and _INTO_POOL not in description


def left_pool(activity: Mapping[str, Any]) -> str:
    """The instance that the activity takes from the warm pool into the group, "" for any other activity."""
    found = _FROM_POOL.match(str(activity.get("Description", "")))
    return found[1] if found else ""


def of_activity(activity: Mapping[str, Any], now: datetime | None = None) -> LaunchFailure | None:
    """The refusal that an item of DescribeScalingActivities tells of, None when it tells of none.

    `at` is the end of the activity: one that began early and failed late is a failure of now. With `now`, a spot
    request that has waited for 5 minutes counts as well. Balancing between zones asks for nothing, so its
    failures are none; a cancelled launch is one only where its text names a cause, known or not.
    """
    status, text = activity.get("StatusCode"), _text(activity)
    if status not in ("Failed", "Cancelled", "WaitingForSpotInstanceId") or not is_launch(activity):
        return None
    if _REBALANCING.search(str(activity.get("Cause", ""))) or _NO_FAILURE.search(text):
        return None
    if status == "WaitingForSpotInstanceId":
        return _stuck(activity, text, now)
    found = classify(text)
    if status == "Cancelled" and found.failure is FailureClass.UNKNOWN and not _SAYS_WHY.search(text):
        return None
    return _failure(activity, found, text)


def moment(value: Any) -> datetime | None:
    """A time of botocore (datetime) or of the AWS CLI (text); None when there is none. Raises msgspec.ValidationError."""
    if value is None:
        return None
    return shapes.utc(msgspec.convert(value, datetime))


def _text(activity: Mapping[str, Any]) -> str:
    return str(activity.get("StatusMessage") or activity.get("Description") or "")


def _stuck(activity: Mapping[str, Any], text: str, now: datetime | None) -> LaunchFailure | None:
    started = moment(activity.get("StartTime"))
    if now is None or started is None or now - started < SPOT_WAIT:
        return None
    found = Failure(FailureClass.SPOT_FULFILMENT, Scope.OFFERING, capacity_type=CapacityType.SPOT)
    return _failure(activity, found, text)


def _failure(activity: Mapping[str, Any], found: Failure, text: str) -> LaunchFailure | None:
    times = [moment(activity.get(key)) for key in ("StartTime", "EndTime")]
    at = max((time for time in times if time), default=None)  # AWS cuts the end to whole seconds, not the start
    if at is None:
        return None
    return LaunchFailure(
        activity_id=str(activity.get("ActivityId", "")),
        at=at,
        failure=found.failure,
        scope=found.scope,
        text=text,
        zone=found.zone or (zone_of(activity) if found.scope is Scope.ZONE else ""),
        instance_type=found.instance_type,
        capacity_type=found.capacity_type,
    )


def zone_of(activity: Mapping[str, Any]) -> str:
    """The zone in the activity's `Details` (JSON in a string), "" when it names none."""
    try:
        details = msgspec.json.decode(activity.get("Details") or "{}")
    except (msgspec.DecodeError, TypeError):
        return ""  # the field is documented as free text
    return str(details.get("Availability Zone", "")) if isinstance(details, dict) else ""
