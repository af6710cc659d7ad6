"""Which empty nodes go, and why each of the others stays."""

from datetime import timedelta

import pytest

from spillway.model.cluster import PodState
from spillway.model.memory import Drain, Memory, NodeMemory
from spillway.model.plan import AtDeadline
from tests.builders import NOW, YESTERDAY, ago, desired, group, instance, kept, node, plan_for, pod, policy, removed

ALL_AT_ONCE = {"budgets": [{"nodes": "100%"}]}
RULES = policy(scale_in=ALL_AT_ONCE)


def idle(name: str, seconds: float) -> NodeMemory:
    return NodeMemory(node=name, first_seen=YESTERDAY, last_seen=ago(60), idle_since=ago(seconds), instance_id=f"i-{name}")


@pytest.mark.feature("SI-02")
def test_a_node_goes_when_its_last_workload_pod_left_long_enough_ago() -> None:
    long, short = node("long"), node("short")
    memory = Memory(nodes=(idle("long", 600), idle("short", 599)))
    plan = plan_for(long, short, group("g", nodes=[long, short]), memory=memory, rules=RULES)
    assert removed(plan) == ["long"]
    assert kept(plan) == {"short": "not_idle_yet"}
    assert plan.scale_in[0].reason.text == "node long has had no workload pod for 600 s"


@pytest.mark.feature("SI-02")
def test_an_old_node_is_not_idle_for_its_age() -> None:
    """A node that idles for a second after a job of ten hours has idled for a second."""
    n1 = node("n1", age_s=10 * 86400)
    assert not plan_for(n1, group("g", nodes=[n1]), rules=RULES).scale_in


@pytest.mark.feature("SI-02")
def test_daemons_and_fillers_do_not_hold_a_node_and_everything_else_does() -> None:
    nodes = [node(name) for name in ("daemon", "mirror", "filler", "work", "ends")]
    plan = plan_for(
        *nodes,
        pod("d", node="daemon", owner="DaemonSet"),
        pod("m", node="mirror", owner="Node", mirror=True),
        pod("f", node="filler", priority=-11),
        pod("w", node="work", cpu="3", namespace="other"),
        pod("t", node="ends", cpu="3", state=PodState.TERMINATING),
        group("g", nodes=nodes),
        idle_since=YESTERDAY,
        rules=policy(scale_in=ALL_AT_ONCE, namespaces={"include": ["default"]}),
    )
    assert removed(plan) == ["daemon", "filler", "mirror"]
    assert kept(plan) == {"work": "busy", "ends": "busy"}


def test_a_step_says_when_and_how_it_gives_up() -> None:
    n1 = node("n1")
    rules = policy(scale_in=ALL_AT_ONCE, drain={"deadline_s": 120, "at_deadline": "force"})
    [step] = plan_for(n1, group("g", nodes=[n1]), idle_since=YESTERDAY, rules=rules).scale_in
    assert (step.instance_id, step.why, step.deadline_s, step.at_deadline) == ("i-n1", "empty", 120, AtDeadline.FORCE)
    assert step.reason.text == "node n1 has had no workload pod for 86400 s"


def test_removals_are_checked_together_against_the_min() -> None:
    nodes = [node(f"n{i}") for i in range(5)]
    plan = plan_for(*nodes, group("g", nodes=nodes, min_size=2), idle_since=YESTERDAY, rules=RULES)
    assert removed(plan) == ["n0", "n1", "n2"]
    assert kept(plan) == {"n3": "at_min", "n4": "at_min"}


def test_the_higher_of_both_mins_holds() -> None:
    nodes = [node(f"n{i}") for i in range(5)]
    for theirs, ours in ((4, 1), (1, 4)):
        rules = policy(scale_in=ALL_AT_ONCE, groups={"g": {"min": ours}})
        plan = plan_for(*nodes, group("g", nodes=nodes, min_size=theirs), idle_since=YESTERDAY, rules=rules)
        assert len(removed(plan)) == 1


def test_drains_under_way_count_against_the_min_and_the_budget() -> None:
    nodes = [node("leaves", cordon="p", unschedulable=True), node("n1"), node("n2")]
    memory = Memory(drains=(Drain(node="leaves", plan_id="p", step=1, since=ago(30)),))
    plan = plan_for(*nodes, group("g", nodes=nodes, min_size=2), idle_since=YESTERDAY, memory=memory, rules=RULES)
    assert kept(plan) == {"leaves": "draining", "n1": "at_min", "n2": "at_min"}
    one = policy(scale_in={"budgets": [{"nodes": 1}]})
    plan = plan_for(*nodes, group("g", nodes=nodes), idle_since=YESTERDAY, memory=memory, rules=one)
    assert kept(plan) == {"leaves": "draining", "n1": "budget", "n2": "budget"}


def test_the_cluster_keeps_its_minimum() -> None:
    nodes = [node(f"n{i}", cpu="4") for i in range(4)]
    for minimum, left in (({"nodes": 3}, 3), ({"cpu": "5"}, 2), ({"memory": "64Gi"}, 4)):
        rules = policy(scale_in={**ALL_AT_ONCE, "cluster_minimum": minimum})
        plan = plan_for(*nodes, group("g", nodes=nodes), idle_since=YESTERDAY, rules=rules)
        assert len(removed(plan)) == 4 - left


