"""Calls at once, each in a daemon thread: an executor's threads would be waited for at the end of the process, and one
that hangs would hold it."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

AT_ONCE = 8
"""Of one kind in one region: fewer than a client keeps connections for, and a burst that no throttle of AWS minds."""

K = TypeVar("K")
V = TypeVar("V")


def begin(call: Callable[[], V]) -> "Future[V]":
    """The answer, or the error, comes in the future."""
    future: Future[V] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


def within(seconds: float, call: Callable[[], V]) -> V:
    """Its answer; raises TimeoutError where it takes longer, and then leaves it to itself."""
    return begin(call).result(seconds)


def each(call: Callable[[K], V], items: Sequence[K], at_once: int = AT_ONCE) -> list[V]:
    """`call` of each item, at most `at_once` at a time; answers in the items' order.

    Raises what a call raised, when those under way have ended; no further one begins then.
    """
    todo, found = deque(enumerate(items)), dict[int, V]()

    def work() -> None:
        while todo:
            try:
                number, item = todo.popleft()
            except IndexError:  # another thread was quicker
                return
            try:
                found[number] = call(item)
            except BaseException:
                todo.clear()
                raise

    workers = [begin(work) for _ in range(min(at_once, len(items)))]
    wait(workers)
    for worker in workers:
        worker.result()
    return [found[number] for number in range(len(items))]
