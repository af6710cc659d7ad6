"""The emulated account over loopback HTTP, so that a process of its own can ask it: AWS_ENDPOINT_URL is its address.

moto ships such a server, at the price of Flask and a dozen packages more. This one hands each request to the handlers
that answer botocore in this process (moto's, and the emulator's own for prices), under the URL that AWS would have had.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders

from spillway.aws import clients
from spillway.aws.market import PRICING_REGION

# Where the name that signs is not the host's first part.
_HOSTS = {"pricing": "api.pricing"}


class AwsServer(ThreadingHTTPServer):
    """`answered` counts the requests by service; `seconds` is what answering them took, of each and together.

    Before its answer each waits for `delay_s`, which is not in `seconds`; the table's, which is no cloud away, do not.
    """

    request_queue_size = 128  # of the five that are the default, the next ones try to connect again a second later

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.answered: Counter[str] = Counter()
        self.seconds = self.delay_s = 0.0


@contextmanager
def serving() -> Iterator[AwsServer]:
    """The account of an open world answers while this holds."""
    server = AwsServer()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: AwsServer
    protocol_version = "HTTP/1.1"  # clients keep their connections, as they do to AWS
    wbufsize = -1  # an answer in two packets waits 40 ms for the acknowledgement of the first
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        region, service = _scope(self.headers["Authorization"])
        if service != "dynamodb":
            time.sleep(self.server.delay_s)
        began = time.perf_counter()
        headers = HTTPHeaders()
        for name, value in self.headers.items():
            headers[name] = value
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = f"https://{_HOSTS.get(service, service)}.{region}.amazonaws.com{self.path}"
        request = AWSPreparedRequest(self.command, url, headers, body, stream_output=False)
        operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        events = clients.client("pricing", PRICING_REGION).meta.events
        _, answer = events.emit_until_response(f"before-send.{service}.{operation}", request=request)
        content = answer.content
        self.server.answered[service] += 1
        self.send_response(answer.status_code)
        for name, value in answer.headers.items():
            if name.lower() not in ("content-length", "date", "server"):
                self.send_header(name, str(value))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.server.seconds += time.perf_counter() - began
        self.wfile.write(content)

    do_GET = do_POST  # noqa: N815  http.server's names

    def log_message(self, *_: Any) -> None:
        """Nothing: a figure is a line of its own."""


def _scope(authorization: str) -> tuple[str, str]:
    """Region and service, of `AWS4-HMAC-SHA256 Credential=<key>/<date>/<region>/<service>/aws4_request, …`."""
    _, _, region, service, _ = authorization.partition("Credential=")[2].partition(",")[0].split("/")
    return region, service
