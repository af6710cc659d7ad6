"""Virtual time: an hour of waiting passes in milliseconds, in the same order as it would for real.

One thread, the driver, calls `run`. It carries out timers one by one and, when every other thread has come to
rest, jumps to the next moment at which something is due. Worker threads wait in `sleep` or `wait`, and hold
`busy` while they work, so that time cannot pass under them. `WallClock` is the same for a world that has parts
with a time of their own: it waits where the other jumps.
"""

import heapq
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic


class ClockClosed(RuntimeError):
    """Raised in a thread that waits in virtual time when the world around it ends."""


class Stuck(RuntimeError):
    """What `run` waits for has not come, and will not: the message tells when and what else is pending."""


@dataclass(eq=False)
class Timer:
    """A moment and what is done then, until `cancel`."""

    when: datetime
    action: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass(eq=False)
class _Nap:
    """A thread that waits; `held` is how often it had called `busy`, which it lets go meanwhile."""

    bell: threading.Condition
    held: int
    timer: Timer | None = None
    over: bool = False
    woken: bool = False  # by the driver, which waits until the thread really goes on


class Signal:
    """Something that threads wait for in a clock's time, as they would with `threading.Event`. `clock.signal()` makes one."""

    def __init__(self, lock: threading.RLock, wake: Callable[[_Nap], None]) -> None:
        self._lock, self._wake = lock, wake
        self._is_set = False
        self.naps: set[_Nap] = set()  # of those who wait for it; the clock's business

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        with self._lock:
            self._is_set = True
            for nap in self.naps:
                self._wake(nap)

    def clear(self) -> None:
        with self._lock:
            self._is_set = False


