"""Scale in: an instance is ended by id, once, and desired is lowered to what lives, never below."""

from collections.abc import Iterator
from typing import Any

import pytest

from spillway.aws import clients
from spillway.aws.scaling import group as groups
from spillway.aws.table import leases, notices, outcomes, settings, snapshots
from spillway.errors import EventError, LeaseHeld, NotFound, PlanStale, Stopped
from spillway.model.fleet import FleetSnapshot, NodeGroup
from spillway.model.group_state import InstanceRefresh, ManagedNodeGroup
from spillway.model.memory import Notice, Told
from spillway.model.plan import Why
from tests.workflow.world import CLUSTER, HOME, REFUSE_S, World, grow, leave, lower, open_world


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


def terminate(world: World, step: int = 1) -> Any:
    return world.call("scale_in", action="terminate", region=HOME, step=step)


def confirm(world: World, step: int = 1) -> Any:
    return world.call("scale_in", action="confirm", region=HOME, step=step)


def give_back(world: World, *steps: int) -> Any:
    return world.call("scale_in", action="give_back", region=HOME, steps=list(steps))["given_back"]


@pytest.mark.feature("EX-08")
def test_ends_the_instance_and_lowers_desired_by_one(world: World) -> None:
    world.group(desired=3)
    gone, *rest = world.members()
    world.plan(leave(1, gone))

    assert terminate(world)["status"] == "ending"
    assert world.desired() == 2
    assert confirm(world)["status"] == "ending"
    world.clock.pass_s(31)
    assert confirm(world)["status"] == "gone"
    assert world.members() == rest


@pytest.mark.feature("EX-08")
@pytest.mark.feature("EX-10")
def test_an_instance_that_is_ending_is_not_ended_again(world: World) -> None:
    """FC-38: each further call would lower desired once more."""
    world.group(desired=3)
    world.plan(leave(1, world.members()[0]))

    assert [terminate(world)["status"] for _ in range(3)] == ["ending"] * 3
    assert world.desired() == 2
    world.clock.pass_s(31)
    assert terminate(world)["status"] == "gone"
    assert world.desired() == 2


@pytest.mark.feature("EX-08")
def test_a_group_at_its_minimum_keeps_the_instance(world: World) -> None:
    world.group(desired=2, low=2)
    world.plan(leave(1, world.members()[0]))

    refused = terminate(world)
    assert (refused["status"], refused["reason"]) == ("refused", "group us-east-1/a is at its minimum of 2")
    assert len(world.members()) == 2


@pytest.mark.feature("EV-07")
def test_that_we_ended_it_is_written_down_until_the_fleet_snapshot_shows_it(world: World) -> None:
    world.group(desired=3)
    gone = world.members()[0]
    world.plan(leave(1, gone))
    terminate(world)

    assert list(notices.known(world.table)) == [Notice(region=HOME, subject=gone, told=Told.ENDED, at=world.clock.now)]


@pytest.mark.feature("EV-07")
def test_what_aws_takes_in_any_case_is_ended_and_replaced_where_the_group_is_at_its_minimum(world: World) -> None:
    world.group(desired=2, low=2)
    gone = world.members()[0]
    protect = {"InstanceIds": [gone], "AutoScalingGroupName": "a", "ProtectedFromScaleIn": True}
    clients.client("autoscaling", HOME).set_instance_protection(**protect)
    world.policy(scale_in={"respect_protection": True})
    world.plan(leave(1, gone, why=Why.INTERRUPTED))

    assert terminate(world)["status"] == "ending"
    world.clock.pass_s(31)
    assert confirm(world)["status"] == "gone"
    assert (world.desired(), len(world.members())) == (2, 2)
    assert list(notices.known(world.table)) == [], "its group replaces it"


@pytest.mark.feature("EX-08")
def test_the_policys_minimum_holds_too(world: World) -> None:
    world.group(desired=2)
    world.policy(groups={"a": {"min": 2}})
    world.plan(leave(1, world.members()[0]))

    assert terminate(world)["status"] == "refused"
    assert world.desired() == 2


