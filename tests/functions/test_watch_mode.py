"""Watch mode: for most of its minute the function follows the pods, and stores another view soon after some are left over."""

import queue
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from spillway import telemetry
from spillway.aws.table import keys, leases, snapshots
from spillway.aws.table.leases import Lease
from spillway.env import env
from spillway.errors import AccessError, ClusterStale, ClusterUnavailable
from spillway.kube import watch
from spillway.kube.session import Session
from spillway.kube.streams import Streams, Told
from spillway.model.access import Access
from spillway.telemetry import Metric
from spillway_local.clock import VirtualClock
from spillway_local.handlers import Handlers
from spillway_local.kube_api import Cluster, FakeCluster
from tests.kube.handlers import World, handlers_on
from tests.kube.objects import node, pod
from tests.workflow.world import CLUSTER

pytestmark = pytest.mark.feature("CS-15")

STEP_S = 0.25  # what passes while nothing is told
LOOK_S = {True: 0.01, False: 0.08}  # in which an event comes, of the fake server and of a real one
JUDGED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


@dataclass
class Minute:
    """One tick in watch mode, and what is to happen in the seconds after it."""

    world: World
    metrics: list[tuple[float, dict[Metric, float]]] = field(default_factory=list)
    began: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.world.time.now()

    def now(self) -> float:
        return (self.world.time.now() - self.began).total_seconds()

    def at(self, second: float, action: Callable[[], Any]) -> None:
        self.world.time.call_in(second - self.now(), action)

    def pod_at(self, second: float, name: str) -> None:
        self.at(second, lambda: self.world.api.add(too_large(name)))

    def run(self, lasts_s: float = 55.0, context: Any = None) -> dict[str, Any]:
        """Of a tick that was due so long ago that so many seconds are left."""
        due = self.world.time.now() + timedelta(seconds=lasts_s - 55)
        answer: dict[str, Any] = Handlers()["snapshot_cluster"]({"time": due.isoformat()}, context)
        return answer

    def views(self) -> list[float]:
        """When each view was stored, in seconds after the tick."""
        return [second for second, one in self.metrics if one[Metric.CLUSTER_SNAPSHOTS] == 1]

    def seen(self) -> set[str]:
        return {name for pods in snapshots.latest_cluster(self.world.table).pods for name in pods.names}


@pytest.fixture
def minute(api_server: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Minute]:
    monkeypatch.setenv("SPILLWAY_WATCH_MODE", "on")
    api_server.add(node("n1"))
    with handlers_on(api_server) as world:
        opened = Minute(world)

        def emit(cluster: str, values: dict[Metric, float], region: str = "") -> None:
            opened.metrics.append((opened.now(), dict(values)))

        monkeypatch.setattr(telemetry, "emit", emit)
        monkeypatch.setattr(watch, "Streams", streams_in(world.time, LOOK_S[isinstance(api_server, FakeCluster)]))
        monkeypatch.setattr(watch, "sleep", world.pass_s)
        yield opened


def too_large(name: str) -> dict[str, Any]:
    """Which no scheduler gives a node."""
    return pod(name, cpu="99")


def streams_in(time: VirtualClock, look_s: float) -> type[Streams]:
    """Time passes while nothing is told, and not before what is under way has had time to come."""

    class Passing(Streams):
        def next(self, seconds: float) -> Told | None:
            try:
                return self._told.get(timeout=look_s)
            except queue.Empty:
                step_s = min(seconds, STEP_S)
                time.call_in(step_s, lambda: None)
                time.run(limit_s=step_s)
                return None

    return Passing


def about(second: float) -> Any:
    return pytest.approx(second, abs=2 * STEP_S)


# ---- when ----


def test_a_pod_that_turns_unschedulable_has_a_view_a_second_later(minute: Minute):
    minute.pod_at(5, "a")

    answer = minute.run(10)

    assert minute.views() == [about(0), about(6)]
    assert minute.seen() == {"a"}
    assert (answer["views"], answer["pods_unschedulable"]) == (2, 1)


def test_pods_that_come_one_soon_after_the_other_are_one_view(minute: Minute):
    for number in range(5):
        minute.pod_at(5 + number / 2, f"p{number}")

    minute.run(12)

    assert minute.views() == [about(0), about(8)]
    assert len(minute.seen()) == 5


def test_pods_that_never_cease_to_come_have_a_view_every_ten_seconds(minute: Minute):
    for number in range(48):
        minute.pod_at(2 + number / 2, f"p{number:02}")

    minute.run(30)

    assert minute.views() == [about(0), about(12), pytest.approx(22.25, abs=1), pytest.approx(26.5, abs=1)]
    assert len(minute.seen()) == 48


