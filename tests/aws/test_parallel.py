"""Calls at once: in order, bounded, and none left behind."""

import threading

import pytest

from spillway.aws import parallel


def test_answers_come_in_the_order_of_the_items() -> None:
    assert parallel.each(lambda number: number * 2, list(range(50))) == list(range(0, 100, 2))


def test_no_items_are_no_calls() -> None:
    assert parallel.each(pytest.fail, []) == []


def test_as_many_calls_run_at_once_as_may_and_no_more() -> None:
    together, under_way, most, lock = threading.Barrier(3, timeout=5), 0, 0, threading.Lock()

    def call(_: int) -> None:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        together.wait()  # each three at once
        with lock:
            under_way -= 1

    parallel.each(call, list(range(9)), at_once=3)

    assert most == 3


def test_after_an_error_no_call_begins_and_none_goes_on() -> None:
    began, goes_on, ended = list[int](), threading.Event(), list[int]()

    def call(number: int) -> None:
        began.append(number)
        if number == 0:
            assert goes_on.wait(5)
            raise ValueError("no")
        goes_on.set()
        ended.append(number)

    with pytest.raises(ValueError, match="no"):
        parallel.each(call, [0, 1, 2, 3], at_once=2)

    assert began[:2] == [0, 1]
    assert ended == began[1:]


def test_what_a_call_raises_is_in_its_future() -> None:
    with pytest.raises(ZeroDivisionError):
        parallel.begin(lambda: 1 / 0).result()
