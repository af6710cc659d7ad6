"""What is no view of the cluster: each way has its error, says why in one sentence, and leaves the last good view alone."""

import json
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from spillway import clock, telemetry
from spillway.aws import clients
from spillway.aws.table import settings, snapshots
from spillway.env import env
from spillway.errors import (
    AccessError,
    ClusterEmpty,
    ClusterForbidden,
    ClusterSlow,
    ClusterStale,
    ClusterUnauthorized,
    ClusterUnavailable,
    NotFound,
    SpillwayError,
)
from spillway.kube import follow, read, session
from spillway.kube.reduce import reduce
from spillway.kube.session import Answer, Session
from spillway.model.cluster import ClusterSnapshot
from spillway.telemetry import Metric
from spillway_local.handlers import Handlers
from spillway_local.kube_api import Cluster
from tests.kube.handlers import World, handlers_on
from tests.kube.objects import node, pod
from tests.workflow.world import HOME

pytestmark = pytest.mark.feature("CS-14")

Break = Callable[[World, pytest.MonkeyPatch], object]


@pytest.fixture
def world(api_server: Cluster) -> Iterator[World]:
    with handlers_on(api_server) as opened:
        api_server.add(node("n1"))
        api_server.add(pod("a", node="n1"))
        yield opened


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> list[dict[Metric, float]]:
    written: list[dict[Metric, float]] = []
    monkeypatch.setattr(telemetry, "emit", lambda cluster, values, region="": written.append(dict(values)))
    return written


def stranger(world: World, patch: pytest.MonkeyPatch) -> None:
    """Our credentials are not what they were."""
    patch.setenv("SPILLWAY_ACCESS", "json:" + json.dumps({"server": world.api.url, "token": "wrong"}))
    env.cache_clear()


def answered(change: Callable[[Answer], Answer], *what: str) -> Break:
    """What the server answers comes out otherwise."""

    def broken(world: World, patch: pytest.MonkeyPatch) -> None:
        call = Session.call

        def changed(self: Session, method: str, path: str, asked: tuple[str, str], *more: Any, **named: Any) -> Answer:
            answer = call(self, method, path, asked, *more, **named)
            return change(answer) if not what or asked == what else answer

        patch.setattr(Session, "call", changed)

    return broken


def unreadable_nodes(answer: Answer) -> Answer:
    return replace(answer, body=answer.body.replace(b'"conditions":[', b'"conditions":7,"more":['))


def ours(seconds: float) -> Break:
    """Our clock goes on by so much, and the API server's does not: its answers are of then."""

    def set_clock(world: World, patch: pytest.MonkeyPatch) -> None:
        then = clock.utcnow()
        patch.setattr(clock, "utcnow", lambda: then + timedelta(seconds=seconds))

    return set_clock


