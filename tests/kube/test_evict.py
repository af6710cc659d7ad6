"""The pods of a node, and what becomes of asking them to go."""

from collections.abc import Iterator

import pytest

from spillway.errors import ClusterForbidden, ClusterUnavailable
from spillway.kube.evict import Verdict, evict
from spillway.kube.live_pods import pods_on
from spillway.kube.session import Answer, Session
from spillway_local.kube_api import Cluster
from tests.kube.cluster import World, open_cluster
from tests.kube.objects import budget, daemon_of, node, pod
from tests.local.kube_api_objects import until


@pytest.fixture
def world(api_server: Cluster) -> Iterator[World]:
    with open_cluster(api_server) as opened:
        opened.api.add(node("n1"))
        yield opened


def running(name: str, **more):
    """A pod that is Ready on n1, so that budgets count it."""
    one = pod(name, node="n1", **more)
    one["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return one


def only(world: World):
    (found,) = pods_on(world.session, "n1")
    return found


def test_only_what_holds_the_node_is_listed(world: World):
    for one in (running("b"), running("a"), pod("done", node="n1", phase="Succeeded"), pod("other", node="n2"), pod("waits")):
        world.api.add(one)

    assert [one.key for one in pods_on(world.session, "n1")] == ["default/a", "default/b"]


@pytest.mark.feature("RS-06")
def test_an_answer_that_is_no_list_is_not_taken_for_an_empty_node(world: World, monkeypatch: pytest.MonkeyPatch):
    """Its instance would be ended under its pods."""
    world.api.add(running("a"))
    monkeypatch.setattr(Session, "call", lambda *_, **__: Answer(200, b"{}", {}))

    with pytest.raises(ClusterUnavailable, match="list pods: the answer is no page of it"):
        pods_on(world.session, "n1")


def test_daemons_and_static_pods_are_told_apart(world: World):
    world.api.add(running("agent", ownerReferences=daemon_of()))
    world.api.add(running("static", annotations={"kubernetes.io/config.mirror": "x"}))
    world.api.add(running("work"))

    assert {one.name: one.daemon for one in pods_on(world.session, "n1")} == {"agent": True, "static": True, "work": False}


def test_a_pod_without_a_budget_goes(world: World):
    world.api.add(running("a"))

    assert evict(world.session, only(world), 600).verdict == Verdict.EVICTED
    assert only(world).deleting


@pytest.mark.parametrize(("own", "given"), [(30, 30), (7200, 600), (0, 0)])
def test_a_pods_grace_is_kept_up_to_the_policys_limit(world: World, own: int, given: int):
    world.api.add(running("a", spec={"terminationGracePeriodSeconds": own}))

    evict(world.session, only(world), 600)

    left = world.api.get("Pod", "a", "default")
    assert (left["metadata"]["deletionGracePeriodSeconds"] if left else 0) == given


def processed(world: World, name: str, **figures: int) -> None:
    """Returns when the disruption controller has come to these figures of a budget."""
    until(world.api, "PodDisruptionBudget", name, lambda one: figures.items() <= one["status"].items())


def tight(name: str, **labels: str):
    made = budget(name, **labels)
    made["spec"] = {"minAvailable": 1, "selector": made["spec"]["selector"]}
    return made


def test_a_budget_that_allows_none_makes_it_wait_and_says_so(world: World):
    world.api.add(running("a", labels={"app": "web"}))
    world.api.add(tight("web", app="web"))
    processed(world, "web", expectedPods=1, currentHealthy=1, disruptionsAllowed=0)

    answer = evict(world.session, only(world), 600)

    assert (answer.verdict, answer.wait_s) == (Verdict.WAITING, 10)
    assert answer.reason == (
        "Cannot evict pod as it would violate the pod's disruption budget. "
        "The disruption budget web needs 1 healthy pods and has 1 currently"
    )
    assert world.waits == []
    assert not only(world).deleting


def test_a_budget_lets_one_after_the_other_go(world: World):
    for name in ("a", "b"):
        world.api.add(running(name, labels={"app": "web"}))
    world.api.add(tight("web", app="web"))
    processed(world, "web", expectedPods=2, currentHealthy=2, disruptionsAllowed=1)
    first, second = pods_on(world.session, "n1")

    assert evict(world.session, first, 600).verdict == Verdict.EVICTED
    assert evict(world.session, second, 600).verdict == Verdict.WAITING
    assert [one.deleting for one in pods_on(world.session, "n1")] == [True, False]


def test_a_budget_that_the_server_has_not_processed_yet_makes_it_wait(world: World):
    """As one whose pods cannot be counted never is: a DaemonSet has no scale."""
    world.api.add(running("a", labels={"app": "web"}, ownerReferences=daemon_of()))
    world.api.add(budget("web", app="web"))
    until(world.api, "PodDisruptionBudget", "web", lambda one: bool(one["status"].get("conditions")))

    answer = evict(world.session, only(world), 600)

    assert (answer.verdict, answer.wait_s) == (Verdict.WAITING, 10)
    assert world.waits == []


def test_two_budgets_over_one_pod_make_it_wait_with_that_reason(world: World):
    world.api.add(running("a", labels={"app": "web"}))
    for name in ("one", "two"):
        world.api.add(budget(name, app="web"))

    answer = evict(world.session, only(world), 600)

    assert (answer.verdict, answer.wait_s) == (Verdict.HELD, 10)
    assert "more than one PodDisruptionBudget" in answer.reason
    assert world.api.requests["create", "pods/eviction"] == 1
    assert not only(world).deleting


@pytest.mark.parametrize(("status", "after", "wait_s"), [(429, 25, 25), (429, None, 10), (500, None, 10), (504, 10, 10)])
def test_a_refusal_says_when_to_ask_again(world: World, status: int, after: int | None, wait_s: int):
    world.api.add(running("a"))
    world.api.fail("create", "pods/eviction", status, retry_after=after)

    answer = evict(world.session, only(world), 600)

    assert (answer.verdict, answer.wait_s) == (Verdict.WAITING, wait_s)
    assert world.waits == []


def test_a_pod_that_has_gone_is_no_error(world: World):
    world.api.add(running("a"))
    gone = only(world)
    world.api.remove("Pod", "a", "default")

    assert evict(world.session, gone, 600).verdict == Verdict.GONE


def test_a_namesake_of_the_pod_is_not_touched(world: World):
    world.api.add(running("a"))
    old = only(world)
    world.api.remove("Pod", "a", "default")
    world.api.add(running("a"))

    assert evict(world.session, old, 600).verdict == Verdict.GONE
    assert not only(world).deleting


def test_without_permission_the_error_names_the_subresource(world: World):
    world.api.add(running("a"))
    world.api.allow([("list", "pods")])

    with pytest.raises(ClusterForbidden, match="create pods/eviction"):
        evict(world.session, only(world), 600)


def test_a_server_that_is_down_is_an_error(world: World):
    world.api.add(running("a"))
    pod_now = only(world)
    world.api.fail("create", "pods/eviction", 503, times=99)

    with pytest.raises(ClusterUnavailable, match="create pods/eviction: 503"):
        evict(world.session, pod_now, 600)
    assert not only(world).deleting
