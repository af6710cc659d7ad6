"""What the memory keeps from tick to tick."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from spillway.model.fleet import CapacityType, FailureClass, LaunchFailure, NodeGroup, Scope
from spillway.model.memory import Memory, NodeMemory, Unavailable
from spillway.model.policy import Policy
from spillway.planner import clocks
from tests.builders import NOW, YESTERDAY, Pods, ago, cluster, fleet, group, instance, node, plan_for, pod, refusal, warned

from spillway.model.cluster import Node  # isort: skip


def observed(
    *objects: Pods | Node | NodeGroup, memory: Memory | None = None, since: datetime | None = None, silent: tuple[str, ...] = ()
) -> Memory:
    seen = cluster(*(one for one in objects if not isinstance(one, NodeGroup)))
    supply = fleet(*(one for one in objects if isinstance(one, NodeGroup)), silent=silent)
    return clocks.observe(memory or Memory(), seen, supply, Policy(), NOW, since)


def remembered(name: str = "n1", **times: datetime | str | None) -> Memory:
    known = NodeMemory(**({"node": name, "first_seen": YESTERDAY, "last_seen": ago(60), "instance_id": f"i-{name}"} | times))  # type: ignore[arg-type]
    return Memory(nodes=(known,))


@pytest.mark.feature("SI-02")
def test_the_idle_clock_starts_with_the_last_workload_pod_and_stops_with_the_next() -> None:
    n1 = node("n1")
    [busy] = observed(n1, pod("w", node="n1"), memory=remembered(idle_since=ago(300))).nodes
    assert busy.idle_since is None
    [fresh] = observed(n1, memory=remembered(idle_since=None)).nodes
    assert fresh.idle_since == NOW
    [still] = observed(n1, memory=remembered(idle_since=ago(300))).nodes
    assert still.idle_since == ago(300)


@pytest.mark.feature("SI-02")
def test_a_node_that_the_memory_does_not_know_is_idle_since_we_are_told_but_never_before_it_was_there() -> None:
    assert observed(node("n1")).nodes[0].idle_since == NOW
    assert observed(node("n1"), since=ago(3600)).nodes[0].idle_since == ago(3600)
    assert observed(node("n1", age_s=60), since=ago(3600)).nodes[0].idle_since == ago(60)
    assert observed(node("n1"), since=ago(3600), memory=remembered(idle_since=ago(5))).nodes[0].idle_since == ago(5)


def test_the_clock_of_a_node_that_is_not_ready_runs_from_its_condition() -> None:
    assert observed(node("n1", ready=False, ready_changed=ago(90))).nodes[0].unready_since == ago(90)
    assert observed(node("n1", ready=False), memory=remembered(unready_since=ago(400))).nodes[0].unready_since == ago(400)
    assert observed(node("n1"), memory=remembered(unready_since=ago(400))).nodes[0].unready_since is None


def test_first_sight_stays_and_last_sight_goes_on() -> None:
    [known] = observed(node("n1"), memory=remembered()).nodes
    assert (known.first_seen, known.last_seen) == (YESTERDAY, NOW)


@pytest.mark.feature("SI-02")
def test_a_new_instance_under_an_old_name_starts_its_own_clocks() -> None:
    earlier: dict[str, Any] = {"instance_id": "i-earlier", "idle_since": ago(3600), "unready_since": ago(3600)}
    [idle] = observed(node("n1"), memory=remembered(**earlier)).nodes
    assert (idle.first_seen, idle.idle_since, idle.instance_id) == (NOW, NOW, "i-n1")
    [unready] = observed(node("n1", ready=False), memory=remembered(**earlier)).nodes
    assert unready.unready_since == NOW
    [unnamed] = observed(node("n1"), memory=remembered(**{**earlier, "instance_id": ""})).nodes
    assert unnamed.idle_since == ago(3600), "what was remembered without an instance goes on"


def test_a_node_that_is_gone_is_remembered_for_a_week() -> None:
    assert observed(memory=remembered(last_seen=NOW - timedelta(days=6))).nodes
    assert not observed(memory=remembered(last_seen=NOW - timedelta(days=7))).nodes


@pytest.mark.feature("OP-08")
def test_a_node_that_goes_within_a_minute_of_joining_while_its_instance_runs_has_vanished() -> None:
    brief = remembered(first_seen=ago(100), last_seen=ago(60))
    running = group("g", instances=[instance("n1")])
    assert observed(running, memory=brief).vanished == ("n1",)
    assert observed(running, memory=remembered(first_seen=ago(1000))).vanished == ()
    assert observed(group("g", instances=[instance("n1", lifecycle="Terminating")]), memory=brief).vanished == ()
    assert observed(running, node("n1"), memory=brief).vanished == ()
    assert observed(running, memory=remembered(first_seen=ago(4), last_seen=ago(4))).vanished == (), "younger than the list"
    assert observed(running, memory=brief, silent=("us-east-1",)).vanished == ()
    assert "nodes_vanish" in warned(plan_for(running, memory=brief))


@pytest.mark.parametrize(
    ("scope", "zone", "expected"),
    [
        (Scope.GROUP, "", ("group", "us-east-1/g")),
        (Scope.ZONE, "us-east-1a", ("zone", "us-east-1/g/us-east-1a")),
        (Scope.ZONE, "", ("group", "us-east-1/g")),
        (Scope.QUOTA, "", ("quota", "us-east-1/on-demand/standard")),
        (Scope.REGION, "", ("region", "us-east-1")),
    ],
)
def test_a_refusal_marks_its_own_scope(scope: Scope, zone: str, expected: tuple[str, str]) -> None:
    [record] = observed(group("g", failures=(refusal(60, scope, zone=zone),))).unavailable
    assert (record.scope, record.key) == expected
    assert (record.since, record.until, record.times) == (ago(60), ago(-240), 1)


def test_a_quota_refusal_of_mixed_types_marks_the_group_alone() -> None:
    [record] = observed(group("g", types=["m5.large", "g5.xlarge"], failures=(refusal(60, Scope.QUOTA),))).unavailable
    assert record.key == "us-east-1/g"


@pytest.mark.feature("FS-08")
@pytest.mark.parametrize(
    ("named", "types", "key"),
    [
        ("m5.large", ["m5.large"], "us-east-1/on-demand/m5.large"),
        ("m5.large", ["m5.large", "c5.large"], "us-east-1/g"),  # the group was refused both
        ("", ["m5.large"], "us-east-1/g"),  # in the group's zones, as far as anybody knows
    ],
)
def test_a_refused_offering_is_marked_where_the_text_names_the_only_type_of_the_group(
    named: str, types: list[str], key: str
) -> None:
    failure = refusal(60, Scope.OFFERING, instance_type=named)
    [record] = observed(group("g", types=types, failures=(failure,))).unavailable
    assert record.key == key


@pytest.mark.feature("FS-08")
@pytest.mark.parametrize(("market", "key"), [(CapacityType.SPOT, "us-east-1/g"), (CapacityType.ON_DEMAND, None)])
def test_the_quota_of_another_market_than_the_groups_marks_the_group_alone(market: CapacityType, key: str | None) -> None:
    [record] = observed(group("g", failures=(refusal(60, Scope.QUOTA, capacity_type=market),))).unavailable
    assert record.key == (key or "us-east-1/on-demand/standard")


def before(**fields: object) -> Memory:
    record = {"scope": "group", "key": "us-east-1/g", "since": ago(1000), "until": ago(700), "times": 2} | fields
    return Memory(unavailable=(Unavailable(**record),))  # type: ignore[arg-type]


def test_the_wait_doubles_at_each_refusal_up_to_the_longest() -> None:
    failing = group("g", failures=(refusal(60),))
    [record] = observed(failing, memory=before()).unavailable
    assert (record.times, record.until) == (3, ago(60) + timedelta(seconds=1200))
    [record] = observed(failing, memory=before(times=9)).unavailable
    assert record.until == ago(60) + timedelta(seconds=1800)


def test_a_refusal_within_the_wait_moves_its_end_and_does_not_double() -> None:
    [record] = observed(group("g", failures=(refusal(60),)), memory=before(until=ago(-100))).unavailable
    assert (record.times, record.until) == (2, ago(60) + timedelta(seconds=600))


@pytest.mark.feature("FS-08")
def test_what_nobody_knows_the_meaning_of_waits_shortest_however_often_it_comes() -> None:
    strange = group("g", failures=(refusal(60, failure=FailureClass.UNKNOWN),))
    [record] = observed(strange, memory=before(times=5)).unavailable
    assert (record.times, record.until) == (5, ago(60) + timedelta(seconds=300))
    [record] = observed(strange, memory=before(until=ago(-900))).unavailable
    assert record.until == ago(-900), "and shortens no wait that is longer"


def test_the_same_refusal_is_counted_once_however_often_it_is_seen() -> None:
    failing = group("g", failures=(refusal(60), refusal(61)))
    once = observed(failing)
    assert observed(failing, memory=once) == once
    assert once.unavailable[0].times == 1


def test_a_quiet_tick_does_not_end_a_wait() -> None:
    waiting = before(until=ago(-100))
    assert observed(group("g"), memory=waiting).unavailable == waiting.unavailable


def test_a_proven_success_ends_it_and_one_of_the_same_request_does_not() -> None:
    waiting = before(since=ago(200), until=ago(-100))
    assert not observed(group("g", instances=[instance("new", age_s=100)]), memory=waiting).unavailable
    assert observed(group("g", instances=[instance("same", age_s=170)]), memory=waiting).unavailable
    assert not observed(group("g", instances=[instance("new", age_s=100)], failures=(refusal(200),))).unavailable


def test_it_is_forgotten_hours_after_its_end() -> None:
    assert observed(group("g"), memory=before(since=NOW - timedelta(hours=2))).unavailable
    assert not observed(group("g"), memory=before(since=NOW - timedelta(hours=4))).unavailable


def test_balancing_between_zones_is_no_refusal_and_a_silent_region_tells_nothing() -> None:
    assert not observed(group("g", failures=(refusal(60, failure=FailureClass.REBALANCE),))).unavailable
    assert not observed(group("g", failures=(refusal(60),)), silent=("us-east-1",)).unavailable


def test_refusals_in_any_order_give_one_memory() -> None:
    failures: list[LaunchFailure] = [refusal(300), refusal(60), refusal(2000)]
    assert observed(group("g", failures=tuple(failures))) == observed(group("g", failures=tuple(reversed(failures))))


NEW = instance("new", age_s=100)


@pytest.mark.feature("SO-21")
@pytest.mark.parametrize(
    ("scope", "key", "elsewhere"),
    [
        ("zone", "us-east-1/g/us-east-1a", group("g", instances=[instance("n", zone="us-east-1b", age_s=100)])),
        ("group", "us-east-1/g", group("h", instances=[NEW])),
        ("offering", "us-east-1/on-demand/m5.xlarge", group("h", instances=[NEW], spot=True)),
        ("quota", "us-east-1/on-demand/standard", group("h", types=["g5.xlarge"], instances=[NEW])),
        ("region", "us-east-1", group("g", region="us-west-2", instances=[NEW])),
    ],
)  # fmt: skip
def test_a_success_ends_a_wait_in_its_own_scope_and_in_no_other(scope: str, key: str, elsewhere: NodeGroup) -> None:
    waiting = before(scope=scope, key=key, since=ago(200), until=ago(-100))
    assert observed(elsewhere, memory=waiting).unavailable == waiting.unavailable
    assert not observed(group("g", instances=[NEW]), memory=waiting).unavailable


@pytest.mark.feature("SO-21")
def test_a_refusal_long_after_the_last_one_waits_as_the_first_did() -> None:
    """Nobody looked meanwhile: a running planner has forgotten it by then."""
    old = before(since=NOW - timedelta(hours=4), until=NOW - timedelta(hours=3), times=4)
    [record] = observed(group("g", failures=(refusal(60),)), memory=old).unavailable
    assert (record.times, record.until) == (1, ago(60) + timedelta(seconds=300))
