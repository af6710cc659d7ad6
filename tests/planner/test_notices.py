"""What events told since the fleet was seen: instances that end are no room, those that AWS will take are emptied before."""

from datetime import datetime, timedelta

import msgspec
import pytest

from spillway.model.cluster import Node
from spillway.model.fleet import NodeGroup
from spillway.model.market import WHOLE, Ceiling, CeilingKind
from spillway.model.memory import Drain, Memory, Notice, Told
from spillway.model.plan import Plan
from tests.builders import NOW, ago, desired, group, instance, kept, node, plan_for, pod, policy, removed, reservation

LATER = NOW + timedelta(minutes=2)


def notice(told: Told, subject: str = "i-n1", at: datetime = NOW + timedelta(seconds=1), **fields: datetime) -> Notice:
    return Notice(region="us-east-1", subject=subject, told=told, at=at, **fields)


def told(*notices: Notice) -> Memory:
    return Memory(notices=notices)


def busy(*, count: int = 1, max_size: int = 10, **fields: object) -> tuple[Node | NodeGroup, ...]:
    """Nodes of group g, each with a pod that takes all of it."""
    nodes = [node(f"n{n}") for n in range(1, count + 1)]
    return (*nodes, group("g", nodes=nodes, max_size=max_size, **fields))  # type: ignore[arg-type]


def full(name: str = "n1") -> object:
    return pod(f"on-{name}", cpu="3", node=name)


def steps(plan: Plan) -> list[tuple[str, str]]:
    return [(step.node, step.why) for step in plan.scale_in]


@pytest.mark.feature("EV-07")
@pytest.mark.feature("SO-03")
def test_a_pod_on_an_instance_that_ends_goes_where_its_group_replaces_it() -> None:
    """FC-37: the group launches the successor by itself, so nothing is bought for the pod."""
    world = (*busy(count=2), full("n1"), full("n2"))
    plan = plan_for(*world, memory=told(notice(Told.GONE)))  # type: ignore[arg-type]

    assert desired(plan) == {}
    assert steps(plan) == [], "there is nothing left to drain"
    assert plan.summary.pods_unserved == 0
    assert kept(plan)["n1"] == "leaving"


@pytest.mark.feature("EV-07")
def test_a_pending_pod_does_not_go_to_a_node_whose_instance_ends() -> None:
    idle = busy(count=1, max_size=1)
    assert plan_for(*idle, pod("p", cpu="3")).summary.pods_on_free_room == 1
    gone = plan_for(*idle, pod("p", cpu="3"), memory=told(notice(Told.GONE)))
    assert (gone.summary.pods_on_free_room, gone.summary.pods_on_coming_nodes) == (0, 1)


@pytest.mark.feature("EV-07")
def test_a_fleet_that_was_seen_after_the_event_is_the_truth() -> None:
    plan = plan_for(*busy(max_size=1), pod("p", cpu="3"), memory=told(notice(Told.GONE, at=ago(1))))
    assert plan.summary.pods_on_free_room == 1


@pytest.mark.feature("EV-07")
def test_an_instance_that_we_end_ourselves_is_not_taken_for_one_that_its_group_replaces() -> None:
    drain = Drain(node="n1", plan_id="p", step=1, since=ago(60))
    memory = msgspec.structs.replace(told(notice(Told.GONE)), drains=(drain,))
    plan = plan_for(*busy(max_size=1), pod("p", cpu="3"), memory=memory)
    assert plan.summary.pods_on_coming_nodes == 0


@pytest.mark.feature("EV-07")
def test_an_instance_that_we_ended_since_the_fleet_was_seen_has_gone_with_its_share_of_desired() -> None:
    plan = plan_for(*busy(max_size=1), pod("p", cpu="3"), memory=told(notice(Told.ENDED)))
    assert (plan.summary.pods_on_coming_nodes, desired(plan)) == (0, {"g": 1})
    assert [(step.from_desired, step.to_desired) for step in plan.scale_out] == [(0, 1)]


@pytest.mark.feature("EV-07")
def test_a_machine_that_ec2_has_ended_and_its_group_not_yet_noticed_is_no_room() -> None:
    stopped = group("g", instances=[instance("n1", state="stopped")], max_size=1)
    plan = plan_for(node("n1"), stopped, pod("p", cpu="3"))
    assert (plan.summary.pods_on_free_room, plan.summary.pods_on_coming_nodes) == (0, 1)


@pytest.mark.feature("EV-07")
def test_an_instance_that_aws_will_take_is_emptied_before_and_its_pods_have_a_new_place() -> None:
    plan = plan_for(*busy(), full(), memory=told(notice(Told.ENDS, ends_at=LATER)))  # type: ignore[arg-type]

    (step,) = plan.scale_in
    assert (step.node, step.instance_id, step.why, step.deadline_s) == ("n1", "i-n1", "interrupted", 120)
    assert step.reason.text == "node n1 goes: AWS takes its instance i-n1 at 2026-01-01 00:02:00 UTC"
    assert desired(plan) == {"g": 2}


