"""The only place that reads the wall clock; the planner never does, it is handed `now`."""

from datetime import UTC, datetime


def utcnow() -> datetime:
    """Now, in UTC, in whole microseconds."""
    return datetime.now(UTC)  # noqa: TID251
