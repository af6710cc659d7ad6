"""HTTP on the loopback: keep-alive, no Nagle delay, faults on demand. What is answered is a backend's affair."""

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from spillway_local.kube_api.faults import Fault, Faults
from spillway_local.kube_api.kinds import Kinds
from spillway_local.kube_api.protocol import Clock
from spillway_local.kube_api.refusals import Refusal, injected
from spillway_local.kube_api.requests import Answer, Ask, Call, understand


class Backend(Protocol):
    @property
    def kinds(self) -> Kinds: ...

    def answer(self, call: Call) -> Answer:
        """What comes of a request that met no fault; raises Refusal."""

    def start(self) -> None:
        """Called before the first request."""

    def stop(self) -> None:
        """Streams end soon after."""


class Traffic:
    """Requests by (verb, resource), and the bytes of bodies that went over the wire."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests: Counter[tuple[str, str]] = Counter()
        self.sent = 0

    def count(self, ask: Ask | None, sent: int = 0) -> None:
        with self._lock:
            if ask:
                self.requests[ask.verb, ask.resource] += 1
            self.sent += sent


class Server(ThreadingHTTPServer):
    """Binds a free port when made."""

    daemon_threads = False  # so that closing waits for them
    request_queue_size = 128

    def __init__(self, backend: Backend, clock: Clock, faults: Faults, traffic: Traffic) -> None:
        self.backend, self.clock, self.faults, self.traffic = backend, clock, faults, traffic
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._loop = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, name="kube-api")
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def start(self) -> None:
        self.backend.start()
        self._loop.start()

    def stop(self) -> None:
        """Cuts all connections and waits until the last thread is gone."""
        self.backend.stop()
        self.shutdown()
        self._loop.join()
        with self._lock:
            for connection in self._connections:
                cut(connection)
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is the client's affair."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, ValueError):
            self.close_connection = True

    def serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        payload = self.rfile.read(length) if length else b""
        backend = self.server.backend
        ask = understand(backend.kinds, self.command, self.path, self.headers.get("Content-Type", ""), payload)
        self.server.traffic.count(ask)
        fault = self.server.faults.take(ask) if ask else None
        if fault and fault.what != "answer":
            return self._misbehave(fault)
        with self.server.clock.busy() if ask is None or ask.verb != "watch" else nullcontext():
            try:
                if fault:
                    raise injected(fault.code, fault.retry_after_s)
                answer = backend.answer(Call(self.command, self.path, self.headers, payload, ask))
            except Refusal as refusal:
                headers = {"Retry-After": str(refusal.retry_after_s)} if refusal.retry_after_s else {}
                answer = Answer(refusal.code, [refusal.body()], headers=headers)
            except Exception as problem:  # a defect of this server: told, so that nobody waits for an answer
                answer = Answer(500, [Refusal(500, f"Internal error occurred: {problem!r}").body()])
            if answer.stream is None:
                return self._send(answer)
        return self._relay(answer.stream) if answer.whole else self._stream(answer.stream)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = serve  # noqa: N815, the base class looks for these

    def _send(self, answer: Answer) -> None:
        size = sum(map(len, answer.body))
        self.server.traffic.count(None, size)
        body = [] if self.command == "HEAD" else answer.body
        self.wfile.write(b"".join([self._head(answer, {"Content-Length": str(size)}), *body]))  # small answers: one packet

    def _stream(self, lines: Iterator[bytes]) -> None:
        self.wfile.write(self._head(Answer(), {"Transfer-Encoding": "chunked"}))
        if self._pass_on(b"%x\r\n%s\r\n" % (len(line), line) if line else b"" for line in lines):
            self.wfile.write(b"0\r\n\r\n")

    def _relay(self, pieces: Iterator[bytes]) -> None:
        self.close_connection = True  # where its answer ends, nobody here can tell
        self._pass_on(pieces)

    def _pass_on(self, pieces: Iterator[bytes]) -> bool:
        """An empty piece is a moment to look at the connection. False when the client went first."""
        for piece in pieces:
            if piece:
                self.server.traffic.count(None, len(piece))
                self.wfile.write(piece)
            elif self._client_has_gone():
                self.close_connection = True
                return False
        return True

    def _head(self, answer: Answer, more: dict[str, str]) -> bytes:
        """Status line and headers; the Date tells the cluster's time, from which a snapshot takes its own."""
        date = formatdate(self.server.clock.now().timestamp(), usegmt=True)
        fields = {"Date": date, "Content-Type": answer.content_type, **answer.headers, **more}
        if self.close_connection:
            fields["Connection"] = "close"
        lines = [
            f"HTTP/1.1 {answer.code} {HTTPStatus(answer.code).phrase}",
            *(f"{name}: {value}" for name, value in fields.items()),
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def _misbehave(self, fault: Fault) -> None:
        self.close_connection = True
        if fault.what == "hang":
            self.connection.recv(1)  # returns when the client gives up, or the server stops

    def _client_has_gone(self) -> bool:
        self.connection.setblocking(False)
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        finally:
            self.connection.setblocking(True)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, the name of the base class
        """Nothing: the counters tell what was asked."""


def cut(connection: socket.socket) -> None:
    with suppress(OSError):  # it may be closed already
        connection.shutdown(socket.SHUT_RDWR)
