"""Every state of a node, and what it is called."""

from typing import Any

import msgspec
import pytest

from spillway import planner
from spillway.model.cluster import PodState
from spillway.model.memory import Drain, Memory, NodeMemory, Unavailable
from spillway.planner import clocks
from tests.builders import NOW, YESTERDAY, ago, cluster, fleet, group, instance, kept, node, plan_for, pod, policy, removed
from tests.planner.scale_in.worlds import ALL_AT_ONCE, pair, planned, why_stays


def state(
    *pods: Any, rules: dict[str, Any] | None = None, memory: Memory | None = None, fields: dict[str, Any] | None = None
) -> str:
    """Of `low`, beside a busy node that has room: the code of its reason to stay, or to go."""
    low, busy = node("low", **(fields or {})), node("busy")
    plan = plan_for(
        low,
        busy,
        *pods,
        pod("load", cpu="2500m", node="busy"),
        group("g", nodes=[low, busy]),
        idle_since=YESTERDAY,
        memory=memory,
        rules=policy(**{"scale_in": ALL_AT_ONCE, **(rules or {})}),
    )
    goes = {step.node: str(step.reason.code) for step in plan.scale_in}
    return goes.get("low") or kept(plan)["low"]


def clock(**since: Any) -> Memory:
    known = {"node": "low", "first_seen": YESTERDAY, "last_seen": ago(60), "instance_id": "i-low"}
    return Memory(nodes=(NodeMemory(**{**known, **since}),))


@pytest.mark.feature("SI-01")
class TestStatesOfTheSeed:
    def test_detached(self) -> None:
        for label in ("openai/detached", "spillway.io/detached"):
            assert state(fields={"labels": {label: "true"}}) == "detached"
            assert state(fields={"labels": {label: "false"}}) == "empty"

    def test_at_min_size(self) -> None:
        assert state(rules={"groups": {"g": {"min": 2}}}) == "at_min"

    def test_busy(self) -> None:
        assert state(pod(cpu="3", node="low")) == "busy"

    def test_busy_and_cordoned_by_us(self) -> None:
        """It is given back."""
        low = node("low", unschedulable=True, cordon="ended")
        plan = plan_for(low, pod(cpu="3", node="low"), group("g", nodes=[low]))
        assert (kept(plan), plan.scale_out[0].uncordon) == ({"low": "busy"}, ("low",))

    def test_a_pod_is_pending_for_it(self) -> None:
        assert state(pod(cpu="3")) == "pending_pods"
        assert state(pod(node="low", state=PodState.NOMINATED)) == "pending_pods"

    def test_in_its_grace_period(self) -> None:
        assert state(memory=clock(idle_since=ago(599))) == "not_idle_yet"
        assert state(pod(cpu="100m", node="low"), memory=clock(unneeded_since=ago(599))) == "not_unneeded_yet"

    def test_spare(self) -> None:
        assert state(rules={"scale_in": {**ALL_AT_ONCE, "spare_nodes": 1}}) == "spare"

    def test_underutilised_and_drainable_or_not(self) -> None:
        assert state(pod(cpu="100m", node="low")) == "underutilised"
        assert state(pod(cpu="100m", node="low", owner="")) == "no_owner"

    def test_idle(self) -> None:
        assert state() == "empty"

    def test_cordoned_by_somebody_else(self) -> None:
        assert state(fields={"unschedulable": True}) == "cordoned_by_human"

    def test_dead(self) -> None:
        low = node("low", ready=False, ready_changed=ago(1800))
        ill = group("g", nodes=[low], instances=[instance("low", impaired="instance status: impaired")])
        [step] = plan_for(low, ill, rules=policy(scale_in=ALL_AT_ONCE)).scale_in
        assert step.reason.code == "dead"

    def test_terminated(self) -> None:
        low = node("low", ready=False)
        seen, supply, rules = cluster(low), fleet(group("g"), ended=("i-low",)), policy()
        [step] = planner.plan(seen, supply, clocks.observe(Memory(), seen, supply, rules, NOW), rules, NOW).scale_in
        assert (step.why, step.group, step.reason.text) == (
            "vanished",
            "",
            "node low is left over: EC2 has ended its instance i-low",
        )


@pytest.mark.feature("SI-16")
@pytest.mark.parametrize(
    ("rules", "fields", "code"),
    [
        ({"groups": {"g": {"ignore": True}}}, {}, "ignored"),
        ({}, {"labels": {"openai/detached": "1"}}, "detached"),
        ({}, {"annotations": {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}}, "annotated"),
        ({}, {"unschedulable": True}, "cordoned_by_human"),
    ],
)
def test_groups_and_nodes_can_be_excluded_with_work_and_without(
    rules: dict[str, Any], fields: dict[str, Any], code: str
) -> None:
    assert state(rules=rules, fields=fields) == code
    assert state(pod(cpu="100m", node="low"), rules=rules, fields=fields) == code


@pytest.mark.feature("SI-16")
def test_a_human_cordon_is_not_undone_where_room_is_wanted() -> None:
    low = node("low", unschedulable=True)
    plan = plan_for(low, pod(cpu="3"), group("g", nodes=[low]))
    assert [step.uncordon for step in plan.scale_out] == [()]


@pytest.mark.feature("SI-17")
@pytest.mark.parametrize("fields", [{"suspended": ("Terminate",)}, {"status": "Delete in progress"}])
def test_a_group_that_may_not_shrink_keeps_its_underutilised_nodes(fields: dict[str, Any]) -> None:
    low, other = node("low"), node("other")
    plan = planned(
        low, other, pod(cpu="100m", node="low"), pod(cpu="3", node="other"), group("g", nodes=[low]), group("h", nodes=[other])
    )
    assert removed(plan) == ["low"]
    held = planned(
        low,
        other,
        pod(cpu="100m", node="low"),
        pod(cpu="3", node="other"),
        group("g", nodes=[low], **fields),
        group("h", nodes=[other]),
    )
    assert removed(held) == []


