"""The door to a real server waits for it no longer than a test can."""

import socket
from email.message import Message
from pathlib import Path

import certifi
import pytest
import urllib3

from spillway_local.control_plane import front
from spillway_local.control_plane.front import Front
from spillway_local.kube_api.kinds import Kinds
from spillway_local.kube_api.requests import Call, understand


@pytest.fixture
def mute(monkeypatch: pytest.MonkeyPatch):
    """The address of a server that takes connections, and says nothing."""
    monkeypatch.setattr(front, "_CONNECT_S", 0.05)
    monkeypatch.setattr(front, "_ANSWER_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"https://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize(
    ("target", "error"), [("/api/v1/nodes", urllib3.exceptions.HTTPError), ("/api/v1/nodes?watch=true", TimeoutError)]
)
def test_a_server_that_does_not_answer_is_given_up(mute: str, target: str, error: type[Exception]):
    kinds = Kinds()
    door = Front(mute, Path(certifi.where()), kinds)
    call = Call("GET", target, Message(), b"", understand(kinds, "GET", target, "", b""))

    with pytest.raises(error):
        list(door.answer(call).stream or ())
    door.stop()