@pytest.mark.feature("EX-08")
def test_another_hand_that_took_the_group_to_its_minimum_meanwhile_is_no_error(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.group(desired=2, low=2)
    world.plan(leave(1, world.members()[0]))
    real = groups.read
    views = iter([{"min_size": 1}])  # what we read a moment ago

    def read(table: Any, region: str, name: str) -> Any:
        now = real(table, region, name)
        return groups.GroupNow(**{**vars(now), **next(views, {})})

    monkeypatch.setattr(groups, "read", read)
    answer = terminate(world)
    assert answer["status"] == "refused"
    assert "minSize (2)" in answer["reason"]


@pytest.mark.feature("SI-17")
def test_a_protected_instance_is_ended_unless_the_policy_respects_it(world: World) -> None:
    world.group(desired=2)
    first, second = world.members()
    clients.client("autoscaling", HOME).set_instance_protection(
        AutoScalingGroupName="a", InstanceIds=[first, second], ProtectedFromScaleIn=True
    )
    world.plan(leave(1, first), leave(2, second, node="n2"))

    assert terminate(world, 1)["status"] == "ending"
    world.policy(scale_in={"respect_protection": True})
    assert terminate(world, 2)["status"] == "refused"


@pytest.mark.feature("SI-16")
def test_an_instance_that_somebody_detached_is_left_alone(world: World) -> None:
    world.group(desired=2)
    first = world.members()[0]
    world.plan(leave(1, first))
    clients.client("autoscaling", HOME).detach_instances(
        AutoScalingGroupName="a", InstanceIds=[first], ShouldDecrementDesiredCapacity=True
    )

    answer = terminate(world)
    assert (answer["status"], world.desired()) == ("refused", 1)
    assert "no member of us-east-1/a any more" in answer["reason"]


def test_an_instance_that_ec2_no_longer_knows_is_gone(world: World) -> None:
    world.group(desired=1)
    world.plan(leave(1, "i-0123456789abcdef0"))

    assert terminate(world)["status"] == "gone"
    assert world.desired() == 1


def test_a_termination_whose_answer_was_lost_is_found_under_way(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.group(desired=3)
    world.plan(leave(1, world.members()[0]))
    real = groups.terminate

    def lost(*args: Any, **fields: Any) -> None:
        real(*args, **fields)
        raise RuntimeError("the runtime was killed")

    with monkeypatch.context() as patch:
        patch.setattr(groups, "terminate", lost)
        with pytest.raises(RuntimeError):
            terminate(world)

    assert terminate(world)["status"] == "ending"
    assert world.desired() == 2


def test_waits_for_whoever_writes_to_the_group(world: World) -> None:
    world.group(desired=3)
    world.plan(leave(1, world.members()[0]))

    with leases.group(world.table, HOME, "a", "p0#1#0"), pytest.raises(LeaseHeld):
        terminate(world)
    assert world.desired() == 3


@pytest.mark.feature("EX-13")
@pytest.mark.parametrize("mode", ["off", "dry_run", "scale_out_only"])
def test_a_mode_that_forbids_it_ends_nothing(world: World, mode: str) -> None:
    world.group(desired=3)
    world.plan(leave(1, world.members()[0]))
    world.policy(mode=mode)

    with pytest.raises(Stopped, match=mode):
        terminate(world)
    assert world.desired() == 3


def test_an_instance_that_nobody_ended_is_not_waited_for(world: World) -> None:
    """A call to end it that failed, or whose answer was lost: the group tells which."""
    world.group(desired=3)
    world.plan(leave(1, world.members()[0]))
    settings.stop(world.table, by="ann", reason="")

    answer = confirm(world)
    assert answer["status"] == "refused"
    assert "group us-east-1/a keeps i-" in answer["reason"]
    assert "it is InService" in answer["reason"]


def test_keeps_the_nodes_lease_for_as_long_as_the_end_takes(world: World) -> None:
    world.group(desired=3)
    world.plan(leave(1, world.members()[0]))
    for call in (terminate, confirm):
        call(world)
        world.clock.pass_s(leases.DRAIN_LEASE_S - 1)
        with pytest.raises(LeaseHeld, match="node n1 is being written by p1#1"):
            leases.drain(world.table, "n1", "p2", 1)


def test_a_node_that_another_plan_has_by_now_is_left_to_it(world: World) -> None:
    world.group(desired=3)
    world.plan(leave(1, world.members()[0]))
    leases.drain(world.table, "n1", "p2", 1)

    for call in (terminate, confirm):
        with pytest.raises(LeaseHeld, match="node n1 is being written by p2#1"):
            call(world)
    assert world.desired() == 3


def test_an_instance_that_went_back_to_a_warm_pool_is_gone(world: World) -> None:
    world.group(desired=3)
    first = world.members()[0]
    world.plan(leave(1, first))
    clients.client("autoscaling", HOME).detach_instances(
        AutoScalingGroupName="a", InstanceIds=[first], ShouldDecrementDesiredCapacity=True
    )
    assert confirm(world)["status"] == "ending"
    clients.client("ec2", HOME).stop_instances(InstanceIds=[first])

    assert confirm(world)["status"] == "gone"


@pytest.mark.feature("EX-13")
def test_what_is_ending_is_followed_to_its_end_also_when_all_is_stopped(world: World) -> None:
    world.group(desired=3)
    world.plan(leave(1, world.members()[0]))
    terminate(world)
    settings.stop(world.table, by="ann", reason="")
    world.clock.pass_s(31)

    assert confirm(world)["status"] == "gone"


class TestGiveBack:
    def phantoms(self, world: World) -> None:
        """FC-26: desired 5, three real instances, two that EC2 has not."""
        world.group(desired=3, low=1, high=5)
        world.capacity(HOME, 0)
        world.set_desired(5)
        world.clock.pass_s(REFUSE_S + 1)

    def test_lowers_desired_to_the_real_instances_and_ends_none(self, world: World) -> None:
        self.phantoms(world)
        before = world.members()
        world.plan(lower(1, 5, 3))

        assert give_back(world, 1) == 2
        assert (world.desired(), world.members()) == (3, before)
        assert world.outcomes() == [(1, 0, "done")]

    @pytest.mark.parametrize("mode", ["scale_in_only", "scale_out_only"])
    def test_a_mode_of_one_way_allows_it(self, world: World, mode: str) -> None:
        self.phantoms(world)
        world.policy(mode=mode)
        world.plan(lower(1, 5, 3))

        assert give_back(world, 1) == 2

    @pytest.mark.feature("EX-13")
    @pytest.mark.parametrize("mode", ["off", "dry_run"])
    def test_a_mode_that_changes_nothing_forbids_it(self, world: World, mode: str) -> None:
        self.phantoms(world)
        world.policy(mode=mode)
        world.plan(lower(1, 5, 3))

        with pytest.raises(Stopped, match=f"{mode} allows no give back"):
            give_back(world, 1)
        assert world.desired() == 5

    def test_a_second_delivery_lowers_nothing(self, world: World) -> None:
        self.phantoms(world)
        world.plan(lower(1, 5, 3))

        assert [give_back(world, 1) for _ in range(2)] == [2, 0]

    def test_one_that_was_written_and_not_told_is_told(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.phantoms(world)
        world.plan(lower(1, 5, 3))
        with monkeypatch.context() as patch:
            patch.setattr(outcomes, "put", raises)
            with pytest.raises(RuntimeError):
                give_back(world, 1)

        assert give_back(world, 1) == 0
        assert (world.desired(), world.outcomes()) == (3, [(1, 0, "done")])

    @pytest.mark.feature("EX-02")
    def test_writes_nothing_when_desired_is_not_what_the_plan_saw(self, world: World) -> None:
        self.phantoms(world)
        world.plan(lower(1, 5, 3))
        world.set_desired(4)

        assert give_back(world, 1) == 0
        assert (world.desired(), world.outcomes()) == (4, [(1, 0, "changed")])

    @pytest.mark.feature("EX-01")
    def test_a_stale_plan_lowers_nothing(self, world: World) -> None:
        self.phantoms(world)
        world.plan(lower(1, 5, 3))
        world.clock.pass_s(600)

        with pytest.raises(PlanStale, match="p1 is 600 s old"):
            give_back(world, 1)
        assert world.desired() == 5

    def test_an_instance_that_came_after_all_is_kept(self, world: World) -> None:
        self.phantoms(world)
        world.plan(lower(1, 5, 3))
        world.capacity(HOME, 1)
        world.clock.pass_s(60)

        assert give_back(world, 1) == 1
        assert (world.desired(), len(world.members())) == (4, 4)

    def test_one_bad_group_does_not_stop_the_others(self, world: World) -> None:
        self.phantoms(world)
        world.group("b", desired=1)
        world.plan(lower(1, 1, 0, group="b"), lower(2, 5, 3), lower(3, 2, 1, group="gone"))

        with leases.group(world.table, HOME, "b", "p0#1#0"), pytest.raises(LeaseHeld, match="us-east-1/b"):
            give_back(world, 1, 2, 3)
        assert world.desired() == 3
        assert world.outcomes() == [(2, 0, "done"), (3, 0, "changed")]


@pytest.mark.parametrize(
    ("event", "field"),
    [({"action": "end"}, "action"), ({"action": "terminate", "region": HOME}, "step"), ({"action": "give_back"}, "steps")],
)
def test_a_wrong_event_names_its_fields(world: World, event: dict[str, Any], field: str) -> None:
    with pytest.raises(EventError, match=field):
        world.call("scale_in", **event)


def test_an_unknown_step_is_not_found(world: World) -> None:
    world.plan(grow())
    with pytest.raises(NotFound, match="p1#1"):
        terminate(world)


def raises(*args: object) -> None:
    raise RuntimeError("the runtime was killed")


class TestHooks:
    def hook(self, world: World, name: str, timeout_s: int = 3600, transition: str = "EC2_INSTANCE_TERMINATING") -> None:
        clients.client("autoscaling", HOME).put_lifecycle_hook(
            AutoScalingGroupName="a", LifecycleHookName=name, LifecycleTransition=f"autoscaling:{transition}",
            HeartbeatTimeout=timeout_s, DefaultResult="CONTINUE",
        )  # fmt: skip

    def held(self, world: World, *hooks: str) -> str:
        """An instance that these hold, ended by us."""
        world.group(desired=3)
        for name in hooks:
            self.hook(world, name)
        gone = world.members()[0]
        world.plan(leave(1, gone))
        terminate(world)
        world.clock.pass_s(60)
        return gone

    @pytest.mark.feature("EX-08")
    @pytest.mark.feature("EX-10")
    def test_an_instance_that_a_hook_holds_is_not_ended_again(self, world: World) -> None:
        """FC-38: desired would go down with each call."""
        self.held(world, "ship-logs")
        assert [terminate(world)["status"] for _ in range(3)] == ["ending"] * 3
        assert (world.desired(), len(world.members())) == (2, 3)

    @pytest.mark.feature("EX-08")
    def test_a_hook_that_waits_for_the_drain_alone_is_completed(self, world: World) -> None:
        gone = self.held(world, "spillway-drain")
        self.hook(world, "spillway-launch", transition="EC2_INSTANCE_LAUNCHING")

        assert confirm(world)["reason"] == f"{gone} is Terminating:Wait"
        world.clock.pass_s(31)
        assert confirm(world)["status"] == "gone"

    @pytest.mark.feature("EX-08")
    def test_somebody_elses_hook_is_waited_for_and_named(self, world: World) -> None:
        gone = self.held(world, "spillway", "ship-logs")

        for _ in range(2):
            answer = confirm(world)
            assert (answer["status"], answer["reason"]) == ("ending", f"{gone} is Terminating:Wait, held by ship-logs")
        world.clock.pass_s(3600)
        world.clock.pass_s(31)
        assert confirm(world)["status"] == "gone"

    @pytest.mark.feature("EX-08")
    def test_the_policy_names_which_hooks_those_are(self, world: World) -> None:
        self.held(world, "nth-drain")
        world.policy(drain={"complete_hooks": ["nth-*"]})
        confirm(world)
        world.clock.pass_s(31)
        assert confirm(world)["status"] == "gone"

    @pytest.mark.feature("EX-08")
    def test_an_instance_that_never_joined_is_let_go_as_well(self, world: World) -> None:
        world.group(desired=3)
        self.hook(world, "spillway-drain")
        world.plan(leave(1, world.members()[0], node="", why=Why.UNREGISTERED))
        assert terminate(world)["status"] == "ending"
        confirm(world)
        world.clock.pass_s(31)
        assert confirm(world)["status"] == "gone"
        assert world.desired() == 2

    def test_a_broken_policy_holds_no_instance(self, world: World) -> None:
        self.held(world, "spillway")
        world.table.put("POLICY#99999999", {"body": '{"mode": "sideways"}'})
        confirm(world)
        world.clock.pass_s(31)
        assert confirm(world)["status"] == "gone"


class TestWhatHasBegunSince:
    """The newest view of the fleet is asked once more before the instance ends."""

    def known(self, world: World, **fields: Any) -> None:
        world.group(desired=3)
        world.plan(leave(1, world.members()[0]))
        group = NodeGroup(region=HOME, name="a", min_size=0, max_size=10, desired=3, **fields)
        snapshots.store_fleet(
            world.table, FleetSnapshot(cluster=CLUSTER, home_region=HOME, taken_at=world.clock.now, groups=(group,))
        )

    @pytest.mark.feature("SI-17")
    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            ({"refresh": InstanceRefresh(id="r1", status="InProgress", percent=40)}, "an instance refresh (r1) is InProgress"),
            ({"managed": ManagedNodeGroup(name="ng", status="UPDATING")}, "EKS node group ng is UPDATING"),
        ],
    )
    def test_a_group_that_somebody_changes_as_a_whole_is_left_alone(
        self, world: World, fields: dict[str, Any], text: str
    ) -> None:
        self.known(world, **fields)

        answer = terminate(world)
        assert (answer["status"], world.desired()) == ("refused", 3)
        assert answer["reason"].startswith(f"group us-east-1/a is left alone: {text}")

    @pytest.mark.feature("SI-17")
    def test_once_it_is_done_the_instance_ends(self, world: World) -> None:
        self.known(world, managed=ManagedNodeGroup(name="ng", status="ACTIVE"))
        assert terminate(world)["status"] == "ending"

    @pytest.mark.feature("SI-16")
    def test_a_group_that_the_policy_ignores_by_now_is_left_alone(self, world: World) -> None:
        self.known(world)
        world.policy(groups={"a": {"ignore": True}})
        assert (terminate(world)["reason"], world.desired()) == ("group us-east-1/a is one that the policy ignores", 3)