@pytest.mark.feature("RS-04")
@pytest.mark.parametrize("older", ["cluster", "fleet"])
def test_an_old_view_moves_no_pod(older: str) -> None:
    low, busy = node("low"), node("busy")
    seen = cluster(low, busy, pod(cpu="100m", node="low"), pod("load", cpu="2500m", node="busy"))
    supply, rules = fleet(group("g", nodes=[low, busy])), policy(scale_in=ALL_AT_ONCE)
    old = msgspec.structs.replace(seen, taken_at=ago(181)) if older == "cluster" else seen
    late = msgspec.structs.replace(supply, taken_at=ago(181)) if older == "fleet" else supply
    memory = clocks.observe(Memory(), old, late, rules, NOW, YESTERDAY)
    assert set(kept(planner.plan(old, late, memory, rules, NOW)).values()) == {"stale_view"}


class TestBatch:
    pytestmark = pytest.mark.feature("SI-11")

    JOB = pod("train", cpu="100m", node="low", owner="Job")
    LAST = pod("train", cpu="100m", node="low", annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "on-completion"})

    @pytest.mark.parametrize("pods", [JOB, LAST], ids=["Job", "on-completion"])
    def test_running_work_is_waited_for_tick_by_tick(self, pods: Any) -> None:
        code, text = why_stays(pair(pods))
        assert (code, "default/train" in text and "ends" in text) == ("batch", True)

    def test_a_job_is_moved_where_the_policy_says_so(self) -> None:
        assert removed(pair(self.JOB, batch="evict")) == ["low"]
        assert kept(pair(self.LAST, batch="evict"))["low"] == "batch"

    @pytest.mark.parametrize("pods", [JOB, LAST], ids=["Job", "on-completion"])
    @pytest.mark.parametrize(("unneeded_s", "goes"), [(3599, False), (3600, True)])
    def test_the_hard_grace_counts_from_when_the_node_was_unneeded(self, pods: Any, unneeded_s: int, goes: bool) -> None:
        plan = pair(pods, batch_ends_s=3600, memory=clock(unneeded_since=ago(unneeded_s)))
        assert removed(plan) == (["low"] if goes else [])

    def test_the_node_is_empty_when_the_job_has_ended(self) -> None:
        assert removed(pair()) == ["low"]


@pytest.mark.feature("SI-18")
class TestClocks:
    def test_a_node_is_unneeded_from_when_little_enough_is_asked_of_it(self) -> None:
        rules = policy()
        low = node("low")
        made = fleet(group("g", nodes=[low]))

        def since(*pods: Any, memory: Memory | None = None) -> Any:
            return clocks.observe(memory or Memory(), cluster(low, *pods), made, rules, NOW).nodes[0].unneeded_since

        light, heavy = pod(cpu="2", memory="1Gi", node="low"), pod(cpu="2001m", memory="1Gi", node="low")
        assert since(light) == NOW
        assert since(light, memory=clock(unneeded_since=ago(300))) == ago(300)
        assert since(heavy, memory=clock(unneeded_since=ago(300))) is None
        assert since(memory=clock(unneeded_since=ago(300))) == ago(300), "an empty node is unneeded as well"
        assert since(light, memory=clock(unneeded_since=ago(300), instance_id="i-before")) == NOW

    def test_a_group_that_aws_refuses_keeps_its_own_underutilised_nodes_and_no_others(self) -> None:
        a, b, busy = node("a"), node("b"), node("busy", cpu="8")
        refused = Unavailable(scope="group", key="us-east-1/ga", until=ago(-300), since=ago(60), reason="capacity: none left")
        plan = planned(
            a,
            b,
            busy,
            pod("pa", cpu="100m", node="a"),
            pod("pb", cpu="100m", node="b"),
            pod("load", cpu="5", node="busy"),
            group("ga", nodes=[a]),
            group("gb", nodes=[b]),
            group("gc", nodes=[busy], cpu="8"),
            memory=Memory(unavailable=(refused,)),
        )
        assert removed(plan) == ["b"]
        code, text = why_stays(plan, "a")
        assert (code, "gets no new nodes until 2026-01-01 00:05:00 UTC (capacity: none left)" in text) == ("unavailable", True)

    def test_its_empty_ones_go(self) -> None:
        a = node("a")
        refused = Unavailable(scope="group", key="us-east-1/ga", until=ago(-300), since=ago(60))
        assert removed(planned(a, group("ga", nodes=[a]), memory=Memory(unavailable=(refused,)))) == ["a"]

    def test_the_tag_says_how_long_the_nodes_of_a_group_are_unneeded(self) -> None:
        a, b = node("a"), node("b")
        tagged = group("ga", nodes=[a], options={"scaledownunneededtime": "20m"})
        memory = Memory(
            nodes=tuple(
                NodeMemory(node=n, first_seen=YESTERDAY, last_seen=ago(60), idle_since=ago(900), instance_id=f"i-{n}")
                for n in "ab"
            )
        )
        plan = planned(a, b, tagged, group("gb", nodes=[b]), memory=memory)
        assert (removed(plan), kept(plan)) == (["b"], {"a": "not_idle_yet"})


def test_a_drain_under_way_is_left_to_its_run() -> None:
    drains = Memory(drains=(Drain(node="low", plan_id="p", step=1, since=ago(60)),))
    assert state(pod(cpu="100m", node="low"), memory=drains) == "draining"
