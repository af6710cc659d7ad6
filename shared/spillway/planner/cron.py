"""Whether a moment lies in a window that a cron line opens.

Five fields (minute, hour, day of month, month, day of week) with `*`, lists, ranges, steps and English names, or
`@hourly` and its like. When both days are given, either is enough (crontab(5)). Time runs in the zone's own clock.
"""

from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

LONGEST = timedelta(days=366)  # how far back a window may have begun

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_SHORT = {
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}  # fmt: skip


def is_within(line: str, span: timedelta | None, zone: str, now: datetime) -> bool:
    """True when the line fired within `span` before `now` (None: within the minute). Raises ValueError as `check`."""
    here = now.astimezone(check(line, zone))
    fired = _last(parse(line), here)
    return fired is not None and here - fired < (span or timedelta(minutes=1))


def check(line: str, zone: str) -> ZoneInfo:
    """The zone; raises ValueError, which says what cannot be read: the line, or the zone's name."""
    parse(line)
    try:
        return ZoneInfo(zone)
    except (ValueError, KeyError, OSError) as error:
        raise ValueError(f"{zone!r} is no time zone") from error


@lru_cache(maxsize=256)
def parse(line: str) -> tuple[frozenset[int], ...]:
    """The values of each field, and last whether either day is enough (1) or both must hold (0); raises ValueError."""
    parts = _SHORT.get(line.strip().lower(), line).lower().split()
    if len(parts) != len(_BOUNDS):
        raise ValueError(f"{line!r} has {len(parts)} fields, a cron line has {len(_BOUNDS)}")
    names: tuple[list[str], ...] = ([], [], [], _MONTHS, _DAYS)
    fields = [_field(part, *bounds, names[i]) for i, (part, bounds) in enumerate(zip(parts, _BOUNDS, strict=True))]
    fields[4] = frozenset(day % 7 for day in fields[4])
    either = not parts[2].startswith("*") and not parts[4].startswith("*")
    return (*fields, frozenset({int(either)}))


def _field(text: str, low: int, high: int, names: list[str]) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            first, last = low, high
        else:
            start, dash, end = span.partition("-")
            first = _value(start, low, names)
            last = _value(end, low, names) if dash else (high if step else first)
        if not (low <= first <= last <= high and (int(step) if step else 1) > 0):
            raise ValueError(f"{part!r} is not within {low} to {high}")
        found.update(range(first, last + 1, int(step) if step else 1))
    return frozenset(found)


def _value(text: str, low: int, names: list[str]) -> int:
    return names.index(text) + (low if low else 0) if text in names else int(text)


def _last(fields: tuple[frozenset[int], ...], now: datetime) -> datetime | None:
    """When the line fired last, at most LONGEST ago."""
    minutes, hours, days, months, weekdays, either = fields
    for back in range(LONGEST.days + 1):
        day = now - timedelta(days=back)
        in_month, in_week = day.day in days, day.isoweekday() % 7 in weekdays
        if day.month not in months or not ((in_month or in_week) if either == {1} else (in_month and in_week)):
            continue
        for hour in sorted(hours, reverse=True):
            for minute in sorted(minutes, reverse=True):
                fired = day.replace(hour=hour, minute=minute, second=0, microsecond=0)
                if fired <= now:
                    return fired
    return None
