"""Reading a whole cluster: all of it, or an error that says what to do; never half a view."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

import pytest

from spillway import clock
from spillway.errors import AccessError, ClusterForbidden, ClusterUnauthorized, ClusterUnavailable
from spillway.kube import pages, retry
from spillway.kube import session as sessions
from spillway.kube.read import read
from spillway.kube.resources import NODES, OPTIONAL, OTHERS, PODS
from spillway.kube.session import Answer, Session
from spillway.model.access import Access
from spillway.model.cluster import PodState
from spillway.model.reason import Code
from spillway_local.kube_api import Cluster
from tests.kube.cluster import World, open_cluster
from tests.kube.objects import budget, node, pod

pytestmark = pytest.mark.feature("CS-03")


@pytest.fixture
def world(api_server: Cluster) -> Iterator[World]:
    with open_cluster(api_server) as opened:
        yield opened


def test_the_snapshot_holds_nodes_and_pods_at_the_servers_own_time(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clock, "utcnow", lambda: datetime(2020, 1, 1, tzinfo=UTC))  # ours is years behind
    for one in (node("n1"), pod("a", node="n1"), pod("b"), pod("done", node="n1", phase="Succeeded")):
        world.api.add(one)

    seen = read(world.session).snapshot

    assert seen.cluster == "prod"
    assert abs(seen.taken_at - world.api.clock.now()) < timedelta(minutes=2)
    assert [one.name for one in seen.nodes] == ["n1"]
    assert {pods.names: pods.state for pods in seen.pods} == {("a",): PodState.BOUND, ("b",): PodState.UNSCHEDULABLE}
    assert seen.server_version.startswith("v1.")


@pytest.mark.feature("CS-14")
@pytest.mark.parametrize(
    ("ours", "text"),
    [(-31, "31 s ahead of"), (31, "31 s behind"), (-30, ""), (30, "")],
    ids=["behind", "ahead", "nearly", "almost"],
)
def test_a_clock_that_differs_by_more_than_half_a_minute_is_a_warning(
    world: World, monkeypatch: pytest.MonkeyPatch, ours: int, text: str
):
    """Ages in the cluster go by the server's clock, whatever ours says; but somebody should mend one of the two."""
    now, call = format_datetime(clock.utcnow(), usegmt=True), Session.call

    def at_that_second(session: Session, *what: Any, **named: Any) -> Answer:
        answer = call(session, *what, **named)
        return replace(answer, headers={**answer.headers, "Date": now})

    monkeypatch.setattr(Session, "call", at_that_second)
    monkeypatch.setattr(clock, "utcnow", lambda: parsedate_to_datetime(now) + timedelta(seconds=ours))
    world.api.add(node("n1"))

    warnings = [one.text for one in read(world.session).snapshot.warnings if one.code == Code.CLOCK_SKEW]

    assert len(warnings) == bool(text)
    assert all(f"{text} ours: ages in the cluster are counted by the server's" in one for one in warnings)


