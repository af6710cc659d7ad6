"""HTTP on the loopback: keep-alive, no Nagle delay, gzip as the real server does it."""

import gzip
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from spillway_local.kube_api.access import Access
from spillway_local.kube_api.api import Api
from spillway_local.kube_api.discovery import discover
from spillway_local.kube_api.faults import Fault, Faults
from spillway_local.kube_api.refusals import Refusal, injected
from spillway_local.kube_api.requests import Answer, Ask, understand

_GZIP_FROM = 128 * 1024  # defaultGzipThresholdBytes of k8s.io/apiserver, responsewriters/writers.go


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

    def __init__(self, api: Api, access: Access, faults: Faults, traffic: Traffic) -> None:
        self.api, self.access, self.faults, self.traffic = api, access, faults, traffic
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._loop = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, name="kube-api")
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def start(self) -> None:
        self.api.stopping.clear()
        self._loop.start()

    def stop(self) -> None:
        """Cuts all connections and waits until the last thread is gone."""
        self.api.stopping.set()
        with self.api.store.lock:
            self.api.store.changed.notify_all()  # watches look up and end
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
        api = self.server.api
        ask = understand(api.kinds, self.command, self.path, self.headers.get("Content-Type", ""), payload)
        self.server.traffic.count(ask)
        fault = self.server.faults.take(ask) if ask else None
        if fault and fault.what != "answer":
            return self._misbehave(fault)
        with api.clock.busy() if ask is None or ask.verb != "watch" else nullcontext():
            try:
                answer = self._answer(ask, fault)
            except Refusal as refusal:
                headers = {"Retry-After": str(refusal.retry_after_s)} if refusal.retry_after_s else {}
                answer = Answer(refusal.code, [refusal.body()], headers=headers)
            except Exception as problem:  # a defect of this fake: told, so that nobody waits for an answer
                answer = Answer(500, [Refusal(500, f"Internal error occurred: {problem!r}").body()])
            if answer.stream is None:
                return self._send(answer)
        return self._stream(answer.stream)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = serve  # noqa: N815, the base class looks for these

    def _answer(self, ask: Ask | None, fault: Fault | None) -> Answer:
        if fault:
            raise injected(fault.code, fault.retry_after_s)
        self.server.access.authenticate(self.headers.get("Authorization", ""))
        if ask is None:
            found = discover(self.server.api.kinds, self.path)
            if found is None:
                return Answer(404, [b"404 page not found\n"], content_type="text/plain; charset=utf-8")
            return Answer(body=[msgspec.json.encode(found)])
        self.server.access.authorize(ask)
        return self.server.api.answer(ask)

    def _send(self, answer: Answer) -> None:
        size = sum(map(len, answer.body))
        if size > _GZIP_FROM and "gzip" in self.headers.get("Accept-Encoding", ""):
            answer.body = [gzip.compress(b"".join(answer.body), 1)]  # level 1 there too
            answer.headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
            size = len(answer.body[0])
        self.server.traffic.count(None, size)
        body = [] if self.command == "HEAD" else answer.body
        self.wfile.write(b"".join([self._head(answer, {"Content-Length": str(size)}), *body]))  # small answers: one packet

    def _stream(self, lines: Iterator[bytes]) -> None:
        self.wfile.write(self._head(Answer(), {"Transfer-Encoding": "chunked"}))
        for line in lines:
            if line:
                self.server.traffic.count(None, len(line))
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            elif self._client_has_gone():
                self.close_connection = True
                return
        self.wfile.write(b"0\r\n\r\n")

    def _head(self, answer: Answer, more: dict[str, str]) -> bytes:
        """Status line and headers; the Date tells the cluster's time, from which a snapshot takes its own."""
        date = formatdate(self.server.api.clock.now().timestamp(), usegmt=True)
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
