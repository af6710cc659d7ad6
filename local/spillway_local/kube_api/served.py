"""What a cluster that is served over plain HTTP on the loopback has in common, whoever answers behind the door."""

from collections import Counter
from typing import Self

from spillway_local.kube_api.faults import Fault, Faults
from spillway_local.kube_api.protocol import Clock
from spillway_local.kube_api.server import Backend, Server, Traffic


class Served:
    """Use it as a context manager, or call `start` and `stop`; nothing is left behind either way."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self.clock = clock
        self.faults = Faults()
        self._backend = backend
        self._traffic = Traffic()
        self._server: Server | None = None

    def start(self) -> Self:
        if self._server is None:
            self._server = Server(self._backend, self.clock, self.faults, self._traffic)
            self._server.start()
        return self

    def stop(self) -> None:
        """Cuts every connection, and returns when the last thread has ended."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        if self._server is None:
            raise RuntimeError("a cluster serves only between start and stop; use it as a context manager")
        return self._server.url

    def fail(
        self, verb: str, resource: str, status: int, times: int = 1, retry_after: int | None = None,
        name: str | None = None, after: int = 0,
    ) -> None:  # fmt: skip
        """The next `times` matching requests get this status, once `after` more have gone well; `*` is any."""
        self.faults.add(Fault("answer", verb, resource, status, retry_after, name, after, times))

    def hang(self, verb: str, resource: str, times: int = 1) -> None:
        """The next matching requests are never answered; they end when the client gives up or the server stops."""
        self.faults.add(Fault("hang", verb, resource, times=times))

    def drop(self, verb: str, resource: str, times: int = 1) -> None:
        """The connection of the next matching requests is closed without an answer."""
        self.faults.add(Fault("drop", verb, resource, times=times))

    @property
    def requests(self) -> Counter[tuple[str, str]]:
        """Requests so far by (verb, resource)."""
        return self._traffic.requests

    @property
    def bytes_sent(self) -> int:
        """Bytes of answers on the wire so far, headers not counted."""
        return self._traffic.sent
