"""A door to a real API server that Spillway's own session may use: plain HTTP on the loopback, everything passed on.

Each request reaches the real server over TLS with the client's own credentials, so that server judges it. What can go
wrong on the way is carried out here, by the same code as in the fake.
"""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import urllib3
from urllib3.util import SKIP_HEADER

from spillway_local.kube_api.kinds import Kinds
from spillway_local.kube_api.requests import Answer, Call

_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "host")  # between two ends of one connection
_CONNECT_S, _ANSWER_S = 5.0, 60.0  # real seconds; a watch may say nothing for longer
_LOOK_S = 0.2  # real seconds between looks at whether the client has gone


class Front:
    """`url` and `ca_file` are the real server's."""

    def __init__(self, url: str, ca_file: Path, kinds: Kinds) -> None:
        self.kinds = kinds
        self._url, self._parts = url, urlsplit(url)
        self._tls = ssl.create_default_context(cafile=str(ca_file))
        timeout = urllib3.Timeout(connect=_CONNECT_S, read=_ANSWER_S)
        self._pool = urllib3.PoolManager(maxsize=32, ssl_context=self._tls, timeout=timeout, retries=False)

    def start(self) -> None:
        """Nothing: connections are made as they are needed."""

    def stop(self) -> None:
        self._pool.clear()

    def answer(self, call: Call) -> Answer:
        """The real server's own, byte for byte."""
        if call.ask and call.ask.verb == "watch":
            return Answer(stream=self._follow(call), whole=True)
        headers = {"Accept-Encoding": SKIP_HEADER, "User-Agent": SKIP_HEADER, **_passed_on(call)}
        got = self._pool.request(
            call.method, self._url + call.target, body=call.payload or None, headers=headers, decode_content=False
        )
        kept = {name: value for name, value in got.headers.items() if name.lower() not in _HOP}
        return Answer(got.status, [got.data], content_type=kept.pop("Content-Type", ""), headers=kept)

    def _follow(self, call: Call) -> Iterator[bytes]:
        """A watch as the server sends it, on a connection of its own; b"" whenever it has nothing to say for a moment."""
        fields = {**_passed_on(call), "Host": self._parts.netloc, "Connection": "close"}
        lines = [f"{call.method} {call.target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        address = (self._parts.hostname or "", self._parts.port or 443)
        with (
            socket.create_connection(address, _CONNECT_S) as plain,
            self._tls.wrap_socket(plain, server_hostname=self._parts.hostname) as there,
        ):
            there.sendall("\r\n".join(lines).encode("latin-1") + call.payload)
            there.settimeout(_LOOK_S)
            while True:
                try:
                    piece = there.recv(65536)
                except TimeoutError:
                    yield b""
                    continue
                if not piece:
                    return
                yield piece


def _passed_on(call: Call) -> dict[str, str]:
    return {name: value for name, value in call.headers.items() if name.lower() not in _HOP}