def test_a_pod_turns_unschedulable_when_the_scheduler_says_so(minute: Minute):
    """Not when it is made, and not while it waits for something else."""
    api, patient = minute.world.api, {"schedulerName": "somebody-elses"}
    gated = {"schedulingGates": [{"name": "quota"}], **patient}
    api.add(too_large("old"))
    minute.at(1, lambda: api.add(pod("runs", node="n1")))
    minute.at(2, lambda: api.add(pod("gated", spec=gated) | {"status": {"phase": "Pending"}}))
    minute.at(3, lambda: api.add(pod("new", spec=patient) | {"status": {"phase": "Pending"}}))
    minute.at(4, lambda: api.edit("Pod", "old", lambda body: body["metadata"].update(labels={"a": "b"})))
    minute.at(9, lambda: api.edit("Pod", "new", lambda body: body["status"].update(conditions=[JUDGED])))

    minute.run(15)

    assert minute.views() == [about(0), about(10)]


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


def test_pods_that_wait_at_the_end_have_their_view_then(minute: Minute):
    minute.pod_at(9.5, "a")

    minute.run(10)

    assert minute.views() == [about(0), about(10)]
    assert minute.seen() == {"a"}


def test_the_views_between_two_ticks_are_counted(minute: Minute):
    minute.pod_at(5, "a")

    minute.run(10)

    assert [one[Metric.EARLY_SNAPSHOTS] for _, one in minute.metrics] == [0, 1]


def test_a_view_between_two_ticks_reads_only_what_changed(minute: Minute):
    minute.pod_at(5, "a")

    minute.run(10)

    assert [one[Metric.CLUSTER_LISTS] > 0 for _, one in minute.metrics] == [True, False]


# ---- what may go wrong ----


def test_a_watch_that_is_cut_is_opened_anew_without_a_gap(minute: Minute):
    minute.at(1, lambda: minute.world.api.drop("watch", "pods", times=3))
    minute.pod_at(9.9, "a")  # as the first watch ends

    minute.run(25)

    assert minute.world.api.requests["watch", "pods"] > 4
    assert minute.seen() == {"a"}
    assert len(minute.views()) == 2
    assert minute.views()[1] < 20


def test_a_server_that_hangs_is_given_up_and_asked_again(minute: Minute):
    """It takes the connection and says nothing more, not even an end."""
    minute.at(1, lambda: minute.world.api.hang("watch", "pods", times=2))
    minute.pod_at(12, "a")

    minute.run(40)

    assert minute.seen() == {"a"}
    assert len(minute.views()) == 2


def test_versions_that_the_server_forgot_are_a_view_of_all(minute: Minute):
    """Also after a restart: the real server is started anew for this."""
    minute.at(3, minute.world.api.compact)
    minute.pod_at(20, "a")

    minute.run(25)

    assert minute.seen() == {"a"}
    assert minute.views()[-1] < 25


def test_a_server_that_is_away_is_asked_until_it_is_back(minute: Minute):
    def away() -> None:
        for verb in ("watch", "list", "get"):
            minute.world.api.fail(verb, "*", 503, times=6)

    minute.at(9.5, away)
    minute.pod_at(9.6, "a")

    answer = minute.run(30)

    assert minute.seen() == {"a"}
    assert "ended" not in answer
    assert minute.now() == pytest.approx(30, abs=2)


def test_a_minute_without_any_view_is_the_servers_error(minute: Minute):
    minute.world.api.fail("list", "nodes", 503, times=10**6)

    with pytest.raises(ClusterUnavailable, match="list nodes: 503"):
        minute.run(20)
    assert minute.now() == pytest.approx(20, abs=1)
    assert minute.views() == []
    assert len(minute.metrics) > 10, "it went on trying"


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


def test_the_lease_of_one_that_died_is_over_when_the_next_tick_comes(minute: Minute):
    until: list[float] = []
    minute.at(3, lambda: until.append((minute.world.table.get(keys.WATCH_LEASE) or {})["held_until"] / 1000))

    minute.run(10)

    assert until[0] - minute.began.timestamp() == pytest.approx(10 + 4, abs=0.1), "1 s before the next tick is due"
    released = minute.world.table.get(keys.WATCH_LEASE)
    assert released
    assert "holder" not in released


def test_the_next_minute_goes_on_from_this_one(minute: Minute):
    minute.run(3)
    minute.world.pass_s(8 - minute.now())
    minute.pod_at(10, "a")

    assert minute.run(5)["views"] == 2
    assert [one[Metric.CLUSTER_LISTS] > 0 for _, one in minute.metrics] == [True, False, False]


def test_without_the_parameter_it_ends_at_once(minute: Minute, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPILLWAY_WATCH_MODE", "off")
    env.cache_clear()

    minute.run()

    assert minute.now() == 0
    assert minute.world.table.get(keys.WATCH_LEASE) is None
    assert minute.world.table.cluster == CLUSTER
