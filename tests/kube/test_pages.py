"""Lists in pages: the next one comes while the last one is decoded."""

import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from spillway.errors import ClusterUnavailable
from spillway.kube.envelope import envelope_of
from spillway.kube.fields import Listed
from spillway.kube.objects import Objects
from spillway.kube.pages import read_list
from spillway.kube.resources import PODS
from spillway.kube.session import Answer, Session
from spillway.model.access import Access

SOUND = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": []}


def page(token: str = "", **fields: Any) -> bytes:
    """Of pods, but for these fields; None leaves one out."""
    told = {**SOUND, "metadata": {"resourceVersion": "5", "continue": token}, **fields}
    return msgspec.json.encode({key: value for key, value in told.items() if value is not None})


class Three(Session):
    """A server of three pages; `asked` holds the tokens, and `second` is set when the second page is asked for. The last page
    is `last`."""

    def __init__(self, last: bytes = page()) -> None:
        super().__init__(Access("prod", "http://127.0.0.1:1"))
        self.last = last
        self.asked: list[str] = []
        self.second = threading.Event()

    def call(self, method: str, path: str, what: tuple[str, str], query: Any = None, *_: Any, **__: Any) -> Answer:
        token = query.get("continue", "")
        self.asked.append(token)
        if token:
            self.second.set()
        return Answer(200, {"": page("2"), "2": page("3"), "3": self.last}[token], {})


@pytest.mark.feature("CS-16")
def test_the_next_page_is_under_way_while_a_page_is_decoded() -> None:
    server, taken = Three(), list[str]()

    def take(answer: Answer, more: Callable[[Listed], object]) -> None:
        head = envelope_of(answer.body)
        more(head)
        assert server.second.wait(5), "nobody asked for the second page"
        taken.append(head.next_page)

    read_list(server, PODS, take, taken.clear)
    assert (taken, server.asked) == (["2", "3", ""], ["", "2", "3"])


OTHERS = {
    "nothing": (b"{}", "it is of no kind of no version"),
    "a Status": (page(kind="Status", status="Failure", message="etcd has no leader", items=None), "Status of v1 etcd has no"),
    "a proxy's word": (b'{"message":"please log in"}', "of no kind of no version please log in"),
    "another list": (page(kind="ConfigMapList"), "it is ConfigMapList of v1"),
    "another group's": (page(apiVersion="metrics.k8s.io/v1beta1"), "it is PodList of metrics.k8s.io/v1beta1"),
    "no items": (page(items=None), "it has no items"),
    "null": (page()[:-3] + b"null}", "it has no items"),
    "no version": (page(metadata={}), "it has no resourceVersion"),
    "no metadata": (page(metadata=None), "it has no resourceVersion"),
}


@pytest.mark.feature("CS-03")
@pytest.mark.feature("CS-14")
@pytest.mark.parametrize(("body", "what"), OTHERS.values(), ids=OTHERS)
def test_a_success_that_is_no_page_of_the_list_is_a_refusal_that_says_what_came(body: bytes, what: str) -> None:
    """Also when it comes in place of the last page: what it would have held would be taken for gone."""

    def take(answer: Answer, more: Callable[[Listed], object]) -> None:
        Objects().add(answer.body, more)

    with pytest.raises(ClusterUnavailable, match=f"list pods: the answer is no page of it: .*{what}"):
        read_list(Three(last=body), PODS, take, lambda: None)


BROKEN = (
    b"{", b'{"metadata": {"continue": "\xff"}, "items": []}', b"[" * 100_000, b'{"items": [NaN]', b'{"items": NaN}',
    b'{"items": [' + b"[" * 100_000 + b"]" * 100_000 + b"}", b'{"items": [{"a": "\\ud800"}]', b'{"kind": NaN, "items": []}',
)  # fmt: skip


@pytest.mark.feature("RS-06")
@pytest.mark.parametrize("broken", BROKEN)
def test_a_page_that_is_no_json_is_a_refusal_and_no_crash(broken: bytes) -> None:
    def take(answer: Answer, more: Callable[[Listed], object]) -> None:
        Objects().add(broken, more)

    with pytest.raises(ClusterUnavailable, match="list pods: an answer does not read"):
        read_list(Three(), PODS, take, lambda: None)
