"""Virtual time: what comes when, and what makes it stand still; and time that passes by itself, which works the same."""

import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count
from time import monotonic

import pytest

from spillway_local.clock import ClockClosed, Stuck, VirtualClock, WallClock

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(START)


def seconds(clock: VirtualClock) -> float:
    return (clock.now() - START).total_seconds()


def in_thread(clock: VirtualClock, work: Callable[[], object]) -> threading.Thread:
    """Starts `work` as a worker that is busy from its first moment."""
    started = threading.Event()

    def body() -> None:
        with clock.busy():
            started.set()
            work()

    thread = threading.Thread(target=body)
    thread.start()
    assert started.wait(5)
    return thread


def test_actions_come_by_time_and_then_in_the_order_they_were_asked_for(clock: VirtualClock) -> None:
    seen: list[tuple[str, float]] = []
    clock.call_in(60, lambda: seen.append(("late", seconds(clock))))
    clock.call_in(5, lambda: seen.append(("first", seconds(clock))))
    clock.call_in(5, lambda: seen.append(("second", seconds(clock))))
    clock.run()
    assert seen == [("first", 5), ("second", 5), ("late", 60)]


def test_an_hour_passes_without_an_hour_of_waiting(clock: VirtualClock) -> None:
    clock.call_in(3600, lambda: None)
    clock.run()
    assert seconds(clock) == 3600


def test_a_cancelled_timer_does_not_come_and_does_not_move_time(clock: VirtualClock) -> None:
    clock.call_in(10, lambda: pytest.fail("it was cancelled")).cancel()
    clock.run()
    assert seconds(clock) == 0


def test_an_action_may_ask_for_the_next_one(clock: VirtualClock) -> None:
    ticks: list[float] = []

    def tick() -> None:
        ticks.append(seconds(clock))
        clock.call_in(60, tick)

    clock.call_in(0, tick)
    clock.run(until=lambda: len(ticks) == 4)
    assert ticks == [0, 60, 120, 180]


def test_without_a_condition_it_runs_exactly_as_long_as_allowed(clock: VirtualClock) -> None:
    seen: list[float] = []
    clock.call_in(50, lambda: seen.append(seconds(clock)))
    clock.call_in(200, lambda: seen.append(seconds(clock)))
    clock.run(limit_s=100)
    assert (seen, seconds(clock)) == ([50], 100)
    clock.run(limit_s=100)
    assert (seen, seconds(clock)) == ([50, 200], 200)


def test_says_when_the_time_allowed_is_over(clock: VirtualClock) -> None:
    clock.call_in(100, lambda: None)
    with pytest.raises(
        Stuck, match=r"2026-01-01T00:01:00Z the time allowed is over.*1 timers, the next at 2026-01-01T00:01:40Z"
    ):
        clock.run(until=lambda: False, limit_s=60)


def test_says_when_nothing_is_left_to_wait_for(clock: VirtualClock) -> None:
    with pytest.raises(Stuck, match="nothing is left to wait for"):
        clock.run(until=lambda: False, limit_s=60)


def test_an_exception_in_an_action_comes_out_of_run_and_the_clock_can_be_driven_again(clock: VirtualClock) -> None:
    clock.call_in(1, lambda: {}["missing"])
    clock.call_in(2, lambda: None)
    with pytest.raises(KeyError):
        clock.run()
    clock.run()
    assert seconds(clock) == 2


def test_a_worker_sleeps_in_virtual_time(clock: VirtualClock) -> None:
    seen: list[float] = []

    def work() -> None:
        for pause in (30, 0, 15):
            clock.sleep(pause)
            seen.append(seconds(clock))

    worker = in_thread(clock, work)
    clock.run(until=lambda: len(seen) == 3, limit_s=100)
    worker.join()
    assert seen == [30, 30, 45]


def test_sleepers_wake_one_after_the_other_and_time_waits_for_each(clock: VirtualClock) -> None:
    seen: list[tuple[int, float]] = []

    def work(name: int) -> None:
        for _ in range(3):
            clock.sleep(10 + name)
            seen.append((name, seconds(clock)))

    workers = [in_thread(clock, lambda name=name: work(name)) for name in range(4)]  # type: ignore[misc]
    clock.run(until=lambda: len(seen) == 12, limit_s=1000)
    for worker in workers:
        worker.join()
    expected = sorted((10 + name) * turn for name in range(4) for turn in (1, 2, 3))
    assert [at for _, at in seen] == expected


def test_time_stands_still_while_a_worker_is_busy(clock: VirtualClock) -> None:
    release, seen = threading.Event(), list[float]()
    in_thread(clock, lambda: (release.wait(5), seen.append(seconds(clock))))
    clock.call_in(1, lambda: None)
    threading.Timer(0.1, release.set).start()
    clock.run()
    assert seen == [0]
    assert seconds(clock) == 1


def test_what_is_due_now_comes_even_while_a_worker_is_busy(clock: VirtualClock) -> None:
    answered = threading.Event()
    worker = in_thread(clock, lambda: answered.wait(5))
    clock.call_in(0, answered.set)
    clock.run()
    worker.join()
    assert answered.is_set()


def test_waiting_ends_with_the_event(clock: VirtualClock) -> None:
    event, answers = clock.signal(), list[tuple[bool, float]]()
    worker = in_thread(clock, lambda: answers.append((clock.wait(event, 60), seconds(clock))))
    clock.call_in(20, event.set)
    clock.run(until=lambda: bool(answers), limit_s=100)
    worker.join()
    assert answers == [(True, 20)]


