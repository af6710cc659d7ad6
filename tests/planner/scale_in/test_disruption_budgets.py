"""PodDisruptionBudgets over the whole plan."""

from typing import Any

import msgspec
import pytest

from spillway.model.memory import Drain, Memory
from spillway.model.plan import Plan
from spillway.model.workloads import Budget
from tests.builders import Pods, ago, group, kept, node, pod, removed
from tests.planner.scale_in.worlds import budget, pair, planned, why_stays

pytestmark = pytest.mark.feature("SI-08")


def web(on: str, count: int = 1, **fields: Any) -> Pods:
    return pod(f"web-{on}", count=count, cpu="100m", node=on, labels={"app": "web"}, **fields)


def three(*budgets: Budget, memory: Memory | None = None, counts: tuple[int, int, int] = (1, 1, 1), **fields: Any) -> Plan:
    """Three nodes with pods of one shape, one that has room for all."""
    nodes = [node("a"), node("b"), node("c"), node("busy")]
    pods = [web(name, count) for name, count in zip("abc", counts, strict=True)]
    return planned(
        *nodes, *pods, pod("load", cpu="2500m", node="busy"), group("g", nodes=nodes), pdbs=budgets, memory=memory, **fields
    )


@pytest.mark.parametrize("allowed", [0, 1, 2, 3])
def test_so_many_go_as_the_budget_allows(allowed: int) -> None:
    plan = three(budget(web("a"), allowed=allowed))
    assert len(removed(plan)) == allowed
    assert sum(code == "disruption_budget" for code in kept(plan).values()) == 3 - allowed


def test_the_reason_says_who_took_it_or_what_it_wants() -> None:
    _, spent = why_stays(three(budget(web("a"), allowed=1)), "b")
    assert "default/guard, whose 1 evictions other nodes of this plan take" in spent
    _, none = why_stays(three(budget(web("a"), healthy=3, desired=3, expected=3)), "b")
    assert none == (
        "node b stays: default/web-b is under the disruption budget default/guard, which allows no eviction: "
        "3 of its 3 pods are healthy, 3 must be"
    )


def test_a_node_with_more_pods_than_it_allows_goes_one_pod_after_the_other_and_alone() -> None:
    plan = three(budget(web("a"), allowed=1), counts=(2, 2, 2))
    assert len(removed(plan)) == 1


def test_each_pod_counts_not_each_node() -> None:
    """Two of three allowed evictions are spent on the first node, so one is left for the second, and none for the third."""
    plan = three(budget(web("a"), allowed=3), counts=(2, 2, 2))
    assert len(removed(plan)) == 2


def test_drains_under_way_have_taken_theirs() -> None:
    memory = Memory(drains=(Drain(node="a", plan_id="p", step=1, since=ago(30)),))
    assert removed(three(budget(web("a"), allowed=1), memory=memory)) == []
    assert len(removed(three(budget(web("a"), allowed=2), memory=memory))) == 1


def test_a_pod_under_two_is_never_evicted_and_both_are_named() -> None:
    pods = web("low")
    code, text = why_stays(pair(pods, pdbs=[budget(pods, name="p1", allowed=5), budget(pods, name="p2", allowed=5)]))
    assert code == "disruption_budget"
    assert "default/p1 and default/p2: the API server evicts no pod that is under more than one" in text


def test_a_budget_whose_newest_version_is_not_seen_yet_refuses_all() -> None:
    pods = web("low")
    code, text = why_stays(pair(pods, pdbs=[budget(pods, allowed=5, processed=False)]))
    assert (code, "has not seen yet" in text) == ("disruption_budget", True)


@pytest.mark.parametrize(
    ("fields", "goes"),
    [
        ({"healthy": 2, "desired": 2}, True),  # met without the pod
        ({"healthy": 1, "desired": 2}, False),
        ({"healthy": 1, "desired": 2, "evicts_unready": True}, True),
        ({"healthy": 0, "desired": 0}, False),
    ],
)
def test_pods_that_are_not_ready_go_where_the_api_server_lets_them(fields: dict[str, Any], goes: bool) -> None:
    from spillway import planner
    from spillway.planner import clocks
    from tests.builders import NOW, YESTERDAY, cluster, fleet, policy

    low, busy = node("low"), node("busy")
    pods = web("low")
    seen = cluster(low, busy, pods, pod("load", cpu="2500m", node="busy"), budgets=(budget(pods, **fields),))
    seen = msgspec.structs.replace(
        seen, pods=tuple(msgspec.structs.replace(one, unready=one.node == "low") for one in seen.pods)
    )
    supply, rules = fleet(group("g", nodes=[low, busy])), policy(scale_in={"budgets": [{"nodes": 2}]})
    memory = clocks.observe(Memory(), seen, supply, rules, NOW, YESTERDAY)
    assert removed(planner.plan(seen, supply, memory, rules, NOW)) == (["low"] if goes else [])


def test_other_pods_are_held_by_no_budget_that_does_not_select_them() -> None:
    assert removed(pair(web("low"), pdbs=[budget(pod("other", node="low"))])) == ["low"]


def test_daemons_go_with_their_node_whatever_a_budget_says() -> None:
    daemon = pod("d", owner="DaemonSet", node="low")
    assert removed(pair(daemon, pdbs=[budget(daemon)])) == ["low"]
