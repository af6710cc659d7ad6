"""What removals of one plan may not cross together, whatever their reasons."""

from datetime import UTC, datetime
from typing import Any

import pytest

from spillway.model.memory import Memory, NodeMemory
from spillway.model.plan import Plan
from tests.builders import NOW, YESTERDAY, Pods, ago, group, kept, node, plan_for, pod, policy, removed
from tests.planner.scale_in.worlds import planned, why_stays


def light(name: str) -> Pods:
    return pod(f"p-{name}", cpu="100m", node=name)


def mixed(min_size: int = 0, **scale_in: Any) -> Plan:
    """Two empty nodes, two underutilised ones, and a busy one with room."""
    nodes = [node(name) for name in ("e0", "e1", "u0", "u1", "busy")]
    return planned(
        *nodes,
        light("u0"),
        light("u1"),
        pod("load", cpu="2500m", node="busy"),
        group("g", nodes=nodes, min_size=min_size),
        **scale_in,
    )


@pytest.mark.feature("SI-09")
@pytest.mark.parametrize(("least", "gone"), [(0, 4), (2, 3), (3, 2), (4, 1), (5, 0)])
def test_empty_and_underutilised_nodes_are_checked_against_the_min_together(least: int, gone: int) -> None:
    plan = mixed(min_size=least)
    assert removed(plan) == ["e0", "e1", "u0", "u1"][:gone]
    assert list(kept(plan).values()).count("at_min") == 4 - gone


@pytest.mark.feature("SI-09")
@pytest.mark.parametrize(
    ("minimum", "left"), [({"nodes": 3}, 3), ({"cpu": "11"}, 3), ({"memory": "60Gi"}, 4), ({"cpu": "1"}, 1)]
)
def test_and_against_the_minimum_of_the_cluster(minimum: dict[str, Any], left: int) -> None:
    assert len(removed(mixed(cluster_minimum=minimum))) == 5 - left


@pytest.mark.feature("SI-09")
def test_a_budget_that_is_smaller_than_what_could_go_is_used_up_and_blocks_nothing() -> None:
    """The older autoscaler's fraction took none at all where more could have gone."""
    plan = mixed(budgets=[{"nodes": "30%"}])
    assert removed(plan) == ["e0", "e1"], "30 % of five nodes are one and a half"


@pytest.mark.feature("SI-10")
@pytest.mark.parametrize(
    ("budgets", "gone"),
    [
        ([{"nodes": 1, "reasons": ["empty"]}], ["e0", "u0", "u1"]),
        ([{"nodes": 1, "reasons": ["underutilised"]}], ["e0", "e1", "u0"]),
        ([{"nodes": 0, "reasons": ["underutilised"]}], ["e0", "e1"]),
        ([{"nodes": 1, "reasons": ["empty", "underutilised"]}], ["e0"]),
        ([{"nodes": 3}, {"nodes": 1, "reasons": ["empty"]}], ["e0", "u0", "u1"]),
        ([{"nodes": "0%"}], []),
        ([], ["e0", "e1", "u0", "u1"]),
    ],
)
def test_budgets_by_reason(budgets: list[dict[str, Any]], gone: list[str]) -> None:
    assert removed(mixed(budgets=budgets)) == gone


@pytest.mark.feature("SI-10")
@pytest.mark.parametrize(
    ("schedule", "zone", "open_"),
    [("0 0 * * *", "UTC", True), ("30 23 * * *", "UTC", True), ("0 9 * * *", "Asia/Tokyo", True), ("0 9 * * *", "UTC", False)],
)
def test_a_schedule_runs_in_its_own_time_zone(schedule: str, zone: str, open_: bool) -> None:
    """It is midnight in UTC, and 9 in Tokyo: then nothing goes."""
    assert datetime(2026, 1, 1, tzinfo=UTC) == NOW
    plan = mixed(budgets=[{"nodes": 0, "schedule": schedule, "time_zone": zone, "duration_s": 3600}])
    assert len(removed(plan)) == (0 if open_ else 4)


@pytest.mark.feature("SI-10")
@pytest.mark.parametrize("fields", [{"schedule": "now and then"}, {"schedule": "0 0 * * *", "time_zone": "Nowhere/Atlantis"}])
def test_a_budget_whose_schedule_cannot_be_read_allows_none_and_says_so(fields: dict[str, str]) -> None:
    plan = mixed(budgets=[{"nodes": 4, "duration_s": 60, **fields}])
    code, text = why_stays(plan, "e0")
    assert (removed(plan), code, "cannot be read, so it allows none" in text) == ([], "budget", True)


