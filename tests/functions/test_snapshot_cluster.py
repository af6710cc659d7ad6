"""Every minute: the cluster as it is, or nothing and an error."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from spillway import telemetry
from spillway.aws.table import settings, snapshots
from spillway.env import env
from spillway.errors import AccessError, ClusterUnavailable, NotFound
from spillway.kube.session import Answer, Session
from spillway.telemetry import Metric
from tests.kube import apis
from tests.kube.handlers import World, open_handlers, samples
from tests.kube.objects import node, pod

EMITTED = {
    Metric.CLUSTER_SNAPSHOTS,
    Metric.EARLY_SNAPSHOTS,
    Metric.CLUSTER_READ_SECONDS,
    Metric.CLUSTER_REQUESTS,
    Metric.CLUSTER_BYTES,
    Metric.CLUSTER_LISTS,
    Metric.OBJECTS_SET_ASIDE,
    Metric.PODS_UNSCHEDULABLE,
    Metric.PODS_BOUND,
    Metric.NODES_READY,
    Metric.NODES_NOT_READY,
}


@pytest.fixture
def world() -> Iterator[World]:
    with open_handlers() as opened:
        opened.api.add(node("n1"))
        yield opened


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> list[dict[Metric, float]]:
    written: list[dict[Metric, float]] = []
    monkeypatch.setattr(telemetry, "emit", lambda cluster, values, region="": written.append(dict(values)))
    return written


@pytest.mark.feature("CS-13")
def test_what_was_read_is_the_newest_snapshot(world: World):
    for one in (pod("a"), pod("b", node="n1")):
        world.api.add(one)

    answer = world.call("snapshot_cluster")

    stored = snapshots.latest_cluster(world.table)
    assert stored.id == answer["head"]
    assert stored.taken_at == world.time.now()
    assert {name for pods in stored.pods for name in pods.names} == {"a", "b"}
    assert {key: answer[key] for key in ("nodes", "nodes_ready", "pods", "pods_bound", "pods_unschedulable")} == {
        "nodes": 1, "nodes_ready": 1, "pods": 2, "pods_bound": 1, "pods_unschedulable": 1,
    }  # fmt: skip


@pytest.mark.feature("CS-13")
def test_the_head_goes_on_though_nothing_changed(world: World):
    world.call("snapshot_cluster")
    world.pass_s(60)

    world.call("snapshot_cluster")

    assert snapshots.latest_cluster(world.table).taken_at == world.time.now()


@pytest.mark.feature("CS-14")
def test_a_cluster_that_may_be_empty_is_believed(world: World):
    world.api.remove("Node", "n1")
    settings.put_policy(world.table, {"may_be_empty": True}, by="test")

    assert world.call("snapshot_cluster")["nodes"] == 0
    assert snapshots.latest_cluster(world.table).nodes == ()


def test_the_stop_switch_does_not_blind(world: World):
    settings.stop(world.table, by="ann", reason="night")

    assert world.call("snapshot_cluster")["nodes"] == 1


@pytest.mark.feature("CS-14")
def test_access_that_says_nothing_useful_is_an_error_and_no_snapshot(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPILLWAY_ACCESS", "kubeconfig")
    env.cache_clear()

    with pytest.raises(AccessError, match="SPILLWAY_ACCESS"):
        world.call("snapshot_cluster")
    with pytest.raises(NotFound):
        snapshots.latest_cluster(world.table)


@pytest.mark.feature("OB-04")
def test_every_metric_is_written_zeros_too(world: World, metrics: list[dict[Metric, float]]):
    world.call("snapshot_cluster")

    (written,) = metrics
    assert written.keys() == EMITTED
    assert (written[Metric.CLUSTER_SNAPSHOTS], written[Metric.PODS_UNSCHEDULABLE], written[Metric.NODES_READY]) == (1, 0, 1)


@pytest.mark.feature("OB-04")
@pytest.mark.feature("CS-17")
def test_the_bytes_of_a_tick_are_those_that_came_over_the_network(world: World, metrics: list[dict[Metric, float]]):
    """Compressed, as they were sent."""
    world.api.add({"kind": "PodList", "items": [pod(f"p{at}", annotations={"a": "word " * 500}) for at in range(100)]})
    before = world.api.bytes_sent

    answer = world.call("snapshot_cluster")

    sent = world.api.bytes_sent - before
    assert metrics[0][Metric.CLUSTER_BYTES] == answer["bytes"] == sent
    assert 1_000 < sent < 100_000


@pytest.mark.feature("OB-04")
@pytest.mark.feature("RS-06")
def test_what_does_not_read_is_counted_and_stops_nothing(world: World, metrics: list[dict[Metric, float]]):
    apis.install(world.api, kind := "PodGroup.scheduling.x-k8s.io")
    world.api.add(apis.any_of(kind, "bad", spec={"minMember": "four"}))
    world.api.add(pod("good", labels={"scheduling.x-k8s.io/pod-group": "one"}))
    world.api.add(apis.any_of(kind, spec={"minMember": 4}))

    assert world.call("snapshot_cluster")["set_aside"] == 1
    assert metrics[0][Metric.OBJECTS_SET_ASIDE] == 1
    seen = snapshots.latest_cluster(world.table)
    assert [warning.text.partition(":")[0] for warning in seen.warnings] == [
        "podgroup.scheduling.x-k8s.io default/bad is set aside"
    ]
    assert [gang.min_pods for gang in seen.gangs] == [4]


@pytest.mark.feature("RS-06")
@pytest.mark.feature("OB-04")
def test_one_that_is_nested_a_thousand_deep_is_set_aside_and_the_view_is_stored(
    world: World, metrics: list[dict[Metric, float]], monkeypatch: pytest.MonkeyPatch
):
    world.api.add(pod("good", node="n1"))
    deep = (
        b'{"metadata":{"name":"bad","namespace":"default"},"spec":{"nodeName":"n1","more":' + b"[" * 5000 + b"]" * 5000 + b"}}"
    )
    call = Session.call

    def with_one_more(self: Session, method: str, path: str, what: tuple[str, str], *more: Any, **named: Any) -> Answer:
        answer = call(self, method, path, what, *more, **named)
        head, items, rest = answer.body.partition(b'"items":[') if what == ("list", "pods") else (answer.body, b"", b"")
        return replace(answer, body=head + items + deep + b"," + rest) if items else answer

    monkeypatch.setattr(Session, "call", with_one_more)

    assert world.call("snapshot_cluster")["set_aside"] == 1
    assert metrics[0][Metric.OBJECTS_SET_ASIDE] == 1
    seen = snapshots.latest_cluster(world.table)
    assert [warning.text.partition(":")[0] for warning in seen.warnings] == ["pod default/bad is set aside"]
    assert {name: pods.node for pods in seen.pods for name in pods.names} == {"good": "n1", "bad": "n1"}


@pytest.mark.feature("CS-14")
@pytest.mark.feature("OB-04")
def test_a_failed_read_is_told_by_a_zero(world: World, metrics: list[dict[Metric, float]]):
    world.api.fail("list", "nodes", 503, times=99)

    with pytest.raises(ClusterUnavailable):
        world.call("snapshot_cluster")
    assert metrics == [{Metric.CLUSTER_SNAPSHOTS: 0, Metric.EARLY_SNAPSHOTS: 0}]


@pytest.mark.feature("OP-03")
@pytest.mark.parametrize("case", samples("snapshot_cluster"))
def test_sample_events_are_accepted(world: World, case: str):
    assert world.call("snapshot_cluster", **samples("snapshot_cluster")[case])["nodes"] == 1
