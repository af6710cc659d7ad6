"""What must survive between ticks, and who may write it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from spillway.aws import clients
from spillway.aws.table import events, keys, leases, memory, outcomes, plans, requests, settings, ticks, waits
from spillway.errors import LeaseHeld, NotFound, PolicyError
from spillway.model.memory import Memory, NodeMemory, OpenRequest, RequestState, Unavailable
from spillway.model.plan import Kept, Outcome, OutcomeStatus, Placement, Plan, ScaleOut, Summary
from spillway.model.reason import Code, Reason
from tests.workflow.world import CLUSTER, HOME, NOW, World, open_world

WHY = Reason(code=Code.UNSCHEDULABLE_PODS, text="2 pods need a node")


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


def plan(plan_id: str = "p1", **fields: Any) -> Plan:
    return Plan(
        plan_id=plan_id, cluster=CLUSTER, created_at=NOW, policy_version="0", snapshots=("h1",), summary=Summary(), **fields
    )


def step(**fields: Any) -> ScaleOut:
    return ScaleOut(
        **{"step": 1, "region": HOME, "group": "a", "from_desired": 1, "to_desired": 3, "nodes": 2, "reason": WHY, **fields}
    )


def request(hop: int = 0, **fields: Any) -> OpenRequest:
    given = {"id": f"p1#1#{hop}", "plan_id": "p1", "step": 1, "hop": hop, "region": HOME, "group": "a", "from_desired": 1}
    return OpenRequest(**{**given, "to_desired": 3, "nodes": 2, "asked_at": NOW, **fields})


class TestPlans:
    def test_a_plan_is_stored_once_and_read_back(self, world: World) -> None:
        stored = plan(scale_out=(step(),))

        assert plans.put(world.table, stored)
        assert not plans.put(world.table, stored)
        assert plans.get(world.table, "p1") == stored == plans.latest(world.table)

    def test_without_steps_the_summary_stays_and_the_newest_keeps_its_reasons(self, world: World) -> None:
        idle = plan(kept=(Kept(node="n", reason=WHY),))
        plans.put(world.table, idle)

        assert plans.get(world.table, "p1").kept == ()
        assert plans.latest(world.table) == idle

    def test_a_plan_over_400_kb_is_stored_in_parts(self, world: World) -> None:
        places = tuple(
            Placement(target=f"{n * 2654435761 % 2**64:x}", shape=f"{n * 40503 % 2**61:x}", first=n, pods=1)
            for n in range(60_000)
        )
        large = plan(scale_out=(step(),), placements=places)
        plans.put(world.table, large)

        assert "parts" in (world.table.get(keys.plan("p1")) or {})
        assert plans.get(world.table, "p1") == large

    def test_an_older_plan_is_never_the_latest(self, world: World) -> None:
        plans.put(world.table, msgspec.structs.replace(plan("new"), created_at=NOW + timedelta(seconds=1)))
        plans.put(world.table, plan("old"))

        assert plans.latest(world.table).plan_id == "new"

    def test_an_unknown_plan_is_not_found(self, world: World) -> None:
        with pytest.raises(NotFound, match="p9"):
            plans.get(world.table, "p9")


class TestRequests:
    def test_a_request_is_made_once_whatever_became_of_it(self, world: World) -> None:
        assert requests.create(world.table, request())
        closed = request(state=RequestState.READY, ready=2)
        assert requests.advance(world.table, request(), closed)

        assert not requests.create(world.table, request())
        assert requests.get(world.table, "p1#1#0") == closed

    def test_a_request_that_changed_meanwhile_is_not_overwritten(self, world: World) -> None:
        requests.create(world.table, request())
        requests.advance(world.table, request(), request(ready=1))

        assert not requests.advance(world.table, request(), request(state=RequestState.REFUSED, missing=2))
        assert requests.of_plan(world.table, "p1") == (request(ready=1),)

    def test_only_open_ones_are_remembered_and_never_expire(self, world: World) -> None:
        requests.create(world.table, request(0))
        requests.create(world.table, request(1, state=RequestState.REFUSED))

        assert [one.id for one in requests.live(world.table)] == ["p1#1#0"]
        assert keys.TTL not in (world.table.get(keys.request("p1#1#0")) or {})
        assert keys.TTL in (world.table.get(keys.request("p1#1#1")) or {})

    def test_a_write_under_a_lost_lease_fails(self, world: World) -> None:
        with leases.group(world.table, HOME, "a", "p1#1#0") as lost:
            world.clock.pass_s(leases.GROUP_LEASE_S + 1)
            with leases.group(world.table, HOME, "a", "p2#1#0") as held:
                assert not requests.create(world.table, request(), lost)
                assert requests.create(world.table, request(), held)


class TestLeases:
    def test_a_group_has_one_writer_even_when_the_same_task_comes_twice(self, world: World) -> None:
        with leases.group(world.table, HOME, "a", "p1#1#0"):
            with pytest.raises(LeaseHeld, match=r"group us-east-1/a .* p1#1#0"), leases.group(world.table, HOME, "a", "p1#1#0"):
                pass
            with leases.group(world.table, "us-west-2", "a", "p1#1#0"):
                pass
        with leases.group(world.table, HOME, "a", "p2#1#0") as lease:
            assert lease.token == 2

    def test_a_group_whose_writer_died_is_free_after_a_minute(self, world: World) -> None:
        context = leases.group(world.table, HOME, "a", "dead")
        first = context.__enter__()
        world.clock.pass_s(60.1)

        with leases.group(world.table, HOME, "a", "alive") as second:
            assert second.token > first.token
            leases.release(world.table, first)  # the dead one wakes up: nothing of it reaches the new holder
            with pytest.raises(LeaseHeld), leases.group(world.table, HOME, "a", "third"):
                pass

    def test_a_drain_that_renews_no_longer_is_an_orphan_although_its_plan_runs(self, world: World) -> None:
        leases.drain(world.table, "n1", "p1", 5)
        found = []
        for passed_s in (leases.DRAIN_LEASE_S + 590, 20):
            world.clock.pass_s(passed_s)
            found += [drain.orphan for drain in memory.load(world.table, is_running=lambda _: True).drains]

        assert found == [False, True]

    def test_a_node_lease_is_renewed_by_its_drain_and_by_nobody_else(self, world: World) -> None:
        first = leases.node(world.table, "n1", "p1", 5, NOW + timedelta(seconds=60))
        renewed = leases.node(world.table, "n1", "p1", 5, NOW + timedelta(seconds=3600))
        world.clock.pass_s(600)

        assert renewed.token == first.token
        with pytest.raises(LeaseHeld, match="node n1"):
            leases.node(world.table, "n1", "p2", 1, NOW + timedelta(seconds=3600))
        leases.release_node(world.table, "n1", "p2", 1)  # not its own
        assert [drain.node for drain in leases.drains(world.table)] == ["n1"]
        leases.release_node(world.table, "n1", "p1", 5)
        assert leases.node(world.table, "n1", "p2", 1, NOW + timedelta(seconds=3600)).token > first.token


class TestMemory:
    def node(self, **fields: Any) -> NodeMemory:
        return NodeMemory(**{"node": "n1", "first_seen": NOW, "last_seen": NOW, **fields})

    @pytest.mark.feature("SI-02")
    def test_what_is_saved_is_loaded(self, world: World) -> None:
        refusal = Unavailable(scope="group", key="us-east-1/gpu", since=NOW, until=NOW + timedelta(minutes=5))
        kept = Memory(nodes=(self.node(idle_since=NOW),), unavailable=(refusal,))
        memory.save(world.table, Memory(), kept)

        assert memory.load(world.table, lambda plan_id: True) == kept
        memory.save(world.table, kept, Memory())
        assert memory.load(world.table, lambda plan_id: True) == Memory()

    def test_a_node_that_only_grew_older_is_written_once_an_hour(self, world: World) -> None:
        old = self.node(last_seen=NOW + timedelta(minutes=20))
        memory.save(world.table, Memory(), Memory(nodes=(old,)))

        for minutes, is_written in ((21, False), (79, False), (80, True)):
            seen = self.node(last_seen=NOW + timedelta(minutes=minutes))
            memory.save(world.table, Memory(nodes=(old,)), Memory(nodes=(seen,)))
            assert (memory.load(world.table, lambda plan_id: True).nodes == (seen,)) is is_written

    @pytest.mark.feature("SI-02")
    def test_a_young_node_is_written_at_every_tick(self, world: World) -> None:
        memory.save(world.table, Memory(), Memory(nodes=(self.node(),)))
        seen = self.node(last_seen=NOW + timedelta(seconds=60))
        memory.save(world.table, Memory(nodes=(self.node(),)), Memory(nodes=(seen,)))

        assert memory.load(world.table, lambda plan_id: True).nodes == (seen,)

    def test_open_requests_and_drains_are_known_and_orphaned_when_their_execution_ended(self, world: World) -> None:
        requests.create(world.table, request())
        leases.node(world.table, "n1", "p1", 5, NOW + timedelta(hours=1))
        leases.node(world.table, "n2", "p2", 1, NOW + timedelta(hours=1))
        asked: list[str] = []

        loaded = memory.load(world.table, lambda plan_id: (asked.append(plan_id), plan_id == "p2")[1])

        assert [(one.id, one.orphan) for one in loaded.requests] == [("p1#1#0", True)]
        assert [(one.node, one.step, one.orphan) for one in loaded.drains] == [("n1", 5, True), ("n2", 1, False)]
        assert sorted(asked) == ["p1", "p2"]

    def test_a_refusal_is_never_shortened_by_an_older_view(self, world: World) -> None:
        long = Unavailable(scope="group", key="g", since=NOW, until=NOW + timedelta(minutes=30))
        short = Unavailable(scope="group", key="g", since=NOW, until=NOW + timedelta(minutes=5))

        assert memory.mark_unavailable(world.table, long)
        assert not memory.mark_unavailable(world.table, short)
        memory.save(world.table, Memory(unavailable=(short,)), Memory())
        assert list(memory.unavailable(world.table)) == [long]


class TestSettings:
    def test_without_a_document_the_defaults_hold(self, world: World) -> None:
        found, version = settings.policy(world.table)

        assert (found.mode, version) == ("run", settings.NO_POLICY)

    def test_each_document_is_a_new_version_and_the_same_one_is_not(self, world: World) -> None:
        first = settings.put_policy(world.table, {"mode": "dry_run"}, by="ann")
        for number in range(2, 12):
            settings.put_policy(world.table, {"max_snapshot_age_s": number}, by="ann")

        assert first == "1"
        assert settings.policy(world.table)[1] == "11"
        assert settings.put_policy(world.table, {"max_snapshot_age_s": 11}, by="bob") == "11"
        assert settings.document(world.table, "1") == {"mode": "dry_run"}
        assert settings.document(world.table, "99") is None

    def test_a_wrong_document_names_every_field_and_is_not_stored(self, world: World) -> None:
        wrong = {"mode": "fast", "drain": {"deadline_s": -1}, "regoins": []}

        with pytest.raises(PolicyError) as caught:
            settings.put_policy(world.table, wrong, by="ann", source="policy.yaml")
        assert {field for field, _ in caught.value.problems} == {"mode", "drain.deadline_s", "regoins"}
        assert settings.policy(world.table)[1] == settings.NO_POLICY

    @pytest.mark.feature("EX-13")
    def test_the_switch_stops_and_resumes_and_says_who_and_why(self, world: World) -> None:
        assert not settings.is_stopped(world.table)
        settings.stop(world.table, by="ann", reason="incident 7")
        thrown = settings.switch(world.table)
        assert (thrown.stopped, thrown.by, thrown.reason, thrown.at) == (True, "ann", "incident 7", NOW)
        settings.resume(world.table, by="bob")
        assert not settings.is_stopped(world.table)


class TestOnce:
    def test_the_first_outcome_of_a_step_stays(self, world: World) -> None:
        done = Outcome(plan_id="p1", step=1, status=OutcomeStatus.DONE, at=NOW, reason="all 2 nodes are Ready")
        late = msgspec.structs.replace(done, status=OutcomeStatus.FAILED)

        assert outcomes.put(world.table, done)
        assert not outcomes.put(world.table, late)
        assert outcomes.put(world.table, msgspec.structs.replace(late, hop=1))
        assert outcomes.get(world.table, "p1", 1) == done
        assert [one.hop for one in outcomes.of_plan(world.table, "p1")] == [0, 1]

    def test_a_tick_is_done_once(self, world: World) -> None:
        assert not ticks.is_done(world.table, "h1")
        assert ticks.mark_done(world.table, "h1")
        assert not ticks.mark_done(world.table, "h1")
        assert ticks.is_done(world.table, "h1")

    def test_an_event_is_taken_once(self, world: World) -> None:
        assert not events.is_seen(world.table, "e1")
        assert events.wake_planner(world.table, "e1", {"region": HOME})
        assert not events.wake_planner(world.table, "e1", {"region": HOME})
        events.mark_seen(world.table, "e1")
        assert events.is_seen(world.table, "e1")


class TestWaits:
    @pytest.mark.feature("EV-05")
    def test_a_token_is_found_by_its_region_and_used_once(self, world: World) -> None:
        waits.store(world.table, "p1", HOME, "old")
        waits.store(world.table, "p1", HOME, "token")
        waits.store(world.table, "p2", "us-west-2", "other")

        assert waits.news(world.table, HOME) == 0
        assert waits.count_news(world.table, HOME) == 1 == waits.news(world.table, HOME)
        assert list(waits.waiting(world.table, HOME)) == [("p1", "token")]
        assert not waits.take(world.table, "p1", HOME, "old")
        assert waits.take(world.table, "p1", HOME, "token")
        assert not waits.take(world.table, "p1", HOME, "token")


@pytest.mark.feature("CS-13")
def test_only_what_memory_needs_lives_for_ever(world: World) -> None:
    settings.put_policy(world.table, {}, by="ann")
    settings.stop(world.table, by="ann", reason="")
    requests.create(world.table, request())
    plans.put(world.table, plan(scale_out=(step(),)))
    outcomes.put(world.table, Outcome(plan_id="p1", step=1, status=OutcomeStatus.DONE, at=NOW, reason=""))
    ticks.mark_done(world.table, "h1")
    events.wake_planner(world.table, "e1", {})
    events.mark_seen(world.table, "e1")
    waits.store(world.table, "p1", HOME, "token")
    memory.save(world.table, Memory(), Memory(nodes=(NodeMemory(node="n", first_seen=NOW, last_seen=NOW),)))
    with leases.group(world.table, HOME, "a", "p1#1#0"):
        pass

    items = clients.client("dynamodb", HOME).scan(TableName=world.table.name)["Items"]
    assert {item["sk"]["S"] for item in items if keys.TTL not in item} == {"POLICY#00000001", "SWITCH", "REQUEST#p1#1#0"}