HALF = answered(lambda answer: Answer(200, answer.body[: len(answer.body) // 2], answer.headers), "list", "pods")
NO_JSON = answered(lambda answer: Answer(200, b"<html>Please log in</html>", answer.headers), "list", "nodes")
NO_VERSION = answered(lambda answer: Answer(200, b"ok", answer.headers), "get", "/version")
NOT_SAID = answered(lambda answer: Answer(200, b'{"message": "try later"}', answer.headers), "get", "/version")
NOTHING = answered(lambda answer: Answer(200, b"{}", answer.headers), "list", "poddisruptionbudgets.policy")
A_STATUS = answered(
    lambda answer: Answer(200, b'{"kind":"Status","apiVersion":"v1","message":"no leader"}', answer.headers), "list", "pods"
)


@pytest.mark.parametrize(
    ("break_it", "error", "sentence"),
    [
        (lambda world, _: world.api.fail("list", "pods", 503, times=99), ClusterUnavailable, "list pods: 503"),
        (lambda world, _: world.api.fail("list", "jobs", 500, times=99), ClusterUnavailable, r"list jobs\.batch: 500"),
        (lambda world, _: world.api.fail("list", "pods", 429, times=99), ClusterUnavailable, "list pods: 429"),
        (lambda world, _: world.api.drop("list", "pods", times=99), ClusterUnavailable, "list pods: ProtocolError"),
        (lambda world, _: world.api.fail("list", "pods", 400), ClusterUnavailable, "list pods: 400"),
        (lambda world, _: world.api.fail("list", "nodes", 410, times=99), ClusterUnavailable, "its pages expired 4 times"),
        (HALF, ClusterUnavailable, "list pods: an answer does not read"),
        (NO_JSON, ClusterUnavailable, "list nodes: an answer does not read"),
        (NO_VERSION, ClusterUnavailable, "get /version"),
        (NOT_SAID, ClusterUnavailable, "get /version: the answer names none: try later"),
        (NOTHING, ClusterUnavailable, r"list poddisruptionbudgets\.policy: the answer is no page of it: it is of no kind"),
        (A_STATUS, ClusterUnavailable, "list pods: the answer is no page of it: it is Status of v1 no leader"),
        (lambda world, _: world.api.allow([("list", "nodes")]), ClusterForbidden, "RBAC does not allow to list pods"),
        (stranger, ClusterUnauthorized, "does not accept our credentials"),
        (lambda world, _: world.api.remove("Node", "n1"), ClusterEmpty, "lists no nodes"),
        (answered(unreadable_nodes, "list", "nodes"), ClusterEmpty, "of 1 nodes .* none reads, .*: node n1 is set aside: Exp"),
        (ours(240), ClusterStale, r"2\d\d s ago by our clock, more than max_snapshot_age_s \(180 s\)"),
        (ours(-3600), ClusterStale, r"3\d\d\d s ahead by our clock, more than max_snapshot_age_s \(180 s\)"),
    ],
    ids=[
        "down", "a list is down", "too busy", "cut", "refused", "expired", "half an answer", "a login page", "no version",
        "no version said", "nothing", "a status", "forbidden", "unauthorised", "empty", "none reads", "too old",
        "of the future",
    ],
)  # fmt: skip
def test_no_view_is_stored_and_the_error_says_why(
    world: World, metrics: list[dict[Metric, float]], monkeypatch: pytest.MonkeyPatch,
    break_it: Break, error: type[SpillwayError], sentence: str,
):  # fmt: skip
    world.call("snapshot_cluster")
    before = snapshots.latest_cluster(world.table)
    follow.clear()
    break_it(world, monkeypatch)

    with pytest.raises(error, match=f"cluster prod: .*{sentence}"):
        world.call("snapshot_cluster")

    assert snapshots.latest_cluster(world.table) == before
    assert [one[Metric.CLUSTER_SNAPSHOTS] for one in metrics] == [1, 0]


def test_a_server_that_never_answers_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(session, "_TIMEOUT_S", (1, 0.05))
    world.api.hang("list", "pods", times=99)

    with pytest.raises(ClusterUnavailable, match=r"list pods: .*[Tt]imed out"):
        world.call("snapshot_cluster")
    with pytest.raises(NotFound):
        snapshots.latest_cluster(world.table)


def in_lambda(world: World) -> dict[str, Any]:
    """The function with a time limit of a minute."""
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 60_000, aws_request_id="r1")
    answer: dict[str, Any] = Handlers()["snapshot_cluster"]({"time": world.time.now().isoformat()}, context)
    return answer


@pytest.mark.feature("CS-15")
@pytest.mark.parametrize("mode", ["off", "on"])
def test_a_slow_read_ends_in_time_to_say_so(
    world: World, metrics: list[dict[Metric, float]], monkeypatch: pytest.MonkeyPatch, mode: str
):
    """Each answer is a good one and comes within its own time; all of them do not come within Lambda's."""
    monkeypatch.setenv("SPILLWAY_WATCH_MODE", mode)
    env.cache_clear()
    answers = list[Answer]()

    def late(answer: Answer) -> Answer:
        answers.append(answer)
        world.pass_s(12)
        return answer

    answered(late)(world, monkeypatch)

    with pytest.raises(
        ClusterSlow, match=r"cluster prod: http.* was not read to its end .*: after 60 s it was at `(get|list) "
    ):
        in_lambda(world)

    assert len(answers) == 5, "none was asked for in the last 2 s, in which this is told"
    assert metrics == [{Metric.CLUSTER_SNAPSHOTS: 0, Metric.EARLY_SNAPSHOTS: 0}]
    with pytest.raises(NotFound):
        snapshots.latest_cluster(world.table)


def test_a_view_that_took_too_long_to_boil_down_is_told_too(world: World, monkeypatch: pytest.MonkeyPatch):
    def late(*objects: Any, **named: Any) -> ClusterSnapshot:
        world.pass_s(59)
        return reduce(*objects, **named)

    monkeypatch.setattr(read, "reduce", late)

    with pytest.raises(ClusterSlow, match="after 59 s it was at `store what was read`"):
        in_lambda(world)
    with pytest.raises(NotFound):
        snapshots.latest_cluster(world.table)


def test_a_view_that_comes_in_time_is_stored_and_its_limit_is_no_later_ones(world: World):
    assert in_lambda(world)["nodes"] == 1
    world.pass_s(60)
    assert in_lambda(world)["nodes"] == 1


def test_a_view_that_is_older_than_the_last_is_an_error_too(world: World, monkeypatch: pytest.MonkeyPatch):
    """A proxy answers from its memory, the server's clock was set back, or a slow read ended after a later one."""
    world.call("snapshot_cluster")
    before = snapshots.latest_cluster(world.table)
    dated = f"{before.taken_at - timedelta(seconds=5):%a, %d %b %Y %H:%M:%S} GMT"
    answered(lambda answer: Answer(200, answer.body, {"Date": dated}))(world, monkeypatch)

    with pytest.raises(ClusterStale, match="a later view is stored already"):
        world.call("snapshot_cluster")
    assert snapshots.latest_cluster(world.table) == before


@pytest.mark.feature("CS-02")
def test_a_kubeconfig_that_logs_in_by_a_program_is_refused_in_the_cloud(world: World, monkeypatch: pytest.MonkeyPatch):
    """Nothing is run, and the error says what to use instead."""
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "aws", "args": ["eks", "get-token"]}}
    document = {
        "clusters": [{"name": "prod", "cluster": {"server": world.api.url}}],
        "users": [{"name": "prod", "user": user}],
        "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "prod"}}],
    }
    secret = clients.client("secretsmanager", HOME).create_secret(Name="k8s", SecretString=json.dumps(document))
    monkeypatch.setenv("SPILLWAY_ACCESS", secret["ARN"])
    env.cache_clear()

    with pytest.raises(AccessError, match=r"logs in by the program aws, .* the access `eks` makes the same token"):
        world.call("snapshot_cluster")
    with pytest.raises(NotFound):
        snapshots.latest_cluster(world.table)