@pytest.mark.feature("EX-07")
@pytest.mark.parametrize(("deadline_s", "end"), [(3600, (120, "force")), (60, (60, "give_up"))])
def test_a_node_that_ends_with_its_instance_is_not_given_back_to_the_scheduler(deadline_s: int, end: tuple[int, str]) -> None:
    """Its last seconds would get new pods. Where the policy's deadline is sooner, there is time left for them."""
    rules = policy(drain={"deadline_s": deadline_s})
    (step,) = plan_for(*busy(), full(), memory=told(notice(Told.ENDS, ends_at=LATER)), rules=rules).scale_in  # type: ignore[arg-type]
    assert (step.deadline_s, step.at_deadline.value) == end


@pytest.mark.feature("EV-07")
def test_no_min_or_budget_keeps_a_node_that_goes_in_any_case() -> None:
    rules = policy(scale_in={"budgets": [{"nodes": 0}]})
    plan = plan_for(*busy(min_size=1), memory=told(notice(Told.ENDS, at=ago(30), ends_at=LATER)), rules=rules)
    assert steps(plan) == [("n1", "interrupted")]


@pytest.mark.feature("EV-07")
def test_its_going_counts_where_others_might_go_too() -> None:
    """Both were idle for long; the group keeps its min."""
    plan = plan_for(*busy(count=2, min_size=1), memory=told(notice(Told.ENDS, ends_at=LATER)), idle_since=ago(3600))
    assert steps(plan) == [("n1", "interrupted")]
    assert kept(plan)["n2"] == "at_min"


@pytest.mark.feature("EV-07")
@pytest.mark.parametrize("fields", [{"mode": "scale_out_only"}, {"mode": "off"}, {"groups": {"g": {"ignore": True}}}])
def test_what_the_policy_forbids_stays(fields: dict[str, object]) -> None:
    plan = plan_for(*busy(), memory=told(notice(Told.ENDS, ends_at=LATER)), rules=policy(**fields))
    assert removed(plan) == []


@pytest.mark.feature("EV-07")
def test_a_drain_that_is_under_way_is_not_begun_again() -> None:
    drain = Drain(node="n1", plan_id="p", step=1, since=ago(60))
    memory = msgspec.structs.replace(told(notice(Told.ENDS, ends_at=LATER)), drains=(drain,))
    assert removed(plan_for(*busy(), memory=memory)) == []


class TestABlock:
    def block(self, minutes: float, **fields: object) -> Ceiling:
        ends = NOW + timedelta(minutes=minutes)
        return reservation("cr-1", total=2, free=1, kind=CeilingKind.BLOCK, ends=ends, **fields)

    def members(self, reservation: str = "cr-1") -> tuple[Node, NodeGroup]:
        machine = instance("n1", reservation=reservation)
        return node("n1"), group("g", instances=[machine], draws=({"cr-1": WHOLE},))

    @pytest.mark.feature("EV-07")
    def test_that_is_about_to_end_has_its_nodes_emptied_before_aws_takes_them(self) -> None:
        """AWS begins to end its instances 30 minutes before its own end, and warns ten minutes earlier."""
        plan = plan_for(*self.members(), full(), ceilings=[self.block(40)])  # type: ignore[arg-type]
        (step,) = plan.scale_in
        assert (step.node, step.why, step.deadline_s) == ("n1", "interrupted", 600)
        assert desired(plan) == {}, "its own group has no room for a successor"

    @pytest.mark.feature("EV-07")
    def test_that_lasts_has_them_stay(self) -> None:
        assert steps(plan_for(*self.members(), full(), ceilings=[self.block(41)])) == []  # type: ignore[arg-type]

    @pytest.mark.feature("EV-07")
    def test_takes_no_node_of_another_reservation_and_a_plain_reservation_takes_none(self) -> None:
        """An On-Demand reservation that ends leaves its instances running."""
        assert steps(plan_for(*self.members("cr-2"), ceilings=[self.block(40)])) == []
        plain = reservation("cr-1", ends=NOW + timedelta(minutes=10))
        assert steps(plan_for(*self.members(), ceilings=[plain])) == []

    @pytest.mark.feature("EV-07")
    def test_that_was_delivered_since_the_fleet_was_seen_gives_room_now(self) -> None:
        scheduled = self.block(24 * 60, open=False, starts=NOW + timedelta(seconds=30))
        need = pod("p", cpu="3"), pod("q", cpu="3")
        assert desired(plan_for(*self.members(), *need, ceilings=[scheduled])) == {}
        delivered = notice(Told.DELIVERED, "cr-1", ends_at=NOW + timedelta(days=1))
        assert desired(plan_for(*self.members(), *need, memory=told(delivered), ceilings=[scheduled])) == {"g": 2}

    @pytest.mark.feature("EV-07")
    def test_whose_warning_is_newer_than_the_fleet_ends_as_it_says(self) -> None:
        warning = notice(Told.EXPIRES, "cr-1", ends_at=NOW + timedelta(minutes=40))
        assert steps(plan_for(*self.members(), memory=told(warning), ceilings=[self.block(600)])) == [("n1", "interrupted")]