@pytest.mark.feature("SI-10")
class TestWindows:
    def test_nodes_are_given_back_while_one_is_open(self) -> None:
        night = {"schedule": "30 23 * * *", "duration_s": 3600}
        noon = {"schedule": "0 12 * * *", "duration_s": 3600}
        assert len(removed(mixed(windows=[night]))) == 4
        assert len(removed(mixed(windows=[noon, night]))) == 4
        plan = mixed(windows=[noon])
        assert removed(plan) == []
        assert why_stays(plan, "e0") == (
            "window",
            "node e0 stays: no maintenance window is open (0 12 * * * UTC for 3600 s)",
        )

    def test_one_that_cannot_be_read_never_opens(self) -> None:
        plan = mixed(windows=[{"schedule": "0 0 * *", "duration_s": 3600}])
        code, text = why_stays(plan, "e0")
        assert (removed(plan), code, "has 4 fields" in text) == ([], "window", True)

    def test_a_cordon_that_an_ended_run_left_waits_for_it(self) -> None:
        n1 = node("n1", unschedulable=True, cordon="ended")
        rules = policy(scale_in={"windows": [{"schedule": "0 12 * * *", "duration_s": 60}]})
        plan = plan_for(n1, group("g", nodes=[n1]), rules=rules)
        assert (plan.scale_in, plan.scale_out, kept(plan)) == ((), (), {"n1": "window"})


@pytest.mark.feature("SI-03")
class TestSpare:
    def idle(self, name: str, seconds: float) -> NodeMemory:
        return NodeMemory(
            node=name, first_seen=YESTERDAY, last_seen=ago(60), idle_since=ago(seconds), unneeded_since=ago(seconds),
            instance_id=f"i-{name}",
        )  # fmt: skip

    def planned(self, **scale_in: Any) -> Plan:
        """Four nodes of group g, idle for 700 to 1,000 s, and one of group h."""
        names = ["a", "b", "c", "d"]
        nodes = [node(name) for name in names]
        other = node("z")
        memory = Memory(nodes=tuple(self.idle(one, 1000 - 100 * i) for i, one in enumerate([*names, "z"])))
        return planned(*nodes, other, group("g", nodes=nodes), group("h", nodes=[other]), memory=memory, **scale_in)

    def test_so_many_idle_nodes_of_each_group_stay_longer_those_that_idle_shortest(self) -> None:
        plan = self.planned(spare_nodes=2)
        assert removed(plan) == ["a", "b"]
        assert kept(plan) == {"c": "spare", "d": "spare", "z": "spare"}
        assert why_stays(plan, "d")[1] == "node d stays: 2 idle nodes of g are kept for 604800 s"

    def test_but_not_for_ever(self) -> None:
        assert removed(self.planned(spare_nodes=2, spare_idle_s=800)) == ["a", "b", "c"]

    def test_a_busy_node_is_no_spare_one(self) -> None:
        nodes = [node("a"), node("b")]
        plan = planned(*nodes, pod(cpu="3", node="b"), group("g", nodes=nodes), spare_nodes=1)
        assert kept(plan) == {"a": "spare", "b": "busy"}

    def test_or_so_many_of_each_instance_type(self) -> None:
        import msgspec

        from tests.builders import instance

        nodes = [node("a"), node("b"), node("c")]
        kinds = [
            msgspec.structs.replace(instance(one.name), instance_type=kind) for one, kind in zip(nodes, "xxy", strict=True)
        ]
        plan = planned(*nodes, group("g", nodes=nodes, instances=kinds), spare_nodes=1, spare_per="instance_type")
        assert (removed(plan), kept(plan)) == (["a"], {"b": "spare", "c": "spare"})


@pytest.mark.feature("SI-21")
def test_among_equals_those_go_that_keep_the_zones_of_their_group_even() -> None:
    """Four nodes in a, two in b: two of a go before one of b does."""
    a = [node(f"n{i}", zone="us-east-1a") for i in (2, 3, 4, 5)]
    b = [node(f"n{i}", zone="us-east-1b") for i in (0, 1)]
    made = group("g", nodes=[*a, *b], zones=["us-east-1a", "us-east-1b"])
    for most, gone in ((1, ["n2"]), (2, ["n2", "n3"]), (4, ["n0", "n2", "n3", "n4"])):
        assert sorted(removed(planned(*a, *b, made, budgets=[{"nodes": most}]))) == gone
