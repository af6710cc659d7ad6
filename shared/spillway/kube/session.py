"""A connection to one API server: raw answers, errors by class, TLS always verified.

The kubernetes client brings connections, certificates and proxies; its typed models are passed by, as they
cost 45 times the reading. It is imported at the first request, because it takes most of a second.
"""

import atexit
import math
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec

from spillway import clock
from spillway.errors import AccessError, ClusterForbidden, ClusterSlow, ClusterUnauthorized, ClusterUnavailable
from spillway.kube import connection, proxies, retry
from spillway.kube.connection import Connections
from spillway.kube.fields import UNREADABLE, Part
from spillway.kube.limit import Cut, Limit
from spillway.model.access import Access

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

_TIMEOUT_S = (5.0, 15.0)  # to connect; between two bytes of an answer
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MERGE_PATCH = "application/merge-patch+json"


class _Status(Part):
    """The API's own description of what went wrong (metav1.Status)."""

    message: str | None = None
    reason: str | None = None


_status = msgspec.json.Decoder(_Status)
_clients: dict[Access, "ApiClient"] = {}  # by where they lead and as whom, without tokens
_files: list[Path] = []  # certificates and keys of clients


@dataclass(frozen=True)
class Answer:
    """`wire_bytes` is what the body was on the way, most often compressed."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    wire_bytes: int = 0

    @property
    def message(self) -> str:
        try:
            found = _status.decode(self.body)
        except UNREADABLE:
            return self.body[:200].decode(errors="replace")
        return found.message or found.reason or ""


@dataclass
class Session:
    """`access` is found at every run; the connections behind it are kept for the life of the process.

    `renew` finds it anew when it ends, or when the server does not accept it. Several threads may call at once. `limited`
    bounds all that is asked together.
    """

    access: Access
    renew: Callable[[], Access] | None = None
    limit: Limit | None = field(default=None, init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    @property
    def cluster(self) -> str:
        return self.access.cluster

    def call(
        self,
        method: str,
        path: str,
        what: tuple[str, str],
        query: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        also: Collection[int] = (),
    ) -> Answer:
        """One request, tried again while that may help. `what` is RBAC's (verb, resource), for the error.

        2xx comes back, and the statuses in `also`, which are not tried again. Raises ClusterUnauthorized, ClusterForbidden,
        ClusterUnavailable and, beyond a limit, ClusterSlow. Every write of ours bears a repetition: a patch carries a
        resourceVersion, a delete and an eviction a uid.
        """
        self.in_time(" ".join(what))
        began, attempt, anew = clock.utcnow(), 0, False
        while True:
            attempt += 1
            access = self._current()
            answer = self._once(access, method, path, query, body, content_type)
            if isinstance(answer, str):
                self.in_time(" ".join(what))
                problem, after = answer, None
            elif answer.status < 300 or answer.status in also:
                return answer
            elif answer.status == 401 and not anew and self._has_other_than(access):
                anew = True
                continue
            else:
                self._refuse(answer, *what)
                problem, after = f"{answer.status} {answer.message}".strip(), answer.headers.get("Retry-After")
            is_last = attempt == retry.ATTEMPTS or (clock.utcnow() - began).total_seconds() >= retry.BUDGET_S
            if is_last or self.left_s <= retry.delay_s(attempt - 1, after):
                raise self.unavailable(f"{' '.join(what)}: {problem} (attempts: {attempt})")
            retry.wait(attempt - 1, after)

    @contextmanager
    def limited(self, until: datetime | None) -> Iterator[None]:
        """Whoever asks after `until` has ClusterSlow, as has who still waits for the rest of an answer; None for no limit."""
        if until is None:
            yield
            return
        with Limit(until) as self.limit:
            try:
                yield
            finally:
                self.limit = None

    def in_time(self, doing: str) -> None:
        """Raises ClusterSlow when the limit has come."""
        if self.limit and self.left_s <= 0:
            raise ClusterSlow(self.cluster, self.access.server, doing, self.limit.passed_s)

    @property
    def left_s(self) -> float:
        """Seconds to the limit; without one there is no end of them."""
        return self.limit.left_s if self.limit else math.inf

    def connections(self) -> Connections:
        """Connections of their own, with the access of now."""
        access = self._current()
        return Connections(_client(access), access.token)

    def _current(self) -> Access:
        with self._lock:
            if self.renew and self.access.ends and clock.utcnow() >= self.access.ends:
                self.access = self.renew()
            return self.access

    def _has_other_than(self, refused: Access) -> bool:
        """A token that was kept may have been rotated or revoked: what `renew` finds instead deserves one try."""
        with self._lock:
            if self.renew and self.access == refused:
                self.access = self.renew()
            return self.access != refused

    def unavailable(self, problem: str) -> ClusterUnavailable:
        return ClusterUnavailable(self.cluster, self.access.server, problem)

    def _refuse(self, answer: Answer, verb: str, resource: str) -> None:
        if answer.status == 401:
            raise ClusterUnauthorized(self.cluster, self.access.server)
        if answer.status == 403:
            raise ClusterForbidden(self.cluster, verb, resource, answer.message)
        if not retry.is_passing(answer.status):
            raise self.unavailable(f"{verb} {resource}: {answer.status} {answer.message}".strip())

    def _once(
        self,
        access: Access,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None,
        body: Mapping[str, Any] | None,
        content_type: str,
    ) -> Answer | str:
        """The answer, or why there was none."""
        import urllib3  # comes with kubernetes
        from kubernetes.client.exceptions import ApiException

        client = _client(access)
        headers = {"Accept": "application/json", "Content-Type": content_type}
        if access.token:
            headers["Authorization"] = f"Bearer {access.token}"
        request = client.param_serialize(method, path, query_params=dict(query or {}), header_params=headers, body=body)
        timeout = _TIMEOUT_S[0], max(1.0, min(_TIMEOUT_S[1], self.left_s))
        try:
            response = client.call_api(*request, _request_timeout=timeout)
            with self.limit.cuts(response.response) if self.limit else nullcontext():
                return Answer(response.status, response.response.data, response.headers, response.response.tell())
        except (urllib3.exceptions.HTTPError, ApiException, OSError, Cut) as error:
            return f"{type(error).__name__}: {getattr(error, 'reason', '') or error}"


def connect(find: Callable[[bool], Access]) -> Session:
    """`find` gives the access, with True out of nothing that it remembers. Raises what `find` raises."""
    return Session(find(False), partial(find, True))


def close() -> None:
    """Closes all connections and forgets them and their keys; at the end of the process, and of tests that end their server."""
    for client in _clients.values():
        client.close()  # type: ignore[no-untyped-call]
    _clients.clear()
    connection.forget()
    while _files:
        _files.pop().unlink(missing_ok=True)


def _client(access: Access) -> "ApiClient":
    key = replace(access, cluster="", token="", ends=None)
    if key not in _clients:
        _clients[key] = _new_client(key)
    return _clients[key]


def _new_client(access: Access) -> "ApiClient":
    from kubernetes.client import ApiClient, Configuration

    is_local = _is_local(access.server)
    config = Configuration(host=access.server.rstrip("/"))
    config.verify_ssl = True
    config.ca_cert_data = access.ca or None
    config.tls_server_name = access.tls_server_name or None
    config.retries = False  # ours is the only policy
    proxies.set_on(config, access.proxy, is_local)
    if access.certificate:
        config.cert_file, config.key_file = _file(access.certificate), _file(access.key)
    client = ApiClient(config)
    client.user_agent = "spillway"
    client.default_headers["Accept-Encoding"] = "gzip"
    return client


def _is_local(server: str) -> bool:
    """Whether it is this machine's. Raises AccessError for what is no URL of an API server."""
    from urllib3.exceptions import LocationParseError
    from urllib3.util import parse_url

    try:
        found = parse_url(server)
    except LocationParseError:
        found = None
    if found is None or found.auth:  # which is not shown, as there may be a password in it
        raise AccessError("server", "it is no URL of an API server, https://HOST:PORT")
    is_local = found.host in _LOOPBACK
    if not found.host or (found.scheme != "https" and not (found.scheme == "http" and is_local)):
        raise AccessError("server", f"{server!r} is no https URL; plain http is for 127.0.0.1 alone")
    return is_local


def _file(pem: str) -> str:
    """The client takes certificates as files only, and reads them at each new connection; mode 0600, gone with `close`."""
    if not _files:
        atexit.register(close)
    with tempfile.NamedTemporaryFile("w", suffix=".pem", delete=False) as file:
        _files.append(Path(file.name))
        file.write(pem)
    return file.name
