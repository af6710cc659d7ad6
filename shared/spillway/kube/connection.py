"""One connection of its own to the API server: all that is asked over it is answered by one server, in order.

Behind one address are often several API servers, each with a cache of its own. What one has told says nothing of another.
"""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubernetes.client import ApiClient
    from urllib3 import BaseHTTPResponse, PoolManager

_TIMEOUT_S = (3.0, 5.0)  # to connect; to the head of an answer
_PIECE_BYTES = 65536


class Connections:
    """Opens them to where `client` leads, with its certificates, which are read once."""

    def __init__(self, client: "ApiClient", token: str) -> None:
        self.root: str = client.configuration.host
        self.headers = {"Accept": "application/json", "User-Agent": client.user_agent}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        shared = client.rest_client.pool_manager
        self._proxy = getattr(shared, "proxy", None)
        config = client.configuration
        kept = ("socket_options", "server_hostname")
        self._options: dict[str, Any] = {
            name: shared.connection_pool_kw[name] for name in kept if name in shared.connection_pool_kw
        }
        if self._proxy:
            self._options["proxy_headers"] = config.proxy_headers
        context = _context(config.ca_cert_data, config.cert_file, config.key_file)
        self._options |= {"ssl_context": context, "num_pools": 1, "maxsize": 1, "block": True}

    def manager(self) -> "PoolManager":
        """Of one connection."""
        from urllib3 import PoolManager, ProxyManager

        return ProxyManager(self._proxy.url, **self._options) if self._proxy else PoolManager(**self._options)


class Connection:
    """Errors are urllib3's HTTPError and OSError."""

    def __init__(self, kind: Connections) -> None:
        self._kind, self._manager = kind, kind.manager()
        self._ends: list[object] = []  # ours, of each answer's connection
        self._stream: BaseHTTPResponse | None = None
        self._closing = False

    @property
    def is_one(self) -> bool:
        """False where another connection had to be opened between two answers."""
        return len(self._ends) < 2 or (self._ends[0] is not None and len(set(self._ends) - {None}) == 1)

    def get(self, target: str) -> tuple[int, bytes, Mapping[str, str]]:
        """Status, body and headers."""
        answer = self._ask(target, _TIMEOUT_S[1])
        return answer.status, answer.data, answer.headers

    def stream(self, target: str, silence_s: float) -> tuple[int, Iterator[bytes], Mapping[str, str]]:
        """Status, lines, between two of which the answer may be silent for so long, and headers."""
        answer = self._stream = self._ask(target, silence_s)
        if self._closing:
            self.end()
        return answer.status, _lines(answer), answer.headers

    def end(self) -> None:
        """Wakes the thread that reads the stream: it ends as if the server had closed it."""
        self._closing = True
        if self._stream is not None:
            with suppress(OSError, ValueError, RuntimeError):  # it may be at its end
                self._stream.shutdown()

    def close(self) -> None:
        """For the thread that reads."""
        if self._stream is not None:
            self._stream.close()
        self._manager.clear()

    def _ask(self, target: str, read_s: float) -> "BaseHTTPResponse":
        from urllib3 import Timeout

        answer = self._manager.request(
            "GET", self._kind.root + target, headers=self._kind.headers, preload_content=False, retries=False,
            timeout=Timeout(connect=_TIMEOUT_S[0], read=read_s),
        )  # fmt: skip
        sock = getattr(answer.connection, "sock", None)
        self._ends.append(getattr(sock, "socket", sock).getsockname() if sock else None)
        return answer


@lru_cache(maxsize=8)
def _context(ca: str | None, certificate: str | None, key: str | None) -> ssl.SSLContext:
    """Kept from tick to tick: to read what the system trusts takes as long as all else of an idle one."""
    from urllib3.util import create_urllib3_context  # comes with kubernetes

    context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED)
    if ca:
        context.load_verify_locations(cadata=ca)
    else:
        context.load_default_certs()
    if certificate:
        context.load_cert_chain(certificate, key)
    return context


def forget() -> None:
    """The certificates and keys that were read."""
    _context.cache_clear()


def _lines(answer: "BaseHTTPResponse") -> Iterator[bytes]:
    rest = b""
    for piece in answer.stream(_PIECE_BYTES):
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        yield rest
