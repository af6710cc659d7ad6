"""One policy for what may be better in a moment: no answer, 429, and 5xx.

As client-go does it: the server's Retry-After when it gives one, else a doubling wait with jitter. The waits are short,
because the caller is a Lambda and its own retry or the next tick comes soon.
"""

import random
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from spillway import clock

ATTEMPTS = 4
BUDGET_S = 30.0  # no attempt begins later than this after the first: half of the functions' time limit
_FIRST_S = 0.5
_LONGEST_S = 10.0
_DOUBLINGS = 10  # the longest wait is reached long before

sleep: Callable[[float], None] = time.sleep
"""Waiting, as a module attribute: tests and the local world put their own here."""
jitter: Callable[[], float] = random.random
"""From 0 to 1, a module attribute as well."""


def is_passing(status: int) -> bool:
    return status == 429 or status >= 500


def delay_s(attempt: int, retry_after: str | None) -> float:
    """How long to wait at most before the next attempt; `attempt` counts from 0."""
    asked = seconds(retry_after)
    return min(_LONGEST_S, asked if asked is not None else _FIRST_S * 2 ** min(attempt, _DOUBLINGS))


def pause_s(attempt: int, retry_after: str | None) -> float:
    """How long to wait: up to a half less where the server does not say, so that those who failed together come apart."""
    longest = delay_s(attempt, retry_after)
    return longest if seconds(retry_after) is not None else longest * (1 - jitter() / 2)


def wait(attempt: int, retry_after: str | None) -> None:
    sleep(pause_s(attempt, retry_after))


def seconds(retry_after: str | None) -> float | None:
    """A Retry-After header, which is a number or a date (RFC 9110, 10.2.3); None when there is none to read."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - clock.utcnow()).total_seconds())
    except (ValueError, TypeError):
        return None
