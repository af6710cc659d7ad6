"""Requests to a real API server: kept connections, JSON in and out, safe for many threads."""

import ssl
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import urllib3

from spillway_local.kube_api.refusals import Refusal

_CONNECTIONS = 16
_TIMEOUT_S = 60.0


class Client:
    """`path` is what follows the address, as in `/api/v1/nodes?limit=5`."""

    def __init__(self, url: str, ca_file: Path, token: str) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        context = ssl.create_default_context(cafile=str(ca_file))
        timeout = urllib3.Timeout(connect=5.0, read=_TIMEOUT_S)
        self._pool = urllib3.PoolManager(maxsize=_CONNECTIONS, ssl_context=context, timeout=timeout, retries=False)

    def get(self, path: str) -> Any:
        """Raises Refusal."""
        return self.ask("GET", path)

    def ask(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Any:
        """The decoded answer; raises Refusal for anything but success."""
        payload = None if body is None else msgspec.json.encode(body)
        answer = self._pool.request(
            method, self._url + path, body=payload, headers={**self._headers, "Content-Type": content_type}
        )  # fmt: skip
        if answer.status >= 400:
            raise _refusal(f"{method} {path}", answer.status, answer.data)
        return msgspec.json.decode(answer.data)

    def stream(self, path: str) -> urllib3.BaseHTTPResponse:
        """A watch: read its lines, and close it; it never times out by itself. Raises Refusal for anything but success."""
        timeout = urllib3.Timeout(connect=5.0, read=None)
        answer = self._pool.request("GET", self._url + path, headers=self._headers, preload_content=False, timeout=timeout)
        if answer.status >= 400:
            with closing(answer):
                raise _refusal(f"GET {path}", answer.status, answer.read())
        return answer

    def close(self) -> None:
        self._pool.clear()


def _refusal(asked: str, code: int, data: bytes) -> Refusal:
    try:
        status = msgspec.json.decode(data)
    except msgspec.DecodeError:
        status = {"message": data.decode(errors="replace")}
    return Refusal(code, f"{asked}: {status.get('message', '')}", status.get("reason", ""), status.get("details") or {})
