"""Watch mode, what hangs on the clock, the lease and our own answers: no real API server could say more of it than the fake."""

from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from spillway.aws.table import keys, leases, snapshots
from spillway.aws.table.leases import Lease
from spillway.env import env
from spillway.errors import AccessError, ClusterForbidden, ClusterStale, ClusterUnauthorized, ClusterUnavailable
from spillway.kube.retry import ATTEMPTS
from spillway.kube.session import Session
from spillway.kube.watch import REFUSALS
from spillway.model.access import Access
from spillway.model.cluster import ClusterSnapshot
from spillway.telemetry import Metric
from spillway_local.clock import VirtualClock
from spillway_local.kube_api import FakeCluster
from tests.functions.minutes import Minute, about, open_minute
from tests.workflow.world import CLUSTER

pytestmark = pytest.mark.feature("CS-15")


@pytest.fixture
def minute() -> Iterator[Minute]:
    with FakeCluster(VirtualClock()) as fake:
        fake.agent.close()
        with open_minute(fake) as opened:
            yield opened


# ---- when ----


def test_pods_that_never_cease_to_come_have_a_view_every_ten_seconds(minute: Minute):
    for number in range(48):
        minute.pod_at(2 + number / 2, f"p{number:02}")

    minute.run(30)

    assert minute.views() == [about(0), about(12), pytest.approx(22.25, abs=1), pytest.approx(26.5, abs=1)]
    assert len(minute.seen()) == 48


def test_it_ends_five_seconds_before_the_next_tick(minute: Minute):
    assert minute.run()["views"] == 1
    assert minute.now() == about(55)


@pytest.mark.parametrize(("left_s", "ends"), [(25, 25), (5, 5), (-15, 0), (85, 55)])
def test_a_tick_that_came_late_or_early_ends_no_later(minute: Minute, left_s: float, ends: float):
    assert minute.run(left_s)["views"] == 1
    assert minute.now() == about(ends)


def test_it_ends_before_lambda_ends_it(minute: Minute):
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 20_000, aws_request_id="r1")

    assert minute.run(context=context)["views"] == 1
    assert minute.now() == about(16)


def test_the_views_between_two_ticks_are_counted(minute: Minute):
    minute.pod_at(5, "a")

    minute.run(10)

    assert [one[Metric.EARLY_SNAPSHOTS] for _, one in minute.metrics] == [0, 1]


# ---- what may go wrong ----


def test_a_server_that_hangs_is_given_up_and_asked_again(minute: Minute):
    """It takes the connection and says nothing more, not even an end."""
    minute.at(1, lambda: minute.world.api.hang("watch", "pods", times=2))
    minute.pod_at(12, "a")

    minute.run(40)

    assert minute.seen() == {"a"}
    assert len(minute.views()) == 2


def test_a_minute_without_any_view_is_the_servers_error(minute: Minute):
    minute.world.api.fail("list", "nodes", 503, times=10**6)

    with pytest.raises(ClusterUnavailable, match="list nodes: 503"):
        minute.run(20)
    assert minute.now() == pytest.approx(20, abs=1)
    assert minute.views() == []
    assert 4 < len(minute.metrics) < 10, "it went on trying, and less and less often"


ALL = 10**6


@pytest.mark.feature("CS-17")
@pytest.mark.parametrize("kind", ["nodes", "daemonsets"])
def test_a_server_that_refuses_us_one_kind_is_asked_once_a_minute(minute: Minute, kind: str):
    """Whoever may grant the right does not do it within the minute."""
    minute.world.api.fail("list", kind, 403, times=ALL)

    with pytest.raises(ClusterForbidden, match=f"list {kind}"):
        minute.run()
    assert minute.now() == 0
    assert minute.world.api.requests["list", "nodes"] == 1
    assert [one[Metric.CLUSTER_SNAPSHOTS] for _, one in minute.metrics] == [0]