@pytest.fixture
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 50 objects."""
    monkeypatch.setattr(pages, "_PAGE", 50)


def test_long_lists_come_in_pages(world: World, short_pages: None):
    world.api.add({"kind": "PodList", "items": [pod(f"p{at:04}") for at in range(121)]})

    reading = read(world.session)

    assert sum(len(pods.names) for pods in reading.snapshot.pods) == 121
    assert world.api.requests["list", "pods"] == 3


@pytest.mark.feature("CS-17")
def test_answers_come_compressed(world: World):
    world.api.add({"kind": "PodList", "items": [pod(f"p{at:04}", annotations={"a": "word " * 500}) for at in range(100)]})

    assert read(world.session).body_bytes > 3 * world.api.bytes_sent


@pytest.mark.feature("CS-04")
def test_finished_pods_are_not_sent_at_all(world: World):
    """A cluster keeps thousands of them."""
    world.api.add(pod("a"))
    read(world.session)  # which asks for what the server has, too
    before = read(world.session).body_bytes
    finished = [pod(f"{phase.lower()}-{at}", node="n1", phase=phase) for phase in ("Succeeded", "Failed") for at in range(50)]
    world.api.add({"kind": "PodList", "items": finished})

    assert read(world.session).body_bytes == pytest.approx(before, abs=200)  # versions have more digits


def test_a_list_whose_pages_expired_starts_anew_and_keeps_nothing_of_the_first_try(world: World, short_pages: None):
    world.api.add({"kind": "PodList", "items": [pod(f"p{at:04}") for at in range(51)]})
    world.api.fail("list", "pods", 410, after=1)

    assert sum(len(pods.names) for pods in read(world.session).snapshot.pods) == 51
    assert world.api.requests["list", "pods"] == 4


def test_a_compaction_between_two_pages_starts_the_list_anew(world: World, short_pages: None, monkeypatch: pytest.MonkeyPatch):
    world.api.add({"kind": "PodList", "items": [pod(f"p{at:04}") for at in range(51)]})
    call = Session.call

    def compacted_after_the_first_page(session: Session, method: str, path: str, what: tuple[str, str], *more, **named):
        answer = call(session, method, path, what, *more, **named)
        if what == ("list", "pods") and world.api.requests[what] == 1:
            world.api.remove("Pod", "p0000")
            world.api.compact()
        return answer

    monkeypatch.setattr(Session, "call", compacted_after_the_first_page)

    assert sum(len(pods.names) for pods in read(world.session).snapshot.pods) == 50
    assert world.api.requests["list", "pods"] == 3  # the first page, its sequel that was refused, and all that there is


def test_a_list_whose_pages_never_last_is_an_error(world: World):
    world.api.add(pod("a"))
    world.api.fail("list", "pods", 410, times=99)

    with pytest.raises(ClusterUnavailable, match="expired"):
        read(world.session)


@pytest.mark.parametrize("status", [429, 500, 503, 504])
def test_what_may_pass_is_tried_again(world: World, status: int):
    world.api.fail("list", "pods", status, times=2)

    read(world.session)

    assert world.waits == [0.5, 1.0]


def test_those_who_failed_together_do_not_come_again_together(world: World, monkeypatch: pytest.MonkeyPatch):
    """Each waits up to a half less, but where the server says how long."""
    monkeypatch.setattr(retry, "jitter", lambda: 1.0)
    world.api.fail("list", "pods", 503, times=2)
    world.api.fail("list", "nodes", 429, retry_after=7)

    read(world.session)

    assert world.waits == [7, 0.25, 0.5]


def test_the_server_says_how_long_to_wait(world: World):
    world.api.fail("list", "nodes", 429, retry_after=7)
    world.api.fail("list", "pods", 429, retry_after=3600)

    read(world.session)

    assert world.waits == [7, 10]


def test_what_does_not_pass_is_an_error_that_names_server_and_list(world: World):
    world.api.fail("list", "pods", 503, times=99)

    with pytest.raises(ClusterUnavailable, match=rf"cluster prod: .*{world.api.url}.*list pods: 503.*attempts: 4"):
        read(world.session)
    assert world.api.requests["list", "pods"] == 4


def test_it_gives_up_in_time_to_say_why(world: World, monkeypatch: pytest.MonkeyPatch):
    def sleep(seconds: float) -> None:
        world.time.call_in(seconds, lambda: None)
        world.time.run(limit_s=seconds)

    monkeypatch.setattr(retry, "sleep", sleep)
    monkeypatch.setattr(retry, "BUDGET_S", 15.0)
    world.api.fail("list", "nodes", 429, times=99, retry_after=9)

    with pytest.raises(ClusterUnavailable, match="attempts: 3"):
        read(world.session)


def test_a_cut_connection_is_tried_again(world: World):
    world.api.drop("list", "nodes", times=2)

    read(world.session)

    assert len(world.waits) == 2


def test_a_server_that_never_answers_is_an_error(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sessions, "_TIMEOUT_S", (1, 0.05))
    world.api.hang("list", "pods", times=99)

    with pytest.raises(ClusterUnavailable, match="list pods"):
        read(world.session)


def test_no_server_at_all_is_an_error(world: World):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ClusterUnavailable, match=url):
            read(Session(Access("prod", url, token="t")))


def test_wrong_credentials_are_an_error_that_says_what_to_renew(world: World):
    with pytest.raises(ClusterUnauthorized, match=r"cluster prod: .*401.*Renew the token"):
        read(world.as_stranger())
    assert world.waits == []


def test_a_missing_permission_is_named_by_verb_and_resource(world: World):
    lists = {one.plural for one in (NODES, PODS, *OTHERS, *OPTIONAL)} - {"poddisruptionbudgets"}
    world.api.allow([("get", "*"), *(("list", plural) for plural in lists)])

    with pytest.raises(ClusterForbidden, match=r"list poddisruptionbudgets\.policy.*deploy/rbac\.yaml") as caught:
        read(world.session)
    assert (caught.value.verb, caught.value.resource) == ("list", "poddisruptionbudgets.policy")


@pytest.mark.feature("CS-02")
@pytest.mark.parametrize("server", ["http://10.0.0.1:6443", "ftp://127.0.0.1", "cluster.example.com", ""])
def test_only_tls_leaves_the_machine(server: str):
    with pytest.raises(AccessError, match=r"plain http is for 127\.0\.0\.1 alone"):
        read(Session(Access("prod", server, token="t")))


def test_labels_count_where_a_budget_reads_them(world: World):
    for one in (pod("a", labels={"app": "web"}), budget(app="web")):
        world.api.add(one)

    assert read(world.session).snapshot.shapes[0].labels == {"app": "web"}


def test_a_token_is_in_no_text_that_could_be_logged():
    assert "s3cret" not in repr(Access("prod", "https://x", token="s3cret", key="s3cret"))
