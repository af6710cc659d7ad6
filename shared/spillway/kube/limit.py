"""A limit of time over many requests. A request has timeouts of its own, but a slow server meets each of them and never ends:
one of many pages, or one that sends an answer byte by byte.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

from spillway import clock

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse


class Cut(Exception):
    """The limit came amid an answer."""


class Limit:
    """Use it as a context manager: within it, what still comes at `until` is cut off. Several threads may use it at once."""

    def __init__(self, until: datetime) -> None:
        self.has_cut = False
        self._began, self._until = clock.utcnow(), until
        self._coming: set[BaseHTTPResponse] = set()
        self._lock = Lock()
        self._timer = Timer(self.left_s, self._cut)  # one for all: to start a thread waits for who decodes a page
        self._timer.daemon = True

    def __enter__(self) -> "Limit":
        self._timer.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._timer.cancel()

    @property
    def left_s(self) -> float:
        """0 when it has come."""
        return 0.0 if self.has_cut else max(0.0, (self._until - clock.utcnow()).total_seconds())

    @property
    def passed_s(self) -> float:
        return (clock.utcnow() - self._began).total_seconds()

    @contextmanager
    def cuts(self, answer: "BaseHTTPResponse") -> Iterator[None]:
        """Reads the answer's body within. Raises Cut when the limit came meanwhile, instead of what that broke."""
        with self._lock:
            if self.has_cut:
                raise Cut("the time was over before the answer's body")
            self._coming.add(answer)
        try:
            yield
        except Exception as error:
            if self.has_cut:
                raise Cut("the time was over amid the answer") from error
            raise
        finally:
            with self._lock:
                self._coming.discard(answer)

    def _cut(self) -> None:
        with self._lock:
            self.has_cut = True
            for answer in self._coming:
                with suppress(OSError, ValueError, RuntimeError):  # it may be at its end
                    answer.shutdown()