@pytest.mark.feature("CS-17")
def test_a_watch_that_is_not_granted_ends_the_minute_too(minute: Minute):
    minute.world.api.fail("watch", "pods", 403, times=ALL)

    with pytest.raises(ClusterForbidden, match="watch pods"):
        minute.run()
    assert minute.now() < 5
    assert minute.views() == [about(0)]
    assert minute.world.api.requests["watch", "pods"] == REFUSALS


@pytest.mark.feature("CS-15")
@pytest.mark.parametrize("verb", ["watch", "*"])
def test_a_server_that_begins_anew_may_refuse_us_for_a_moment(minute: Minute, verb: str):
    """It answers before it knows its roles."""
    minute.at(5, lambda: minute.world.api.fail(verb, "pods", 403, times=REFUSALS - 1))
    minute.pod_at(25, "a")

    minute.run()
    assert minute.views()[-1] == about(26)


@pytest.mark.feature("CS-15")
def test_a_view_that_is_refused_for_a_moment_is_read_again(minute: Minute):
    minute.at(4, lambda: minute.world.api.fail("*", "nodes", 403, times=REFUSALS - 1))
    minute.pod_at(5, "a")

    minute.run()
    assert len(minute.seen()) == 1
    assert 6 < minute.views()[-1] < 15


@pytest.mark.feature("CS-17")
def test_views_that_go_on_being_refused_end_the_minute(minute: Minute):
    minute.at(4, lambda: minute.world.api.fail("*", "nodes", 403, times=ALL))
    minute.pod_at(5, "a")

    with pytest.raises(ClusterForbidden, match="nodes"):
        minute.run()
    assert minute.now() < 15


@pytest.mark.feature("CS-17")
def test_credentials_that_are_not_accepted_any_more_end_it(minute: Minute):
    def revoke() -> None:
        minute.world.api.fail("*", "*", 401, times=ALL)

    minute.at(5, revoke)

    with pytest.raises(ClusterUnauthorized):
        minute.run()
    assert minute.now() < 20, "as soon as the watch that is open ends"


@pytest.mark.feature("CS-17")
@pytest.mark.parametrize(("kind", "status"), [("nodes", 503), ("daemonsets", 500), ("daemonsets", 400)])
def test_a_server_that_fails_is_asked_less_and_less_often(minute: Minute, kind: str, status: int):
    """Half a second, one, two, four, eight and then ten between two reads, each of which lists nodes before it fails."""
    minute.world.api.fail("list", kind, status, times=ALL)

    with pytest.raises(ClusterUnavailable):
        minute.run()
    assert minute.now() == about(55)
    reads = len(minute.metrics)
    assert 8 <= reads <= 10
    assert minute.world.api.requests["list", "pods"] <= reads


@pytest.mark.feature("CS-17")
@pytest.mark.parametrize("status", [410, 500])
def test_a_watch_that_never_comes_about_is_opened_less_and_less_often(minute: Minute, status: int):
    minute.world.api.fail("watch", "pods", status, times=ALL)

    minute.run()

    assert minute.now() == about(55)
    assert minute.world.api.requests["list", "nodes"] <= 10
    assert minute.world.api.requests["watch", "pods"] <= 10 * ATTEMPTS


