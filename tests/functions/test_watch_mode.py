"""Watch mode: for most of its minute the function follows the pods, and stores another view soon after some are left over."""

from collections.abc import Iterator

import pytest

from spillway.telemetry import Metric
from spillway_local.kube_api import Cluster
from tests.functions.minutes import Minute, about, open_minute, too_large
from tests.kube.objects import pod

pytestmark = pytest.mark.feature("CS-15")

JUDGED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


@pytest.fixture
def minute(api_server: Cluster) -> Iterator[Minute]:
    with open_minute(api_server) as opened:
        yield opened


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


def test_pods_that_wait_at_the_end_have_their_view_then(minute: Minute):
    minute.pod_at(9.5, "a")

    minute.run(10)

    assert minute.views() == [about(0), about(10)]
    assert minute.seen() == {"a"}


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


# ---- one at a time ----


def test_the_next_minute_goes_on_from_this_one(minute: Minute):
    minute.run(3)
    minute.world.pass_s(8 - minute.now())
    minute.pod_at(10, "a")

    assert minute.run(5)["views"] == 2
    assert [one[Metric.CLUSTER_LISTS] > 0 for _, one in minute.metrics] == [True, False, False]