class VirtualClock:
    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC), quiet_s: float = 0.001) -> None:
        """`start` is aware; `quiet_s` are the real seconds without activity after which time jumps."""
        self._now = start.astimezone(UTC)
        self._quiet_s = quiet_s
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)  # the driver waits here, nobody else
        self._queue: list[tuple[datetime, int, Timer]] = []
        self._order = itertools.count()
        self._naps: set[_Nap] = set()
        self._held: dict[int, int] = {}  # thread -> how often it holds `busy`
        self._waking = 0
        self._activity = 0
        self._driver: int | None = None
        self._closed = False

    def now(self) -> datetime:
        """The virtual time, in UTC."""
        return self._now

    def call_in(self, seconds: float, action: Callable[[], None]) -> Timer:
        """Has the driver call `action` after `seconds`; 0 or less: as soon as it can."""
        with self._lock:
            return self._add(self._after(seconds), action)

    def touch(self) -> None:
        """Tells that something goes on, so that time does not jump for another quiet moment."""
        with self._lock:
            self._activity += 1

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Time stands still inside; may be nested. `sleep` and `wait` let go of it while they last."""
        me = threading.get_ident()
        with self._lock:
            self._hold(me, 1)
        try:
            yield
        finally:
            with self._lock:
                self._hold(me, -1)

    def sleep(self, seconds: float) -> None:
        """Blocks the calling worker until `seconds` of virtual time have passed; raises ClockClosed."""
        if seconds <= 0:
            return self.touch()
        nap = self._lie_down(seconds)
        try:
            with self._lock:
                nap.bell.wait_for(lambda: nap.over)
        finally:
            self._rise(nap)
        return None

    def signal(self) -> Signal:
        return Signal(self._lock, self._wake)

    def wait(self, signal: Signal, timeout_s: float | None = None) -> bool:
        """Blocks until `signal` is set or `timeout_s` of virtual time have passed; tells whether it is set.

        Raises ClockClosed.
        """
        nap = self._lie_down(timeout_s)
        try:
            with self._lock:
                if not signal.is_set():
                    signal.naps.add(nap)
                    nap.bell.wait_for(lambda: nap.over)
        finally:
            with self._lock:
                signal.naps.discard(nap)
            self._rise(nap)
        return signal.is_set()

    def run(self, until: Callable[[], bool] | None = None, limit_s: float | None = None) -> None:
        """Drives time until `until()` holds, asked after each action and whenever all is quiet.

        Without `until` it runs for `limit_s`, or until nothing is left to wait for. Raises Stuck when `limit_s`
        have passed, or nothing is left, and `until` does not hold; what an action raises comes out as it is.
        """
        if self._driver is not None:
            raise RuntimeError("this clock is already being driven; a world has one driver")
        self._driver = threading.get_ident()
        end = None if limit_s is None else self.now() + timedelta(seconds=limit_s)
        try:
            while until is None or not until():
                if timer := self._due():
                    timer.action()
                elif problem := self._pass_time(until, end):
                    if until is None:
                        return
                    raise Stuck(f"{problem}, and what was waited for has not come ({self._pending()})")
        finally:
            self._driver = None

    def close(self) -> None:
        """Ends every `sleep` and `wait` with ClockClosed; timers no longer come."""
        with self._lock:
            self._closed = True
            self._queue.clear()
            for nap in self._naps:
                nap.over = True
                nap.bell.notify_all()
            self._changed.notify_all()

    def _after(self, seconds: float) -> datetime:
        return self.now() + timedelta(seconds=max(0.0, seconds))

    def _add(self, when: datetime, action: Callable[[], None]) -> Timer:
        timer = Timer(when, action)
        heapq.heappush(self._queue, (when, next(self._order), timer))
        self._activity += 1
        if when <= self.now():
            self._changed.notify_all()
        return timer

    def _hold(self, thread: int, times: int) -> None:
        held = self._held.pop(thread, 0) + times
        if held:
            self._held[thread] = held
        self._activity += 1
        if not self._held:
            self._changed.notify_all()

    def _lie_down(self, seconds: float | None) -> _Nap:
        me = threading.get_ident()
        if me == self._driver:
            raise RuntimeError("the driver's own actions must not wait, time would stop; use call_in")
        with self._lock:
            if self._closed:
                raise ClockClosed("the clock is closed")
            nap = _Nap(threading.Condition(self._lock), self._held.get(me, 0))
            self._naps.add(nap)
            if seconds is not None:
                nap.timer = self._add(self._after(seconds), lambda: self._wake(nap))
            self._hold(me, -nap.held)
        return nap

    def _wake(self, nap: _Nap) -> None:
        with self._lock:
            if nap in self._naps and not nap.over:
                nap.over = nap.woken = True
                self._waking += 1
                nap.bell.notify_all()

    def _rise(self, nap: _Nap) -> None:
        with self._lock:
            self._naps.discard(nap)
            if nap.timer is not None:
                nap.timer.cancel()
            self._waking -= nap.woken
            self._hold(threading.get_ident(), nap.held)
            self._changed.notify_all()
            if self._closed:
                raise ClockClosed("the clock was closed while this thread waited")

    def _due(self) -> Timer | None:
        with self._lock:
            head = self._head()
            if head is None or head.when > self.now():
                return None
            heapq.heappop(self._queue)
            return head

    def _head(self) -> Timer | None:
        while self._queue and self._queue[0][2].cancelled:
            heapq.heappop(self._queue)
        return self._queue[0][2] if self._queue else None

    def _pass_time(self, until: Callable[[], bool] | None, end: datetime | None) -> str | None:
        """Waits until all is quiet and moves time on; tells why it cannot."""
        quiet_at = self._settle()
        if quiet_at is None or (until is not None and until()):
            return None
        return self._jump(quiet_at, end, until is None)

    def _settle(self) -> int | None:
        """The count of activity once all is quiet; None when a timer fell due meanwhile."""
        with self._lock:
            while True:
                if (head := self._head()) is not None and head.when <= self._now:
                    return None
                seen = self._activity
                self._changed.wait(None if self._held or self._waking else self._quiet_s)
                if seen == self._activity and not (self._held or self._waking):
                    return seen

    def _jump(self, quiet_at: int, end: datetime | None, to_the_end: bool) -> str | None:
        """Moves time on to what is due next, `end` at most; tells why it cannot."""
        with self._lock:
            if self._activity != quiet_at:
                return None
            head = self._head()
            if head is None and not (end and to_the_end):
                return f"at {self._now:%FT%TZ} nothing is left to wait for"
            if end is not None and (head is None or head.when > end):
                self._now = max(self._now, end)
                return f"at {self._now:%FT%TZ} the time allowed is over"
            if head is not None:
                self._now = max(self._now, head.when)
            return None

    def _pending(self) -> str:
        with self._lock:
            timers = sum(not timer.cancelled for _, _, timer in self._queue)
            head = self._head()
            following = f", the next at {head.when:%FT%TZ}" if head else ""
            return f"{timers} timers{following}; {len(self._naps)} threads waiting"


class WallClock(VirtualClock):
    """Time that passes by itself: nothing makes it stand still, and `run` asks `until` again and again.

    Actions still come from the driver alone, one by one; late when it is not there or has too much to do. With `haste`
    all that waits is in a hurry: a second asked of `call_in`, `sleep` and `wait` is that many times shorter. The time that
    is told stays true, so that others who stamp what they do agree with it.
    """

    def __init__(self, start: datetime, haste: float = 1.0, look_s: float = 0.02) -> None:
        """It is `start` now; `look_s` are the seconds between two looks at `until`."""
        super().__init__(start)
        self._haste, self._look_s, self._begun = haste, look_s, monotonic()

    def now(self) -> datetime:
        """The time, in UTC."""
        return self._now + timedelta(seconds=monotonic() - self._begun)

    def _after(self, seconds: float) -> datetime:
        return super()._after(seconds / self._haste)

    def _pass_time(self, until: Callable[[], bool] | None, end: datetime | None) -> str | None:
        with self._lock:
            head, now = self._head(), self.now()
            if end is not None and now >= end:
                return f"at {now:%FT%TZ} the time allowed is over"
            if head is None and end is None and until is None:
                return f"at {now:%FT%TZ} nothing is left to wait for"
            coming = [head.when] if head else []
            left_s = [(when - now).total_seconds() for when in (*coming, end) if when]
            self._changed.wait(max(0.0, min([self._look_s, *left_s])))
        return None
