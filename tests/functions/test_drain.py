"""A drain from its begin to its end: what it does to a node, and what it leaves when it is given up."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from spillway.aws import memo
from spillway.aws.table import leases, outcomes, settings
from spillway.errors import (
    ClusterForbidden,
    ClusterUnavailable,
    EventError,
    LeaseHeld,
    NotFound,
    PlanStale,
    PolicyError,
    Stopped,
)
from spillway.model.plan import AtDeadline, Eviction, OutcomeStatus, ScaleOut, Why
from spillway.model.reason import Code, Reason
from tests.kube.handlers import World, open_handlers, samples, scale_in
from tests.kube.objects import budget, daemon_of, node, pod

MARKER = "spillway.io/cordoned"


@pytest.fixture
def world() -> Iterator[World]:
    with open_handlers() as opened:
        opened.api.add(node("n1"))
        yield opened


def running(name: str, **more: Any) -> dict[str, Any]:
    one = pod(name, node="n1", **more)
    one["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return one


def allows_none(**labels: str) -> dict[str, Any]:
    one = budget(**labels)
    one["spec"] = {"minAvailable": 1, "selector": one["spec"]["selector"]}
    return one


def begin(world: World) -> dict[str, Any]:
    return world.call("drain", action="begin", step=1)


def evict(world: World) -> dict[str, Any]:
    return world.call("drain", action="evict", step=1)


def abandon(world: World, reason: str = "somebody asked") -> dict[str, Any]:
    return world.call("drain", action="abandon", step=1, reason=reason)


def untouched(world: World) -> bool:
    found = world.node()
    return MARKER not in world.labels() and not found["spec"].get("unschedulable") and not found["spec"].get("taints")


class TestBegin:
    def test_an_empty_node_is_cordoned_and_marked_and_leased(self, world: World):
        world.api.add(running("agent", ownerReferences=daemon_of()))
        world.plan(scale_in=(scale_in(),))

        assert begin(world) == {"status": "draining", "settle_s": 5, "volumes": False, "reason": ""}

        assert world.labels()[MARKER] == "p1"
        assert world.node()["spec"]["unschedulable"] is True
        assert [(drain.node, drain.plan_id, drain.step) for drain in leases.drains(world.table)] == [("n1", "p1", 1)]

    def test_a_retry_changes_nothing(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)
        before = world.node()

        assert begin(world)["status"] == "draining"
        assert world.node() == before

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (lambda world: world.api.add(running("web-0")), "node n1 runs default/web-0, which the plan did not know"),
            (lambda world: world.api.remove("Node", "n1"), "node n1 is gone"),
            (
                lambda world: world.api.edit("Node", "n1", lambda one: one["spec"].update(unschedulable=True)),
                "node n1 was cordoned by somebody else",
            ),
            (
                lambda world: world.api.edit("Node", "n1", lambda one: one["spec"].update(providerID="aws:///us-east-1a/i-0b")),
                "node n1 is i-0b now, the plan meant i-0a",
            ),
        ],
        ids=["a pod has come", "gone", "cordoned by a person", "another instance"],
    )
    def test_a_node_that_is_not_what_the_plan_saw_is_left_alone(self, world: World, change, reason):
        world.plan(scale_in=(scale_in(),))
        change(world)
        before = world.api.get("Node", "n1")

        answer = begin(world)
        assert (answer["status"], answer["reason"]) == ("abandoned", reason)

        assert world.api.get("Node", "n1") == before
        assert list(leases.drains(world.table)) == []
        told = outcomes.get(world.table, "p1", 1)
        assert told is not None
        assert (told.status, told.reason) == (OutcomeStatus.CHANGED, reason)

    @pytest.mark.feature("CS-07")
    @pytest.mark.parametrize(("age_s", "status"), [(60, "draining"), (-60, "abandoned")])
    def test_a_node_that_does_not_say_what_it_is_must_be_older_than_the_plan(self, world: World, age_s: int, status: str):
        """The plan knew it by its DNS name, and so may another machine be called by now."""
        world.plan(scale_in=(scale_in(),))
        created = (world.time.now() - timedelta(seconds=age_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
        world.api.remove("Node", "n1")
        world.api.add(node("n1", spec={"providerID": None}, creationTimestamp=created))

        assert begin(world)["status"] == status

    @pytest.mark.feature("EX-09")
    def test_a_retry_that_finds_a_new_pod_takes_its_own_cordon_back(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)
        world.api.add(running("web-0"))

        assert begin(world)["status"] == "abandoned"
        assert untouched(world)

    def test_a_node_that_another_plan_drains_is_not_touched(self, world: World):
        world.plan(scale_in=(scale_in(),))
        leases.node(world.table, "n1", "p0", 7, world.time.now() + timedelta(seconds=60))

        with pytest.raises(LeaseHeld, match="node n1 is being written by p0#7"):
            begin(world)
        assert untouched(world)

    @pytest.mark.feature("EX-01")
    def test_an_old_plan_starts_nothing(self, world: World):
        world.plan(scale_in=(scale_in(),), created_at=world.time.now() - timedelta(seconds=181))

        with pytest.raises(PlanStale, match="181 s old, 180 s are allowed"):
            begin(world)
        assert untouched(world)

    @pytest.mark.feature("EX-13")
    @pytest.mark.parametrize("mode", ["off", "dry_run", "scale_out_only"])
    def test_a_mode_that_allows_no_scale_in_starts_nothing(self, world: World, mode: str):
        world.plan(scale_in=(scale_in(),))
        settings.put_policy(world.table, {"mode": mode}, by="test")

        with pytest.raises(Stopped, match=mode):
            begin(world)
        assert untouched(world)

    @pytest.mark.feature("SI-13")
    def test_an_instance_that_never_joined_needs_no_drain(self, world: World):
        world.plan(scale_in=(scale_in(node="", instance_id="i-0new", why=Why.UNREGISTERED),))

        assert begin(world)["status"] == "draining"
        assert evict(world)["status"] == "empty"
        assert untouched(world)

    def test_a_step_that_has_ended_does_not_begin_again(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)
        abandon(world)

        assert begin(world)["reason"] == "the step has ended before: somebody asked"
        assert untouched(world)

    def test_a_step_that_has_ended_lets_its_node_go(self, world: World):
        """Whoever wrote the outcome died before it released the lease."""
        world.plan(scale_in=(scale_in(),))
        begin(world)
        abandon(world)
        leases.drain(world.table, "n1", "p1", 1)

        begin(world)
        assert list(leases.drains(world.table)) == []

    @pytest.mark.parametrize("status", [500, 503])
    def test_a_server_that_fails_leaves_the_node_as_it_was(self, world: World, status: int):
        world.plan(scale_in=(scale_in(),))
        world.api.fail("patch", "nodes", status, times=99)

        with pytest.raises(ClusterUnavailable):
            begin(world)
        assert untouched(world)


class TestEvict:
    def test_an_empty_node_is_empty(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)

        answer = evict(world)
        assert (answer["status"], answer["reason"], answer["told"]) == ("empty", "no pod holds node n1", "")

    @pytest.mark.feature("EX-07")
    def test_a_pod_that_lands_between_look_and_taint_ends_the_drain(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)
        world.api.add(running("web-0"))

        answer = evict(world)

        assert answer["status"] == "abandoned"
        assert answer["reason"] == "node n1 runs default/web-0, which the plan did not know"
        assert world.api.get("Pod", "web-0", "default")["metadata"].get("deletionTimestamp") is None

    @pytest.mark.feature("EX-07")
    def test_lower_tiers_go_first_and_the_next_waits_until_they_are_gone(self, world: World):
        for name, priority in (("low", 0), ("high", 100)):
            world.api.add(running(name, spec={"priority": priority}))
        tiers = (Eviction(pod="default/low", tier=0), Eviction(pod="default/high", tier=1))
        world.plan(scale_in=(scale_in(why=Why.UNDERUTILISED, evict=tiers),))
        begin(world)

        assert (evict(world)["status"], evict(world)["evicted"]) == ("waiting", 0)
        assert leaving(world) == ["low"]
        world.api.remove("Pod", "low", "default")
        evict(world)
        assert leaving(world) == ["high"]
        world.api.remove("Pod", "high", "default")
        assert evict(world)["status"] == "empty"

    def test_filler_pods_keep_no_node_and_are_asked_to_go(self, world: World):
        world.api.add(running("filler", spec={"priority": -100}))
        world.plan(scale_in=(scale_in(),))

        assert begin(world)["status"] == "draining"
        assert evict(world)["evicted"] == 1

    def test_a_budget_makes_it_wait_and_is_named(self, world: World):
        world.api.add(running("web", labels={"app": "web"}))
        world.api.add(allows_none(app="web"))
        world.plan(scale_in=(scale_in(why=Why.UNDERUTILISED, evict=(Eviction(pod="default/web", tier=0),)),))
        begin(world)

        answer = evict(world)

        assert (answer["status"], answer["wait_s"]) == ("waiting", 10)
        assert "default/web waits: Cannot evict pod" in answer["reason"]

    @pytest.mark.feature("EX-07")
    def test_the_policy_cuts_a_long_grace(self, world: World):
        settings.put_policy(world.table, {"drain": {"max_grace_s": 45}}, by="test")
        world.api.add(running("web", spec={"terminationGracePeriodSeconds": 86400}))
        world.plan(scale_in=(scale_in(why=Why.UNDERUTILISED, evict=(Eviction(pod="default/web", tier=0),)),))
        begin(world)
        evict(world)

        assert world.api.get("Pod", "web", "default")["metadata"]["deletionGracePeriodSeconds"] == 45

    def test_a_node_that_a_dead_run_left_waits_for_no_pod_and_no_budget(self, world: World):
        """Its kubelet answers no more, so that its pods never go by themselves."""
        world.api.add(running("web", labels={"app": "web"}))
        world.api.add(allows_none(app="web"))
        world.plan(scale_in=(scale_in(group="", why=Why.VANISHED),))
        begin(world)

        answer = evict(world)
        assert (answer["status"], answer["evicted"]) == ("empty", 0)
        assert leaving(world) == []

    def test_a_node_that_somebody_gave_back_is_not_drained(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)
        world.api.edit("Node", "n1", lambda one: one["metadata"]["labels"].pop(MARKER))

        assert (evict(world)["status"], evict(world)["reason"]) == (
            "abandoned",
            "node n1 is no longer cordoned by this plan: somebody gave it back",
        )

    def test_a_node_that_went_by_itself_is_empty(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)
        world.api.remove("Node", "n1")

        assert evict(world)["status"] == "empty"

    @pytest.mark.parametrize(("at_deadline", "status"), [(AtDeadline.GIVE_UP, "deadline"), (AtDeadline.FORCE, "empty")])
    @pytest.mark.feature("EX-07")
    def test_the_deadline_counts_from_the_begin(self, world: World, at_deadline: AtDeadline, status: str):
        world.api.add(running("web", labels={"app": "web"}))
        world.api.add(allows_none(app="web"))
        step = scale_in(
            why=Why.UNDERUTILISED, evict=(Eviction(pod="default/web", tier=0),), deadline_s=120, at_deadline=at_deadline
        )
        world.plan(scale_in=(step,))
        begin(world)

        world.pass_s(115)
        assert (evict(world)["status"], evict(world)["wait_s"]) == ("waiting", 5)
        world.pass_s(5)
        answer = evict(world)

        assert answer["status"] == status
        assert "after 120 s node n1 still runs 1 pod: default/web" in answer["reason"]

    def test_a_dying_machine_is_emptied_of_all_pods(self, world: World):
        world.api.add(running("web"))
        world.plan(scale_in=(scale_in(why=Why.INTERRUPTED),))
        begin(world)

        assert evict(world)["evicted"] == 1

    @pytest.mark.feature("EX-13")
    def test_a_thrown_switch_stops_it(self, world: World):
        world.api.add(running("web"))
        world.plan(scale_in=(scale_in(why=Why.INTERRUPTED),))
        begin(world)
        settings.stop(world.table, by="ann", reason="incident 7")

        with pytest.raises(Stopped, match=r"ann threw the switch \(incident 7\)"):
            evict(world)
        assert leaving(world) == []

    def test_a_missing_permission_evicts_nobody(self, world: World):
        world.api.add(running("web"))
        world.plan(scale_in=(scale_in(why=Why.INTERRUPTED),))
        begin(world)
        world.api.allow([("get", "nodes"), ("list", "pods")])

        with pytest.raises(ClusterForbidden, match="create pods/eviction"):
            evict(world)
        assert leaving(world) == []


class TestAbandon:
    @pytest.mark.feature("EX-09")
    def test_it_leaves_no_trace_and_says_why(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)

        assert abandon(world)["status"] == "abandoned"

        assert untouched(world)
        assert list(leases.drains(world.table)) == []
        told = outcomes.get(world.table, "p1", 1)
        assert told is not None
        assert (told.status, told.reason, told.node) == (OutcomeStatus.ABANDONED, "somebody asked", "n1")

    @pytest.mark.feature("EX-09")
    def test_twice_is_as_good_as_once(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)
        abandon(world, "first")
        abandon(world, "second")

        told = outcomes.get(world.table, "p1", 1)
        assert told is not None
        assert told.reason == "first"

    @pytest.mark.feature("EX-09")
    def test_what_another_plan_does_to_the_node_is_not_undone(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)
        world.api.edit("Node", "n1", lambda one: one["metadata"]["labels"].update({MARKER: "p2"}))
        leases.release_node(world.table, "n1", "p1", 1)
        leases.node(world.table, "n1", "p2", 4, world.time.now() + timedelta(seconds=60))

        abandon(world)

        assert world.labels()[MARKER] == "p2"
        assert [drain.plan_id for drain in leases.drains(world.table)] == ["p2"]

    def test_a_thrown_switch_does_not_keep_a_node_cordoned(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)
        settings.stop(world.table, by="ann", reason="night")

        abandon(world)

        assert untouched(world)
        told = outcomes.get(world.table, "p1", 1)
        assert told is not None
        assert told.status == OutcomeStatus.STOPPED

    def test_a_broken_policy_does_not_keep_a_node_cordoned(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)
        world.table.put("POLICY#99999999", {"body": '{"mode": "sideways"}'})
        with pytest.raises(PolicyError):
            evict(world)

        abandon(world)
        assert untouched(world)

    @pytest.mark.feature("EX-09")
    def test_a_server_that_is_down_keeps_the_lease_so_that_the_next_plan_sweeps(self, world: World):
        world.plan(scale_in=(scale_in(),))
        begin(world)
        world.api.fail("patch", "nodes", 503, times=99)

        with pytest.raises(ClusterUnavailable):
            abandon(world)
        assert [drain.node for drain in leases.drains(world.table)] == ["n1"]
        assert outcomes.get(world.table, "p1", 1) is None


class TestUncordon:
    @pytest.fixture
    def ours(self, world: World) -> World:
        """n1 and n2 carry the marker of a plan that is over."""
        world.api.add(node("n2", instance="i-0b"))
        world.plan(scale_in=(scale_in(),))
        begin(world)
        world.api.edit("Node", "n2", lambda one: one["metadata"].update(labels={MARKER: "p0"}))
        leases.release_node(world.table, "n1", "p1", 1)
        reason = Reason(code=Code.UNSCHEDULABLE_PODS, text="3 pods need a node")
        step = {"region": "us-east-1", "group": "a", "from_desired": 2, "to_desired": 2, "nodes": 0, "reason": reason}
        world.table.delete("PLAN#p1")
        memo.clear()
        world.plan(
            scale_out=(ScaleOut(step=1, uncordon=("n1", "gone"), **step), ScaleOut(step=2, uncordon=("n2",), **step)),
        )
        return world

    @pytest.mark.feature("SO-04")
    def test_only_nodes_of_the_steps_come_back(self, ours: World):
        answer = ours.call("drain", action="uncordon", region="us-east-1", steps=[1])

        assert answer == {"uncordoned": ["n1"], "kept": []}
        assert untouched(ours)
        assert ours.labels("n2")[MARKER] == "p0"
        assert list(leases.drains(ours.table)) == []

    @pytest.mark.feature("EX-01")
    def test_an_old_plan_gives_nothing_back(self, ours: World):
        ours.pass_s(181)

        with pytest.raises(PlanStale):
            ours.call("drain", action="uncordon", region="us-east-1", steps=[1, 2])
        assert ours.labels("n1")[MARKER] == "p1"

    def test_a_node_whose_drain_is_under_way_is_kept_and_the_others_come_back(self, ours: World):
        leases.node(ours.table, "n1", "p9", 3, ours.time.now() + timedelta(seconds=60))

        answer = ours.call("drain", action="uncordon", region="us-east-1", steps=[1, 2])

        assert answer["uncordoned"] == ["n2"]
        assert [kept["node"] for kept in answer["kept"]] == ["n1"]
        assert ours.labels("n1")[MARKER] == "p1"


class TestEvents:
    @pytest.mark.parametrize(
        ("event", "field"),
        [
            ({"action": "begin"}, "step"),
            ({"action": "begin", "step": "first"}, "step"),
            ({"action": "explode", "step": 1}, "event"),
            ({"step": 1}, "event"),
            ({"action": "uncordon", "region": "us-east-1"}, "steps"),
        ],
    )
    def test_a_wrong_event_names_its_fields(self, world: World, event: dict[str, Any], field: str):
        with pytest.raises(EventError, match=field):
            world.call("drain", **event)

    def test_a_step_that_the_plan_has_not_is_an_error(self, world: World):
        world.plan()

        with pytest.raises(NotFound, match="p1#1"):
            begin(world)

    def test_a_plan_that_the_table_has_not_is_an_error(self, world: World):
        with pytest.raises(NotFound, match="plan p1"):
            begin(world)

    @pytest.mark.feature("OP-03")
    @pytest.mark.parametrize("case", samples("drain"))
    def test_sample_events_are_accepted(self, world: World, case: str):
        world.plan(scale_in=(scale_in(),))
        if case == "evict":
            begin(world)

        assert world.call("drain", **samples("drain")[case])


def leaving(world: World) -> list[str]:
    return [one["metadata"]["name"] for one in world.api.objects("Pod") if "deletionTimestamp" in one["metadata"]]