def test_waiting_ends_with_the_virtual_timeout(clock: VirtualClock) -> None:
    answers: list[tuple[bool, float]] = []
    worker = in_thread(clock, lambda: answers.append((clock.wait(clock.signal(), 60), seconds(clock))))
    clock.call_in(90, lambda: None)
    clock.run(until=lambda: bool(answers), limit_s=100)
    worker.join()
    assert answers == [(False, 60)]


def test_an_event_that_is_set_holds_time_until_its_waiter_goes_on(clock: VirtualClock) -> None:
    event, seen = clock.signal(), list[float]()
    worker = in_thread(clock, lambda: (clock.wait(event), seen.append(seconds(clock))))
    clock.call_in(5, event.set)
    clock.call_in(6, lambda: None)
    clock.run()
    worker.join()
    assert seen == [5]


def test_touch_puts_the_jump_off(clock: VirtualClock) -> None:
    touches, seen = 20, list[float]()

    def chatter() -> None:
        for _ in range(touches):
            clock.touch()
            threading.Event().wait(0.001)
        seen.append(seconds(clock))

    thread = threading.Thread(target=chatter)
    clock = VirtualClock(START, quiet_s=0.1)
    clock.call_in(60, lambda: None)
    thread.start()
    clock.run()
    thread.join()
    assert seen == [0]


def test_an_action_must_not_wait(clock: VirtualClock) -> None:
    clock.call_in(1, lambda: clock.sleep(1))
    with pytest.raises(RuntimeError, match="use call_in"):
        clock.run()


def test_there_is_one_driver(clock: VirtualClock) -> None:
    clock.call_in(1, clock.run)
    with pytest.raises(RuntimeError, match="already being driven"):
        clock.run()


def test_ctrl_c_leaves_at_once_and_the_clock_can_be_driven_again(clock: VirtualClock) -> None:
    release, main = threading.Event(), threading.main_thread().ident
    assert main is not None
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a worker of the test run ignores it
    worker = in_thread(clock, lambda: release.wait(5))
    threading.Timer(0.05, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            clock.run()
    finally:
        signal.signal(signal.SIGINT, before)
    release.set()
    worker.join()
    clock.call_in(1, lambda: None)
    clock.run()
    assert seconds(clock) == 1


def test_closing_lets_every_waiting_thread_go(clock: VirtualClock) -> None:
    waits: list[Callable[[], object]] = [lambda: clock.sleep(1e6), lambda: clock.wait(clock.signal())]
    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(wait) for wait in waits]
        while len(clock._naps) < len(waits):
            threading.Event().wait(0.001)
        clock.close()
        for future in futures:
            with pytest.raises(ClockClosed):
                future.result(5)
    with pytest.raises(ClockClosed):
        clock.sleep(1)


@pytest.fixture
def wall() -> WallClock:
    """Whoever waits a second in it waits a hundredth of one."""
    return WallClock(START, haste=100)


class TestTimeThatPassesByItself:
    def test_it_is_the_walls(self) -> None:
        began, clock = monotonic(), WallClock(START)
        clock.run(limit_s=0.03)
        assert 0.03 <= seconds(clock) <= monotonic() - began

    def test_actions_come_when_they_are_due_in_their_order(self, wall: WallClock) -> None:
        seen: list[tuple[str, bool]] = []
        wall.call_in(40, lambda: seen.append(("late", seconds(wall) >= 0.4)))
        wall.call_in(1, lambda: seen.append(("soon", seconds(wall) >= 0.01)))
        wall.call_in(2, lambda: seen.append(("then", seconds(wall) >= 0.02)))
        wall.call_in(30, lambda: pytest.fail("it was cancelled")).cancel()
        wall.run()
        assert seen == [("soon", True), ("then", True), ("late", True)]

    def test_what_changes_without_an_action_is_seen(self, wall: WallClock) -> None:
        looks = count()
        wall.run(until=lambda: next(looks) == 3)

    def test_nobody_who_is_busy_holds_it_up(self, wall: WallClock) -> None:
        release = threading.Event()
        worker = in_thread(wall, lambda: release.wait(5))
        wall.call_in(1, release.set)
        wall.run(until=release.is_set, limit_s=4)
        worker.join()
        assert seconds(wall) >= 0.01

    def test_workers_sleep_and_wait_in_it(self, wall: WallClock) -> None:
        bell, seen = wall.signal(), list[bool]()

        def work() -> None:
            wall.sleep(1)
            seen.append(seconds(wall) >= 0.01)
            seen.append(wall.wait(bell, 1))
            seen.append(wall.wait(bell))

        worker = in_thread(wall, work)
        wall.run(until=lambda: len(seen) == 2, limit_s=4)
        wall.call_in(1, bell.set)
        wall.run(until=lambda: len(seen) == 3, limit_s=4)
        worker.join()
        assert seen == [True, False, True]

    def test_says_when_the_time_allowed_is_over(self) -> None:
        clock = WallClock(START)
        clock.call_in(100, lambda: None)
        with pytest.raises(Stuck, match=r"the time allowed is over.*1 timers, the next at 2026-01-01T00:01:40Z"):
            clock.run(until=lambda: False, limit_s=0.01)

    def test_closing_lets_every_waiting_thread_go(self, wall: WallClock) -> None:
        with ThreadPoolExecutor() as pool:
            future = pool.submit(wall.sleep, 1e6)
            wall.run(until=lambda: bool(wall._naps), limit_s=4)
            wall.close()
            with pytest.raises(ClockClosed):
                future.result(5)