def test_access_that_says_nothing_useful_is_an_error_at_once(minute: Minute, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPILLWAY_ACCESS", "kubeconfig")
    env.cache_clear()

    with pytest.raises(AccessError):
        minute.run()
    assert [one[Metric.CLUSTER_SNAPSHOTS] for _, one in minute.metrics] == [0]
    assert minute.now() == 0


def test_no_request_is_tried_again_beyond_the_end(minute: Minute):
    """Lambda would end the function amid it."""
    api, now = minute.world.api, minute.world.time.now()
    api.fail("list", "nodes", 503, times=9)
    session = Session(Access(CLUSTER, api.url, token=api.token))
    for left_s, attempts in ((60, 4), (0.5, 1)):
        with (
            session.limited(now + timedelta(seconds=left_s)),
            pytest.raises(ClusterUnavailable, match=rf"attempts: {attempts}\)"),
        ):
            session.call("GET", "/api/v1/nodes", ("list", "nodes"))


# ---- one at a time ----


def test_a_second_invocation_ends_at_once_and_says_so(minute: Minute):
    second: list[dict[str, Any]] = []
    minute.at(6, lambda: second.append(minute.run()))
    minute.pod_at(5.5, "a")

    assert minute.run(10)["views"] == 2
    assert second == [{"ended": "the view of the cluster is being written by by hand; try again in a moment"}]
    assert len(minute.views()) == 2


def test_one_that_lost_its_lease_stores_no_more(minute: Minute):
    table = minute.world.table

    def take_over() -> None:
        item = table.get(keys.WATCH_LEASE)
        assert item
        leases.release(table, Lease(item["sk"], item["holder"], item["fence"], minute.began))
        leases.watch(table, "another", minute.began + timedelta(seconds=300))

    minute.at(5, take_over)
    minute.pod_at(6, "a")

    answer = minute.run(10)

    assert answer["ended"] == "another invocation has taken over"
    assert minute.views() == [about(0)]
    held = table.get(keys.WATCH_LEASE)
    assert held
    assert held["holder"] == "another", "it releases only what is its own"


def test_the_table_refuses_a_view_by_an_older_lease(minute: Minute):
    """Who was suspended between the look at its lease and its write."""
    minute.run(1)
    seen = snapshots.latest_cluster(minute.world.table)
    snapshots.store_cluster(minute.world.table, seen, fence=5)

    with pytest.raises(ClusterStale):
        snapshots.store_cluster(minute.world.table, seen, fence=4)
    assert snapshots.store_cluster(minute.world.table, seen, fence=5)
    assert snapshots.store_cluster(minute.world.table, seen), "without watch mode nobody asks for a lease"
    assert snapshots.store_cluster(minute.world.table, seen, fence=1), "and the count may begin anew"


def test_what_is_stored_carries_the_lease(minute: Minute, monkeypatch: pytest.MonkeyPatch):
    """Another takes over, and stores a view, between this one's look at its lease and its write."""
    table, call = minute.world.table, Session.call

    def taken_over(session: Session, method: str, path: str, what: tuple[str, str], *more: Any, **named: Any) -> Any:
        item = table.get(keys.WATCH_LEASE)
        if what == ("list", "nodes") and item and item["holder"] == "by hand":
            leases.release(table, Lease(item["sk"], item["holder"], item["fence"], minute.began))
            theirs = leases.watch(table, "another", minute.began + timedelta(seconds=300))
            seen = ClusterSnapshot(cluster=CLUSTER, taken_at=minute.began)
            snapshots.store_cluster(table, seen, theirs.token)
        return call(session, method, path, what, *more, **named)

    monkeypatch.setattr(Session, "call", taken_over)

    with pytest.raises(ClusterStale):
        minute.run(5)
    assert minute.views() == []
    assert snapshots.latest_cluster(table).nodes == (), "the other's view stays"


def test_the_lease_of_one_that_died_is_over_when_the_next_tick_comes(minute: Minute):
    until: list[float] = []
    minute.at(3, lambda: until.append((minute.world.table.get(keys.WATCH_LEASE) or {})["held_until"] / 1000))

    minute.run(10)

    assert until[0] - minute.began.timestamp() == pytest.approx(10 + 4, abs=0.1), "1 s before the next tick is due"
    released = minute.world.table.get(keys.WATCH_LEASE)
    assert released
    assert "holder" not in released


def test_without_the_parameter_it_ends_at_once(minute: Minute, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPILLWAY_WATCH_MODE", "off")
    env.cache_clear()

    minute.run()

    assert minute.now() == 0
    assert minute.world.table.get(keys.WATCH_LEASE) is None
    assert minute.world.table.cluster == CLUSTER
