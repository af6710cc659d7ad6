"""Windows that a cron line opens."""

from datetime import UTC, datetime, timedelta

import pytest

from spillway.planner import cron

FRIDAY_NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("line", "inside"),
    [
        ("0 12 * * *", True),
        ("30 11 * * *", True),
        ("0 11 * * *", False),  # it closed this very moment
        ("1 12 * * *", False),
        ("*/15 * * * *", True),
        ("0 9-12 * * mon-fri", True),
        ("0 12 * * sat,sun", False),
        ("0 12 * * 7", False),
        ("0 12 2 * *", True),
        ("0 12 3 * fri", True),
        ("0 12 3 jan *", False),
        ("0 12 * feb *", False),
        ("@hourly", True),
        ("@weekly", False),
    ],
)
def test_an_hour_from_each_line(line: str, inside: bool) -> None:
    assert cron.is_within(line, HOUR, "UTC", FRIDAY_NOON) == inside


@pytest.mark.parametrize(
    ("line", "zone", "says"),
    [
        ("0 12 * *", "UTC", "has 4 fields"),
        ("60 12 * * *", "UTC", "'60' is not within 0 to 59"),
        ("x 12 * * *", "UTC", "'x'"),
        ("0 3 * * *", "Nowhere/Atlantis", "'Nowhere/Atlantis' is no time zone"),
        ("0 3 * * *", "/etc/passwd", "'/etc/passwd' is no time zone"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_it(line: str, zone: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        cron.is_within(line, HOUR, zone, FRIDAY_NOON)


def test_the_line_runs_in_its_own_zone() -> None:
    assert cron.is_within("0 21 * * *", HOUR, "Asia/Tokyo", FRIDAY_NOON)
    assert not cron.is_within("0 12 * * *", HOUR, "Asia/Tokyo", FRIDAY_NOON)


def test_a_window_of_days_that_began_last_week() -> None:
    assert cron.is_within("0 18 * * sat", timedelta(days=6), "UTC", FRIDAY_NOON)
    assert not cron.is_within("0 18 * * sat", timedelta(days=5), "UTC", FRIDAY_NOON)
