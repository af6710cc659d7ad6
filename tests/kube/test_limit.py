"""A limit of time over many requests."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread

import pytest

from spillway import clock
from spillway.errors import ClusterSlow
from spillway.kube import session as sessions
from spillway.kube.objects import Objects
from spillway.kube.read import Reader
from spillway.kube.session import Session
from spillway.model.access import Access

pytestmark = pytest.mark.feature("CS-14")

ENDLESS = {
    "of a length": (b"Content-Length: 1000000", b" "),
    "in chunks": (b"Transfer-Encoding: chunked", b"1\r\n \r\n"),
}


@contextmanager
def dripping(head: bytes, piece: bytes) -> Iterator[str]:
    """The URL of a server whose answer comes piece by piece, each soon after the last, and has no end."""
    over = Event()

    def serve(listening: socket.socket) -> None:
        peer, _ = listening.accept()
        with peer:
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + head + b"\r\n\r\n")
            while not over.wait(0.02):
                try:
                    peer.sendall(piece)
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            over.set()
            thread.join(5)
            sessions.close()


@pytest.mark.parametrize(("head", "piece"), ENDLESS.values(), ids=ENDLESS)
def test_an_answer_that_never_ends_is_cut_at_the_limit(head: bytes, piece: bytes):
    """No timeout between two bytes sees it."""
    began = time.monotonic()
    with dripping(head, piece) as url:
        session = Session(Access("prod", url))
        with session.limited(clock.utcnow() + timedelta(seconds=0.3)), pytest.raises(ClusterSlow, match="at `list nodes`"):
            session.call("GET", "/api/v1/nodes", ("list", "nodes"))
    assert 0.3 <= time.monotonic() - began < 5


def test_nothing_is_asked_for_after_the_limit():
    session = Session(Access("prod", "http://127.0.0.1:1"))
    with session.limited(clock.utcnow()), pytest.raises(ClusterSlow, match="at `list nodes`"):
        session.call("GET", "/api/v1/nodes", ("list", "nodes"))


def test_nothing_is_boiled_down_after_the_limit():
    """It would take seconds that are not there."""
    session = Session(Access("prod", "http://127.0.0.1:1"))
    with session.limited(clock.utcnow()), pytest.raises(ClusterSlow, match="at `reduce what was read`"):
        Reader(session, Objects()).reading("v1.37.2", ())


def test_a_limit_is_over_with_what_it_was_for():
    session = Session(Access("prod", "http://127.0.0.1:1"))
    with session.limited(clock.utcnow()):
        assert session.left_s == 0
    session.in_time("anything")
    assert session.left_s > 3600
