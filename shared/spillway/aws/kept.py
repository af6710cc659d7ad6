"""An answer of before, in place of one that AWS did not give now."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spillway.errors import AwsError


@dataclass(frozen=True)
class Kept:
    """`value` in the form of the answer that is missing, of which the oldest part is of `as_of`; `error` says why."""

    value: Any
    as_of: datetime
    error: AwsError

    def sentence(self, key: str, now: datetime) -> str:
        hours = (now - self.as_of).total_seconds() / 3600
        return f"{key} is of {self.as_of:%Y-%m-%d %H:%M} UTC, {hours:.1f} h old: {self.error}"
