"""Reading by changes: a warm process sees what a cold one would, for a fraction of the bytes; any doubt is a list anew."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from spillway.errors import ClusterForbidden, ClusterUnavailable
from spillway.kube import follow as following
from spillway.kube import resources, streams
from spillway.kube.follow import follow
from spillway.kube.read import Reading, read
from spillway.kube.streams import Told, What
from spillway.model.cluster import ClusterSnapshot, PodState
from spillway_local.clock import VirtualClock
from spillway_local.kube_api import Cluster, FakeCluster
from tests.kube import apis
from tests.kube.cluster import World, open_cluster
from tests.kube.objects import budget, node, pod

pytestmark = pytest.mark.feature("CS-17")

JOB_SETS = "JobSet.jobset.x-k8s.io"


@pytest.fixture
def world(api_server: Cluster) -> Iterator[World]:
    with open_cluster(api_server) as opened:
        opened.api.add(node("n1"))
        opened.api.add(pod("a", node="n1"))
        opened.api.add(pod("b"))
        yield opened


def names(reading: Reading) -> set[str]:
    return {name for pods in reading.snapshot.pods for name in pods.names}


def lists(world: World) -> int:
    """Of pods, without the question for their version."""
    return world.api.requests["list", "pods"] - world.api.requests["watch", "pods"]


def same(one: ClusterSnapshot, other: ClusterSnapshot) -> bool:
    """But for the time."""
    return one == msgspec.structs.replace(other, taken_at=one.taken_at)


# ---- what changed ----


def test_the_first_tick_lists_and_the_next_reads_only_what_changed(world: World):
    assert names(follow(world.session)) == {"a", "b"}
    world.api.add(pod("c"))
    world.api.remove("Pod", "b")

    assert names(follow(world.session)) == {"a", "c"}
    assert lists(world) == 1


def test_a_change_of_any_kind_of_object_is_seen(world: World):
    """Each list is watched: a pod that turns unschedulable, a node that turns NotReady, a new budget."""
    world.api.add(pod("waits", phase="Pending") | {"status": {"phase": "Pending"}})
    before = follow(world.session).snapshot
    assert {one.state for one in before.pods if "waits" in one.names} == {PodState.UNSEEN}

    judged = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    world.api.edit("Pod", "waits", lambda body: body["status"].update(conditions=[judged]))
    world.api.edit("Node", "n1", lambda body: body["metadata"].update(labels={"pool": "gpu"}))
    world.api.add(budget("web", app="web"))
    after = follow(world.session).snapshot

    assert {one.state for one in after.pods if "waits" in one.names} == {PodState.UNSCHEDULABLE}
    assert after.nodes[0].labels["pool"] == "gpu"
    assert [one.name for one in after.budgets] == ["web"]
    assert lists(world) == 1


def test_a_pod_that_finishes_leaves(world: World):
    follow(world.session)
    world.api.edit("Pod", "a", lambda body: body["status"].update(phase="Succeeded"))

    assert names(follow(world.session)) == {"b"}
    assert lists(world) == 1


@pytest.mark.parametrize("seed", range(6))
def test_it_sees_what_a_cold_process_sees(world: World, seed: int):
    """Over random changes, in four rounds of which some are busy and some are not."""
    chance = random.Random(seed)
    there = {"a": "n1", "b": ""}
    follow(world.session)
    for tick in range(4):
        for number in range(chance.choice((0, 1, 12))):
            what = chance.choice(("add", "remove", "label", "cordon", "budget"))
            if what == "add" or not there:
                name, place = f"p{tick}-{number}", chance.choice(("", "n1"))
                world.api.add(pod(name, node=place, cpu=f"{chance.randint(1, 3)}"))
                there[name] = place
            elif what == "remove":
                name = chance.choice(sorted(there))
                del there[name]
                world.api.remove("Pod", name)
            elif what == "label":
                label = {"team": chance.choice("xyz")}
                world.api.edit("Pod", chance.choice(sorted(there)), lambda body, to=label: body["metadata"].update(labels=to))
            elif what == "cordon":
                world.api.edit("Node", "n1", lambda body: body["spec"].update(unschedulable=chance.random() < 0.5))
            else:
                world.api.add(budget(f"b{tick}-{number}", team=chance.choice("xyz")))
        assert same(follow(world.session).snapshot, read(world.session).snapshot)
    assert names(follow(world.session)) == there.keys()


DEEP = b"[" * 1100 + b"]" * 1100


@pytest.mark.parametrize(
    "wrong", [b'"spec":{"containers":"none"}', b'"more":' + DEEP, b'"more":NaN'], ids=["type", "deep", "none"]
)
def test_an_object_that_does_not_read_any_more_is_set_aside_and_comes_back(
    world: World, monkeypatch: pytest.MonkeyPatch, wrong: bytes
):
    follow(world.session)
    kept = following.kept(world.session)
    assert kept is not None
    meta = {"name": "b", "namespace": "default", "resourceVersion": kept.versions["Pod"]}
    broken = b'{"type":"MODIFIED","object":{"metadata":%b,%b}}' % (msgspec.json.encode(meta), wrong)
    world.api.edit("Pod", "b", lambda body: body["metadata"].update(labels={"a": "b"}))
    with monkeypatch.context() as patch:
        replace_events(patch, "pods", broken)
        seen = follow(world.session)
    assert names(seen) == {"a"}
    assert "pod default/b is set aside" in seen.snapshot.warnings[0].text

    seen = follow(world.session)

    assert names(seen) == {"a", "b"}
    assert seen.snapshot.warnings == ()
    assert lists(world) == 1


def test_an_api_that_came_is_listed_and_one_that_went_is_forgotten(world: World, monkeypatch: pytest.MonkeyPatch):
    follow(world.session)
    apis.install(world.api)
    resources.clear()
    assert same(follow(world.session).snapshot, read(world.session).snapshot)
    kept = following.kept(world.session)
    assert kept is not None
    assert (JOB_SETS in kept.versions, kept.objects.has(JOB_SETS)) == (True, True)
    assert lists(world) == 2  # the cold one's, too

    monkeypatch.setattr(resources, "optional", lambda session, note: ())
    follow(world.session)

    assert (JOB_SETS in kept.versions, kept.objects.has(JOB_SETS)) == (False, False)


def test_an_api_that_goes_amid_a_tick_is_forgotten_and_listed_when_it_is_back(world: World):
    apis.install(world.api)
    follow(world.session)
    kept = following.kept(world.session)
    assert kept is not None
    world.api.fail("list", "jobsets", 404, times=2)  # the question for its version, and the list
    follow(world.session)
    assert (JOB_SETS in kept.versions, kept.objects.has(JOB_SETS)) == (False, False)

    follow(world.session)

    assert (JOB_SETS in kept.versions, kept.objects.has(JOB_SETS)) == (True, True)


def test_each_tick_has_the_servers_time_of_its_own():
    with FakeCluster(VirtualClock()) as api, open_cluster(api) as world:
        follow(world.session)
        world.time.call_in(60, lambda: None)
        world.time.run(limit_s=60)

        assert follow(world.session).snapshot.taken_at == world.time.now()


# ---- what it costs ----


def test_an_idle_tick_is_a_small_part_of_a_list(world: World):
    world.api.add({"kind": "PodList", "items": [pod(f"p{at:03}", annotations={"a": "word " * 500}) for at in range(200)]})
    cold = follow(world.session)
    warm = follow(world.session)

    assert names(warm) == names(cold)
    assert cold.body_bytes > 500_000
    assert warm.body_bytes < 12_000
    assert warm.requests <= 2 * len(resources.OTHERS) + 2 * len(resources.OPTIONAL) + 5


def test_the_bytes_of_a_busy_tick_are_those_of_what_changed(world: World):
    world.api.add({"kind": "PodList", "items": [pod(f"p{at:03}", annotations={"a": "word " * 500}) for at in range(200)]})
    cold = follow(world.session)
    idle = follow(world.session).body_bytes
    world.api.add(pod("new", annotations={"a": "word " * 500}))

    busy = follow(world.session).body_bytes

    assert 2_500 < busy - idle < cold.body_bytes / 50


def test_what_pods_that_are_gone_shared_goes_with_the_next_full_list(world: World):
    follow(world.session)
    first = following.kept(world.session)
    world.time.call_in(600, lambda: None)
    world.time.run(limit_s=600)
    follow(world.session)
    second = following.kept(world.session)

    assert first is not None
    assert second is not None
    assert second.objects is not first.objects


# ---- doubt ----


def test_all_is_listed_every_ten_minutes_whatever_the_watches_said(world: World):
    follow(world.session)
    for minutes, listed in ((9, 1), (1, 2), (9, 2)):
        world.time.call_in(60 * minutes, lambda: None)
        world.time.run(limit_s=60 * minutes)
        follow(world.session)
        assert lists(world) == listed


def test_versions_that_the_server_has_forgotten_are_listed_anew(world: World):
    follow(world.session)
    world.api.add(pod("c"))
    world.api.compact()
    world.api.remove("Pod", "b")

    assert names(follow(world.session)) == {"a", "c"}
    assert lists(world) == 2
    assert names(follow(world.session)) == {"a", "c"}
    assert lists(world) == 2


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_a_server_that_is_too_busy_is_asked_again_as_it_wishes_and_not_for_lists(world: World, verb: str):
    follow(world.session)
    world.api.add(pod("c"))
    world.api.fail(verb, "nodes", 429, times=2, retry_after=3)

    reading = follow(world.session)

    assert names(reading) == {"a", "b", "c"}
    assert reading.lists == 0
    assert world.waits == [3, 3]


@pytest.mark.parametrize("break_it", [lambda api: api.drop("watch", "nodes"), lambda api: api.fail("watch", "nodes", 503, 4)])
def test_a_watch_of_nodes_that_breaks_is_a_doubt_of_all(world: World, break_it: Callable[[Cluster], None]):
    """What pods and owners tell must be no older than what nodes tell."""
    follow(world.session)
    world.api.add(pod("c"))
    break_it(world.api)

    assert names(follow(world.session)) == {"a", "b", "c"}
    assert lists(world) == 2


def test_a_watch_of_another_kind_that_breaks_is_a_doubt_of_that_kind(world: World):
    follow(world.session)
    world.api.add(budget("web", app="web"))
    world.api.drop("watch", "poddisruptionbudgets")

    assert [one.name for one in follow(world.session).snapshot.budgets] == ["web"]
    assert lists(world) == 1
    assert world.api.requests["list", "poddisruptionbudgets"] == 3  # the first, the question for its version, and the second


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}',
        b'{"type":"ERROR","object":{"kind":"Status","code":500}}',
        b'{"type":"NEWS","object":{"metadata":{"name":"a","resourceVersion":"9"}}}',
        b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}',
        b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"soon"}}}',
        b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}',
        b'{"type":"ADDED","object":{"metadata":' + DEEP + b"}}",
        b'{"type":"ADDED","object":' + DEEP + b"}",
        b'{"type":"ADD',
        b"null",
    ],
)
def test_an_event_that_says_an_error_or_nothing_readable_is_a_doubt(world: World, monkeypatch: pytest.MonkeyPatch, line: bytes):
    follow(world.session)
    world.api.add(pod("c"))
    replace_events(monkeypatch, "pods", line)

    assert names(follow(world.session)) == {"a", "b", "c"}
    assert lists(world) == 2


def test_a_server_that_is_behind_what_another_told_is_not_believed(world: World):
    """After a restore of its etcd, or while it has not caught up: its watch would tell nothing."""
    follow(world.session)
    kept = following.kept(world.session)
    assert kept is not None
    kept.versions["Pod"] = str(10**15)
    world.api.remove("Pod", "b")

    assert names(follow(world.session)) == {"a"}
    assert lists(world) == 2


def test_a_watch_that_says_nothing_is_read_until_it_has_been_quiet(world: World, monkeypatch: pytest.MonkeyPatch):
    """A real server sends no bookmark so soon: its silence must do."""
    follow(world.session)
    world.api.add(pod("c"))
    replace_events(monkeypatch, "persistentvolumes", None)

    assert names(follow(world.session)) == {"a", "b", "c"}
    assert lists(world) == 1


def test_events_that_never_pause_do_not_hold_a_tick_up(world: World, monkeypatch: pytest.MonkeyPatch):
    """Read is until the version that the server had when the tick began, not until nothing more happens."""
    follow(world.session)
    monkeypatch.setattr(following, "QUIET_S", 3600.0)
    tell = streams.wait

    def busy(told: Any, seconds: float) -> Told | None:
        found = tell(told, seconds)
        if found is not None and found.what in (What.OPENED, What.EVENT):
            told.put(Told(found.resource, What.EVENT, event_of(10**12)))
        return found

    monkeypatch.setattr(streams, "wait", busy)

    assert names(follow(world.session)) == {"a", "b"}
    assert lists(world) == 1


def test_a_failed_tick_leaves_nothing_behind(world: World):
    follow(world.session)
    world.api.add(pod("c"))
    world.api.drop("watch", "pods")
    world.api.fail("list", "nodes", 503, times=9, after=1)  # the question for the version of nodes is answered
    with pytest.raises(ClusterUnavailable):
        follow(world.session)
    assert following.kept(world.session) is None
    world.api.faults.clear()  # type: ignore[attr-defined]

    assert names(follow(world.session)) == {"a", "b", "c"}


def test_each_cluster_has_a_memory_of_its_own(world: World):
    other = replace(world.session, access=replace(world.session.access, cluster="other"))
    for session in (world.session, other):
        assert follow(session).lists > 0
    for session in (world.session, other):
        assert follow(session).lists == 0
    assert follow(other).snapshot.cluster == "other"


def test_a_role_that_may_list_and_not_watch_is_told_so(world: World):
    follow(world.session)
    world.api.allow([("list", "*"), ("get", "*")])

    with pytest.raises(ClusterForbidden, match="does not allow to watch"):
        follow(world.session)


# ---- means ----


def replace_events(monkeypatch: pytest.MonkeyPatch, plural: str, line: bytes | None) -> None:
    """What the watch of that list tells is this line, or nothing."""
    tell = streams.wait

    def wait(told: Any, seconds: float) -> Told | None:
        found = tell(told, seconds)
        if found is not None and found.what == What.EVENT and found.resource.plural == plural:
            return None if line is None else Told(found.resource, What.EVENT, line)
        return found

    monkeypatch.setattr(streams, "wait", wait)


def event_of(version: int) -> bytes:
    meta = {"name": "nobody", "resourceVersion": str(version)}
    return msgspec.json.encode({"type": "DELETED", "object": {"metadata": meta}})