@pytest.mark.parametrize(("budget", "gone"), [("10%", 1), ("15%", 2), ("0%", 0), (4, 4), (0, 0)])
def test_a_percentage_rounds_up_and_a_count_is_a_count(budget: str | int, gone: int) -> None:
    nodes = [node(f"n{i:02}") for i in range(10)]
    rules = policy(scale_in={"budgets": [{"nodes": budget}]})
    assert len(removed(plan_for(*nodes, group("g", nodes=nodes), idle_since=YESTERDAY, rules=rules))) == gone


def test_all_budgets_that_apply_hold() -> None:
    nodes = [node(f"n{i:02}") for i in range(10)]
    for budgets, gone in (
        ([{"nodes": 5}, {"nodes": 2}], 2),
        ([{"nodes": 5}, {"nodes": 0, "reasons": ["drifted"]}], 5),
        ([{"nodes": 5}, {"nodes": 1, "reasons": ["empty"]}], 1),
        ([{"nodes": 5}, {"nodes": 0, "schedule": "30 23 * * *", "duration_s": 3600}], 0),
        ([{"nodes": 5}, {"nodes": 0, "schedule": "0 12 * * *", "duration_s": 3600}], 5),
        ([{"nodes": 5}, {"nodes": 0, "schedule": "now and then", "duration_s": 3600}], 0),
    ):
        rules = policy(scale_in={"budgets": budgets})
        assert len(removed(plan_for(*nodes, group("g", nodes=nodes), idle_since=YESTERDAY, rules=rules))) == gone


def test_the_longest_idle_go_first() -> None:
    nodes = [node(name) for name in ("a", "b", "c")]
    memory = Memory(nodes=(idle("a", 700), idle("b", 9000), idle("c", 800)))
    rules = policy(scale_in={"budgets": [{"nodes": 2}]})
    assert removed(plan_for(*nodes, group("g", nodes=nodes), memory=memory, rules=rules)) == ["b", "c"]


@pytest.mark.feature("SI-02")
def test_a_node_that_waiting_pods_need_stays() -> None:
    n1, n2 = node("n1"), node("n2")
    plan = plan_for(n1, n2, pod(cpu="3"), group("g", nodes=[n1, n2]), idle_since=YESTERDAY, rules=RULES)
    assert kept(plan) == {"n1": "pending_pods"}
    assert removed(plan) == ["n2"]


@pytest.mark.feature("EX-13")
@pytest.mark.parametrize(
    ("mode", "grows", "shrinks"),
    [
        ("run", True, True),
        ("dry_run", True, True),
        ("scale_out_only", True, False),
        ("scale_in_only", False, True),
        ("off", False, False),
    ],
)
def test_the_mode_says_which_way_a_plan_may_go(mode: str, grows: bool, shrinks: bool) -> None:
    idler = node("n1", cpu="1")
    rules = policy(mode=mode, scale_in=ALL_AT_ONCE)
    plan = plan_for(idler, pod(cpu="3"), group("small", nodes=[idler], cpu="1"), group("g"), idle_since=YESTERDAY, rules=rules)
    assert desired(plan) == ({"g": 1} if grows else {})
    assert removed(plan) == (["n1"] if shrinks else [])


@pytest.mark.feature("SI-02")
@pytest.mark.parametrize("days", [0, 1, 30])
def test_idle_and_age_are_whole_seconds_over_any_number_of_days(days: int) -> None:
    """A clock that keeps only the seconds of a day starts anew at each midnight."""
    long, short = node("long", age_s=40 * 86400), node("short", age_s=40 * 86400)
    memory = Memory(nodes=(idle("long", days * 86400 + 600), idle("short", 599)))
    plan = plan_for(long, short, group("g", nodes=[long, short]), memory=memory, rules=RULES)
    assert removed(plan) == ["long"]


def test_a_pod_that_fits_nowhere_keeps_no_node() -> None:
    n1 = node("n1")
    plan = plan_for(n1, pod(cpu="99"), group("g", nodes=[n1]), idle_since=YESTERDAY, rules=RULES)
    assert removed(plan) == ["n1"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"unschedulable": True}, "cordoned_by_human"),
        ({"ready": False}, "not_ready"),
        ({"ready": False, "age_s": 60}, "starting"),
        ({"deleting": True}, "leaving"),
        ({"annotations": {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}}, "annotated"),
        ({"annotations": {"karpenter.sh/do-not-disrupt": "true"}}, "annotated"),
        ({"annotations": {"atlassian.com/no-delete": "being looked at"}}, "annotated"),
    ],
)
def test_nodes_that_are_not_ours_to_take(fields: dict[str, object], why: str) -> None:
    n1 = node("n1", **fields)  # type: ignore[arg-type]
    plan = plan_for(n1, group("g", nodes=[n1]), idle_since=YESTERDAY, rules=RULES)
    assert (removed(plan), kept(plan)) == ([], {"n1": why})


