"""Answers to calls of services, or operations, that moto has no address for: given just before a request would be sent."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from spillway.aws import clients

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class _Raw:
    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        return iter([self._body])


@contextmanager
def answered(service: str, region: str, operation: str, answer: Answer) -> Iterator[None]:
    """While it holds, our client's `operation`, as in `GetProducts`, is answered in JSON; `answer` has the request's fields."""

    def send(request: Any, **_: object) -> AWSResponse:
        headers = HTTPHeaders()
        headers["content-type"] = "application/x-amz-json-1.1"
        body = json.dumps(answer(json.loads(request.body))).encode()
        return AWSResponse(request.url, 200, headers, _Raw(body))

    event = f"before-send.{service}.{operation}"
    events = clients.client(service, region).meta.events
    events.register_first(event, send)
    try:
        yield
    finally:
        events.unregister(event, send)
