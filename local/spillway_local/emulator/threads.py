"""Threads and events that a virtual clock knows of, to stand in for `threading` in moto's interpreter.

Every thread of an execution holds the clock's `busy` while it can go on, and lets go of it only while it waits here.
So time passes exactly when all executions wait, however slow the machine is.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import Any

from spillway_local.clock import ClockClosed, VirtualClock


class Inline:
    """A thread that has run to its end when `start` returns: for places where moto joins at once.

    moto starts one for each program and each attempt of a state, only to bound it in real time. Virtual time does not
    pass while a handler runs, so there is nothing to bound, and a hundred threads fewer to wake.
    """

    def __init__(self, target: Callable[..., object], args: tuple[Any, ...] = (), **_: object) -> None:
        self._run: Callable[[], object] = partial(target, *args)

    def start(self) -> None:
        self._run()

    def join(self, timeout: float | None = None) -> None:
        """Nothing is left to wait for."""

    def is_alive(self) -> bool:
        return False


def busy_thread(clock: VirtualClock, started: list[threading.Thread] | None = None) -> type[threading.Thread]:
    """A Thread class whose instances hold `clock.busy()` from `start` to their end, and are listed in `started`."""

    class BusyThread(threading.Thread):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._holds = threading.Event()
            if started is not None:
                started.append(self)

        def start(self) -> None:
            super().start()
            self._holds.wait()  # the starter is busy itself: time has no gap to slip through

        def run(self) -> None:
            with clock.busy(), suppress(SystemExit):
                self._holds.set()
                super().run()

    return BusyThread


def virtual_event(clock: VirtualClock) -> type:
    """An Event class that waits in virtual time. The end of the world ends the waiting thread, without a word."""

    class VirtualEvent:
        def __init__(self) -> None:
            self._signal = clock.signal()
            self.is_set, self.set, self.clear = self._signal.is_set, self._signal.set, self._signal.clear

        def wait(self, timeout: float | None = None) -> bool:
            if not isinstance(timeout, int | float | None):
                return False  # moto evaluates no TimeoutSeconds any more once an execution was stopped
            try:
                return self.is_set() or clock.wait(self._signal, timeout)
            except ClockClosed:
                # SystemExit passes moto's `except Exception`, which would take it for an error to catch and go on.
                raise SystemExit from None

    return VirtualEvent


def stand_in(event: type, thread: type) -> SimpleNamespace:
    """What a module sees as `threading`: real locks, and these classes of events and threads."""
    return SimpleNamespace(Lock=threading.Lock, RLock=threading.RLock, Event=event, Thread=thread)