def test_an_annotation_that_says_no_is_none() -> None:
    n1 = node("n1", annotations={"karpenter.sh/do-not-disrupt": "false"})
    assert removed(plan_for(n1, group("g", nodes=[n1]), idle_since=YESTERDAY, rules=RULES)) == ["n1"]


@pytest.mark.parametrize("lifecycle", ["Terminating", "Terminating:Wait", "Standby"])
def test_an_instance_on_its_way_out_is_not_ended_again(lifecycle: str) -> None:
    n1 = node("n1")
    leaving = group("g", nodes=[n1], instances=[instance("n1", lifecycle=lifecycle)])
    assert kept(plan_for(n1, leaving, idle_since=YESTERDAY, rules=RULES)) == {"n1": "leaving"}


def test_nodes_of_no_group_are_never_touched() -> None:
    rack, foreign = node("rack-7", ec2=False), node("foreign")
    assert kept(plan_for(rack, foreign, group("g"), idle_since=YESTERDAY, rules=RULES)) == {
        "rack-7": "not_ours",
        "foreign": "not_ours",
    }


def test_the_policy_can_switch_scale_in_off_here_or_everywhere() -> None:
    a, b = node("a"), node("b")
    for rules in (
        policy(mode="scale_out_only"),
        policy(mode="off"),
        policy(scale_in={"enabled": False}),
        policy(scale_in={"consolidation": "off"}),
    ):
        assert set(kept(plan_for(a, group("g", nodes=[a]), idle_since=YESTERDAY, rules=rules)).values()) == {"disabled"}
    rules = policy(scale_in=ALL_AT_ONCE, groups={"ga": {"scale_in": {"enabled": False}}, "gb": {"scale_in": {"idle_s": 1}}})
    plan = plan_for(a, b, group("ga", nodes=[a]), group("gb", nodes=[b]), idle_since=ago(5), rules=rules)
    assert (removed(plan), kept(plan)) == (["b"], {"a": "disabled"})


def test_suspended_and_protected_are_respected() -> None:
    n1 = node("n1")
    shut = group("g", nodes=[n1], suspended=("Terminate",))
    assert kept(plan_for(n1, shut, idle_since=YESTERDAY, rules=RULES)) == {"n1": "suspended"}
    guarded = group("g", nodes=[n1], instances=[instance("n1", protected=True)])
    asked = policy(scale_in={**ALL_AT_ONCE, "respect_protection": True})
    assert kept(plan_for(n1, guarded, idle_since=YESTERDAY, rules=asked)) == {"n1": "protected"}
    assert removed(plan_for(n1, guarded, idle_since=YESTERDAY, rules=RULES)) == ["n1"]


@pytest.mark.feature("RS-04")
def test_a_view_that_is_old_or_in_part_takes_nothing() -> None:
    from spillway import planner
    from spillway.planner import clocks
    from tests.builders import cluster, fleet

    n1 = node("n1")
    for older in ("cluster", "fleet"):
        seen = cluster(n1, **({"taken_at": ago(181)} if older == "cluster" else {}))
        supply = fleet(group("g", nodes=[n1]), **({"taken_at": ago(181)} if older == "fleet" else {}))
        memory = clocks.observe(Memory(), seen, supply, RULES, NOW, YESTERDAY)
        assert kept(planner.plan(seen, supply, memory, RULES, NOW)) == {"n1": "stale_view"}
    plan = plan_for(n1, group("g", nodes=[n1]), idle_since=YESTERDAY, rules=RULES, silent=["us-east-1"])
    assert kept(plan) == {"n1": "region_unknown"}


@pytest.mark.feature("SI-02")
def test_a_cordon_that_an_ended_run_left_is_finished_or_undone() -> None:
    """Still empty: drained again, without waiting anew. Not allowed to go, or busy: given back."""
    n1 = node("n1", unschedulable=True, cordon="ended")
    plan = plan_for(n1, group("g", nodes=[n1]), rules=RULES)
    assert removed(plan) == ["n1"]
    for objects in ((pod("w", node="n1"), group("g", nodes=[n1])), (group("g", nodes=[n1], min_size=1),)):
        [step] = plan_for(n1, *objects, rules=RULES).scale_out
        assert (step.nodes, step.uncordon, step.from_desired, step.to_desired) == (0, ("n1",), 1, 1)


def test_one_failing_group_never_keeps_the_nodes_of_another() -> None:
    nodes = [node(f"n{i}") for i in range(4)]
    plan = plan_for(
        *nodes,
        group("web", nodes=nodes),
        group("spot", desired=3, launching=3, launching_since=ago(4000)),
        idle_since=YESTERDAY,
        rules=RULES,
    )
    assert len(removed(plan)) == 4


def test_a_week_old_idle_clock_still_counts_in_whole_seconds() -> None:
    """Ages do not wrap after a day."""
    n1 = node("n1", age_s=8 * 86400)
    memory = Memory(nodes=(idle("n1", timedelta(days=7, seconds=1).total_seconds()),))
    [step] = plan_for(n1, group("g", nodes=[n1]), memory=memory, rules=RULES).scale_in
    assert "604801 s" in step.reason.text
