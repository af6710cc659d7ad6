"""Watches of many lists at once: each over a connection of its own and read by a thread of its own, all into one queue."""

import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from spillway.kube import retry
from spillway.kube.connection import Connection
from spillway.kube.resources import Resource
from spillway.kube.session import Session

_JOIN_S = 1.0
_GRACE_S = 3.0  # that a server may be late with the end of a watch, or with its next sign of life

Waiting = Callable[["queue.SimpleQueue[Told]", float], "Told | None"]


class What(StrEnum):
    PROBED = "probed"  # the server's version of the list came
    OPENED = "opened"  # the watch began
    EVENT = "event"
    ENDED = "ended"  # nothing more comes of this list


@dataclass(frozen=True)
class Told:
    """`body` is an event's line or the probe's answer; `status` that of an answer which was no success, else 0."""

    resource: Resource
    what: What
    body: bytes = b""
    status: int = 0
    problem: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def in_time(told: "queue.SimpleQueue[Told]", seconds: float) -> "Told | None":
    """What comes within so many seconds."""
    try:
        return told.get(timeout=max(0.0, seconds))
    except queue.Empty:
        return None


wait: Waiting = in_time
"""Waiting, as a module attribute: tests put their own here."""


class Streams:
    """Use it as a context manager: when it is left, its threads end, and one that still waits for a server soon does."""

    def __init__(self, session: Session) -> None:
        self._connections = session.connections()
        self._told: queue.SimpleQueue[Told] = queue.SimpleQueue()
        self._threads: list[tuple[threading.Thread, Connection]] = []

    def __enter__(self) -> "Streams":
        return self

    def __exit__(self, *_: Any) -> None:
        for _thread, connection in self._threads:
            connection.end()
        end = time.monotonic() + _JOIN_S  # for all together: there are some twenty, and a server that hangs may hold each
        for thread, _connection in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def open(self, resource: Resource, version: str, life_s: int, probe: bool = True) -> None:
        """Watches it from `version` on for so many seconds. With `probe` the server is asked first for its own version of the
        list, which brings its watch cache up to that; the answer is told."""
        connection = Connection(self._connections)
        work = (resource, version, life_s, probe, connection)
        thread = threading.Thread(target=self._read, args=work, name=f"watch {resource.name}", daemon=True)
        self._threads.append((thread, connection))
        thread.start()

    def next(self, seconds: float) -> Told | None:
        """What was told first and not taken yet; None when nothing is within that time."""
        return wait(self._told, seconds)

    def _read(self, resource: Resource, version: str, life_s: int, probe: bool, connection: Connection) -> None:
        from urllib3.exceptions import HTTPError

        try:
            for attempt in range(retry.ATTEMPTS):
                ended = self._follow(resource, version, life_s, probe, connection)
                if not retry.is_passing(ended.status) or attempt + 1 == retry.ATTEMPTS:
                    break
                retry.wait(attempt, ended.headers.get("Retry-After"))  # a server that has too much to do is not given more
        except (HTTPError, OSError, AttributeError) as error:  # the last of a connection that was ended while it read
            ended = Told(resource, What.ENDED, problem=f"{type(error).__name__}: {error}")
        finally:
            connection.close()
        self._told.put(ended)

    def _follow(self, resource: Resource, version: str, life_s: int, probe: bool, connection: Connection) -> Told:
        if probe:
            status, body, headers = connection.get(resource.probe)
            if status != 200:
                return Told(resource, What.ENDED, body, status, headers=headers)
            self._told.put(Told(resource, What.PROBED, body, headers=headers))
        status, lines, headers = connection.stream(resource.watch(version, life_s), life_s + _GRACE_S)
        if status != 200:
            return Told(resource, What.ENDED, b"".join(lines), status, headers=headers)
        if not connection.is_one:
            return Told(resource, What.ENDED, problem="its connection was closed between two requests")
        self._told.put(Told(resource, What.OPENED))
        for line in lines:
            self._told.put(Told(resource, What.EVENT, line))
        return Told(resource, What.ENDED)
