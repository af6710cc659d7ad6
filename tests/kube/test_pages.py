"""Lists in pages: the next one comes while the last one is decoded."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from spillway.errors import ClusterUnavailable
from spillway.kube.objects import Objects
from spillway.kube.pages import read_list
from spillway.kube.session import Answer, Session
from spillway.model.access import Access


class Three(Session):
    """A server of three pages; `asked` holds the tokens, and `second` is set when the second page is asked for."""

    def __init__(self) -> None:
        super().__init__(Access("prod", "http://127.0.0.1:1"))
        self.asked: list[str] = []
        self.second = threading.Event()

    def call(self, method: str, path: str, what: tuple[str, str], query: Any = None, *_: Any, **__: Any) -> Answer:
        token = query.get("continue", "")
        self.asked.append(token)
        if token:
            self.second.set()
        return Answer(200, {"": b"2", "2": b"3", "3": b""}[token], {})


@pytest.mark.feature("CS-16")
def test_the_next_page_is_under_way_while_a_page_is_decoded() -> None:
    server, taken = Three(), []

    def take(answer: Answer, more: Callable[[str], object]) -> None:
        more(answer.body.decode())
        assert server.second.wait(5), "nobody asked for the second page"
        taken.append(answer.body)

    read_list(server, "/api/v1/pods", "pods", take, taken.clear)
    assert (taken, server.asked) == ([b"2", b"3", b""], ["", "2", "3"])


BROKEN = (
    b"{", b'{"metadata": {"continue": "\xff"}, "items": []}', b"[" * 100_000, b'{"items": [NaN]', b'{"items": NaN}',
    b'{"items": [' + b"[" * 100_000 + b"]" * 100_000 + b"}", b'{"items": [{"a": "\\ud800"}]', b'{"kind": NaN, "items": []}',
)  # fmt: skip


@pytest.mark.feature("RS-06")
@pytest.mark.parametrize("broken", BROKEN)
def test_a_page_that_is_no_json_is_a_refusal_and_no_crash(broken: bytes) -> None:
    def take(answer: Answer, more: Callable[[str], object]) -> None:
        Objects().add(broken, lambda page: more(page.next_page))

    with pytest.raises(ClusterUnavailable, match="list pods: an answer does not read"):
        read_list(Three(), "/api/v1/pods", "pods", take, lambda: None)