@pytest.mark.feature("CS-02")
@pytest.mark.feature("CS-14")
@pytest.mark.parametrize("token", ["s3c\nret", "s3c\u2019ret"])
def test_a_secret_whose_token_fits_into_no_header_is_an_error_that_does_not_show_it(
    world: World, monkeypatch: pytest.MonkeyPatch, token: str
):
    text = json.dumps({"server": world.api.url, "token": token})
    secret = clients.client("secretsmanager", HOME).create_secret(Name="k8s", SecretString=text)
    monkeypatch.setenv("SPILLWAY_ACCESS", secret["ARN"])
    env.cache_clear()

    with pytest.raises(AccessError, match="secret: token holds a space, a line's end or a letter") as caught:
        world.call("snapshot_cluster")
    assert "s3c" not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(NotFound):
        snapshots.latest_cluster(world.table)


@pytest.mark.parametrize("by_s", [170, -170])
def test_a_clock_that_is_off_by_less_is_noted_in_the_view(world: World, monkeypatch: pytest.MonkeyPatch, by_s: int):
    ours(by_s)(world, monkeypatch)

    world.call("snapshot_cluster")

    assert snapshots.latest_cluster(world.table).clock_ahead_s == pytest.approx(-by_s, abs=5)


def test_one_answer_from_the_future_does_not_make_all_later_views_old(world: World, monkeypatch: pytest.MonkeyPatch):
    dated = f"{world.time.now() + timedelta(hours=1):%a, %d %b %Y %H:%M:%S} GMT"
    with monkeypatch.context() as patch:
        answered(lambda answer: Answer(200, answer.body, {"Date": dated}))(world, patch)
        with pytest.raises(ClusterStale):
            world.call("snapshot_cluster")

    world.call("snapshot_cluster")

    assert snapshots.latest_cluster(world.table).clock_ahead_s == 0


def test_a_policy_that_bears_older_views_is_heard(world: World, monkeypatch: pytest.MonkeyPatch):
    settings.put_policy(world.table, {"max_snapshot_age_s": 600}, by="test")
    ours(240)(world, monkeypatch)

    world.call("snapshot_cluster")

    (warning,) = snapshots.latest_cluster(world.table).warnings
    assert warning.code == "clock_skew"


@pytest.mark.feature("RS-06")
def test_nodes_that_do_not_read_are_no_empty_cluster(world: World, monkeypatch: pytest.MonkeyPatch):
    """Each pod would buy a second node."""
    settings.put_policy(world.table, {"may_be_empty": True}, by="test")
    answered(unreadable_nodes, "list", "nodes")(world, monkeypatch)

    with pytest.raises(ClusterEmpty, match="none reads"):
        world.call("snapshot_cluster")


def test_after_a_refusal_the_next_read_is_stored(world: World):
    world.api.fail("list", "persistentvolumes", 400)
    with pytest.raises(ClusterUnavailable):
        world.call("snapshot_cluster")

    assert world.call("snapshot_cluster")["nodes"] == 1
    assert isinstance(snapshots.latest_cluster(world.table).taken_at, datetime)
