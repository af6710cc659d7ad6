"""Watches that a server does not end as it should: each is told as ended, and says why."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from spillway.kube import session as sessions
from spillway.kube import streams
from spillway.kube.resources import PODS
from spillway.kube.session import Session
from spillway.kube.streams import Streams, Told, What
from spillway.model.access import Access

pytestmark = [pytest.mark.feature("CS-15"), pytest.mark.feature("CS-17")]

LIST = b'{"metadata":{"resourceVersion":"7"}}'
EVENT = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8"}}}'
Act = Callable[[BaseHTTPRequestHandler], None]


def chunk(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


def hold(handler: BaseHTTPRequestHandler) -> None:
    """Until the client has gone."""
    handler.connection.recv(1)
    handler.close_connection = True


def break_off(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


@contextmanager
def server(after_the_head: Act, closes_the_probe: bool = False) -> Iterator[Session]:
    """It answers the question for its version, and does `after_the_head` of a watch."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            if "watch=true" in self.path:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                after_the_head(self)
                return
            self.send_header("Content-Length", str(len(LIST)))
            if closes_the_probe:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(LIST)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Session(Access("prod", f"http://127.0.0.1:{serving.server_address[1]}"))
    finally:
        sessions.close()
        serving.shutdown()
        serving.server_close()
        thread.join()


def told(session: Session, until: What = What.ENDED) -> list[Told]:
    found: list[Told] = []
    with Streams(session) as opened:
        opened.open(PODS, "7", 1)
        while not found or found[-1].what != until:
            one = opened.next(5)
            assert one is not None, found
            found.append(one)
    return found


def test_a_watch_tells_its_version_its_beginning_its_events_and_its_end() -> None:
    def act(handler: BaseHTTPRequestHandler) -> None:
        chunk(handler, EVENT + b"\n" + EVENT[:10])
        chunk(handler, EVENT[10:] + b"\n")
        handler.wfile.write(b"0\r\n\r\n")

    with server(act) as session:
        found = told(session)
    assert [one.what for one in found] == [What.PROBED, What.OPENED, What.EVENT, What.EVENT, What.ENDED]
    assert [one.body for one in found] == [LIST, b"", EVENT, EVENT, b""]
    assert found[-1].problem == ""


def test_a_watch_that_is_silent_beyond_its_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server neither says anything nor ends it: a connection that a firewall has forgotten."""
    monkeypatch.setattr(streams, "_GRACE_S", -0.9)
    with server(hold) as session:
        assert "timed out" in told(session)[-1].problem


@pytest.mark.parametrize("act", [lambda handler: chunk(handler, EVENT[:20]), break_off], ids=["amid an event", "at once"])
def test_a_connection_that_breaks_says_so(act: Act) -> None:
    def broken(handler: BaseHTTPRequestHandler) -> None:
        act(handler)
        handler.close_connection = True

    with server(broken) as session:
        assert told(session)[-1].problem != ""


def test_an_answer_by_another_connection_may_be_another_servers() -> None:
    with server(hold, closes_the_probe=True) as session:
        assert "closed between" in told(session)[-1].problem


def test_leaving_ends_all_threads_whatever_they_wait_for() -> None:
    before = threading.active_count()
    with server(hold) as session:
        told(session, until=What.OPENED)
    assert threading.active_count() == before
