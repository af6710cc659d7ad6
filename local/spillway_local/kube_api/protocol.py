"""What the fake cluster needs of a clock; `spillway_local.clock.VirtualClock` has it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    def now(self) -> datetime: ...

    def call_in(self, seconds: float, action: Callable[[], None]) -> Timer: ...

    def busy(self) -> AbstractContextManager[None]: ...
