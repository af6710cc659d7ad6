"""A figure, and the watch that times one."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Figure = dict[str, object]
"""What `make bench` prints a line of: at least `figure`, `value`, `unit` and `goal`; `peer` where one was measured."""


@dataclass
class Seconds:
    """`wall` is what a figure tells; `cpu` is this process's own, which other work on the machine does not stretch."""

    wall: float = 0.0
    cpu: float = 0.0


@contextmanager
def timed(seconds: Seconds) -> Iterator[None]:
    """Adds what the block takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        yield
    finally:
        seconds.wall += time.perf_counter() - wall
        seconds.cpu += time.process_time() - cpu
