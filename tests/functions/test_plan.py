"""Plan: one plan for what is in the table, its workflow started once, and nothing where nothing is to be done."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from spillway.aws import clients, workflow
from spillway.aws.table import keys, leases, memory, orphans, plans, requests, settings, snapshots, ticks
from spillway.errors import EventError, NotFound, PolicyError
from spillway.model.cluster import ClusterSnapshot, PodSet, PodShape, PodState
from spillway.model.fleet import FleetSnapshot, NodeGroup, NodeTemplate, RegionView
from spillway.model.memory import OpenRequest, RequestState
from spillway.model.policy import Policy
from spillway.model.selector import NodeSelectorTerm, PreferredTerm, Requirement
from tests.workflow.world import CLUSTER, HOME, MACHINE_ARN, NOW, World, lower, open_world

EVENTS = Path(__file__).parents[2] / "events"
HEAD = {"Records": [{"dynamodb": {"Keys": {"pk": {"S": "CLUSTER#prod"}, "sk": {"S": "HEAD#cluster"}}}}]}


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


def see(world: World, pods: int = 2, at_s: int = 0) -> None:
    """A cluster whose pods fit on no node, and a group that could have one for each."""
    at = NOW + timedelta(seconds=at_s)
    cluster = ClusterSnapshot(
        cluster=CLUSTER,
        taken_at=at,
        shapes=(PodShape(id="web", namespace="shop", requests={"cpu": 3000, "pods": 1}),),
        pods=(
            PodSet(
                shape="web",
                state=PodState.UNSCHEDULABLE,
                names=tuple(f"shop/web-{n}" for n in range(pods)),
                created=(NOW - timedelta(minutes=5),) * pods,
            ),
        )
        if pods
        else (),
    )
    template = NodeTemplate(instance_types=("m5.xlarge",), allocatable={"cpu": 3900, "memory": 15 << 30, "pods": 58})
    group = NodeGroup(region=HOME, name="a", min_size=0, max_size=9, desired=0, zones=("us-east-1a",), template=template)
    fleet = FleetSnapshot(
        cluster=CLUSTER,
        home_region=HOME,
        taken_at=at,
        regions=(RegionView(name=HOME, known=True, as_of=at),),
        groups=(group,),
    )
    snapshots.store_fleet(world.table, fleet)
    snapshots.store_cluster(world.table, cluster)


def by_hand(world: World) -> Any:
    return world.handle("plan", {"cluster": CLUSTER})


def executions() -> list[str]:
    answer = clients.client("stepfunctions", HOME).list_executions(stateMachineArn=MACHINE_ARN)
    return [item["name"] for item in answer["executions"]]


def figures(text: str) -> dict[str, float]:
    (line,) = [json.loads(line) for line in text.splitlines() if '"_aws"' in line]
    return {name: value[0] for name, value in line.items() if isinstance(value, list)}


@pytest.mark.feature("EX-01")
def test_a_new_head_is_planned_and_its_workflow_started_under_the_plans_id(world: World) -> None:
    see(world)
    answer = world.handle("plan", HEAD)

    assert answer["status"] == "started"
    assert executions() == [answer["plan_id"]]
    (step,) = plans.get(world.table, answer["plan_id"]).scale_out
    assert (step.group, step.from_desired, step.to_desired) == ("a", 0, 2)


@pytest.mark.feature("SO-09")
def test_the_group_that_pods_prefer_grows_at_the_same_price_unless_the_policy_ignores_it(world: World) -> None:
    see(world, pods=1)
    fleet, cluster = snapshots.latest_fleet(world.table), snapshots.latest_cluster(world.table)
    (a,), (web,) = fleet.groups, cluster.shapes
    assert a.template
    ssd = msgspec.structs.replace(a, name="ssd", template=msgspec.structs.replace(a.template, labels={"disk": "ssd"}))
    term = NodeSelectorTerm(expressions=(Requirement(key="disk", operator="In", values=("ssd",)),))
    wishing = msgspec.structs.replace(web, preferred_nodes=(PreferredTerm(weight=1, term=term),))
    snapshots.store_fleet(world.table, msgspec.structs.replace(fleet, groups=(a, ssd)))
    snapshots.store_cluster(world.table, msgspec.structs.replace(cluster, shapes=(wishing,)))

    world.policy(mode="dry_run")
    (step,) = plans.get(world.table, by_hand(world)["plan_id"]).scale_out
    assert (step.group, step.nodes) == ("ssd", 1)
    assert "preferred node affinity is kept" in step.reason.text

    world.policy(mode="dry_run", pods={"preference_policy": "ignore"})
    (step,) = plans.get(world.table, by_hand(world)["plan_id"]).scale_out
    assert step.group == "a"


@pytest.mark.feature("EX-01")
def test_a_second_delivery_ends_early(world: World) -> None:
    see(world)
    first, second = world.handle("plan", HEAD), world.handle("plan", HEAD)

    assert second["status"] == "repeated"
    assert executions() == [first["plan_id"]]


@pytest.mark.feature("EX-01")
@pytest.mark.parametrize(
    ("module", "name"),
    [(memory, "save"), (plans, "put"), (orphans, "sweep"), (workflow, "start"), (ticks, "mark_done")],
    ids=["memory", "plan", "sweep", "start", "tick"],
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_tick_that_dies_is_done_again_and_starts_the_same_plan_once(
    world: World, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, when: str
) -> None:
    see(world)
    real = getattr(module, name)

    def dies(*args: Any) -> Any:
        if when == "after":
            real(*args)
        raise RuntimeError("the runtime was killed")

    with monkeypatch.context() as patch:
        patch.setattr(module, name, dies)
        with pytest.raises(RuntimeError):
            world.handle("plan", HEAD)
    answer = world.handle("plan", HEAD)

    (started,) = executions()
    assert len(plans.get(world.table, started).scale_out) == 1
    if (name, when) == ("mark_done", "after"):
        assert answer["status"] == "repeated"
    elif (name, when) in (("start", "after"), ("mark_done", "before")):
        assert answer["status"] == "planned"  # what the plan that runs has asked for is coming
    else:
        assert answer["plan_id"] == started
    assert [(one.plan_id, one.nodes) for one in requests.live(world.table)] == [(started, 2)]


def test_a_plan_that_is_made_before_the_last_ones_workflow_did_anything_buys_nothing_again(world: World) -> None:
    see(world)
    first = world.handle("plan", HEAD)
    woken = {"Records": [{"dynamodb": {"Keys": {"pk": {"S": "CLUSTER#prod"}, "sk": {"S": "EVENT#e1"}}}}]}
    second = world.handle("plan", woken)

    assert (first["status"], second["status"]) == ("started", "planned")
    assert executions() == [first["plan_id"]]
    assert world.requests(first["plan_id"]) == [(f"{first['plan_id']}#1#0", "planned", 2, 0)]


def test_what_a_plan_asks_for_is_written_before_its_workflow_starts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    see(world)
    seen: list[int] = []
    monkeypatch.setattr(workflow, "start", lambda plan: seen.append(len(world.requests(plan.plan_id))))
    world.handle("plan", HEAD)

    assert seen == [1]


def test_a_batch_of_records_makes_one_plan(world: World) -> None:
    see(world)
    event = json.loads((EVENTS / "plan.event.json").read_text(encoding="utf-8"))

    assert world.handle("plan", event)["status"] == "started"
    assert ticks.is_done(world.table, "EVENT#00000000-0000-0000-0000-000000000001")
    assert world.handle("plan", event)["status"] == "repeated"


def test_an_event_is_planned_for_though_its_head_was(world: World) -> None:
    see(world)
    world.handle("plan", HEAD)
    event = {"Records": [{"dynamodb": {"Keys": {"pk": {"S": "CLUSTER#prod"}, "sk": {"S": "EVENT#e1"}}}}]}

    assert world.handle("plan", event)["status"] in ("planned", "started")


def test_a_head_without_work_starts_nothing_and_keeps_its_summary(world: World) -> None:
    see(world, pods=0)
    answer = world.handle("plan", HEAD)

    assert answer["status"] == "planned"
    assert executions() == []
    assert plans.get(world.table, answer["plan_id"]).summary.pods_pending == 0


@pytest.mark.feature("EX-13")
@pytest.mark.parametrize("mode", ["dry_run", "off"])
def test_a_dry_run_stores_and_explains_the_plan_and_starts_nothing(world: World, mode: str) -> None:
    see(world)
    world.policy(mode=mode)
    answer = by_hand(world)

    assert (answer["status"], answer["mode"]) == ("planned", mode)
    assert f"mode {mode} starts nothing" in answer["reason"]
    assert executions() == []
    stored = plans.latest(world.table)
    assert bool(stored.scale_out) == (mode == "dry_run")
    assert (stored.scale_out and stored.scale_out[0].reason.text) or stored.unserved


@pytest.mark.feature("EX-13")
def test_the_switch_stops_the_planner_and_names_who_threw_it(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    see(world)
    settings.stop(world.table, by="ann", reason="incident 7")

    assert world.handle("plan", HEAD) == {"status": "stopped", "reason": "ann threw the switch: incident 7"}
    assert world.table.get(keys.LATEST_PLAN) is None
    assert figures(capsys.readouterr().out)["Plans"] == 0
    settings.resume(world.table, by="ann")
    assert world.handle("plan", HEAD)["status"] == "started"


def test_a_snapshot_that_is_not_there_yet_is_waited_for(world: World) -> None:
    assert world.handle("plan", HEAD) == {
        "status": "waiting", "reason": "no snapshot of the cluster and the fleet yet",
    }  # fmt: skip
    with pytest.raises(NotFound, match="the snapshot cluster"):
        by_hand(world)


def test_a_wrong_policy_stops_the_tick_with_its_fields(world: World) -> None:
    see(world)
    world.table.put("POLICY#00000001", {"body": '{"mode": "fast"}'})

    with pytest.raises(PolicyError, match="mode"):
        world.handle("plan", HEAD)
    assert not ticks.is_done(world.table, f"HEAD#{snapshots.head_ids(world.table)[0]}")


@pytest.mark.feature("OB-04")
def test_every_figure_is_written_zeros_too(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    see(world)
    world.handle("plan", HEAD)
    written = figures(capsys.readouterr().out)

    assert written.pop("PlanSeconds") == 0
    assert written == {
        "Plans": 1, "PodsUnserved": 0, "NodesPlanned": 2, "NodesToRemove": 0, "PricePerHour": 0, "NodesVanished": 0,
        "BreakersOpen": 0,
        "RemovalsHeldBack": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("event", "field"),
    [({}, "cluster"), ({"cluster": "other"}, "'other' is not the cluster"), ({"Records": [{}]}, "Records.0")],
)
def test_a_wrong_event_names_its_fields(world: World, event: dict[str, Any], field: str) -> None:
    with pytest.raises(EventError, match=field):
        world.handle("plan", event)


@pytest.mark.parametrize("path", sorted(EVENTS.glob("plan.*.json")), ids=lambda path: path.stem)
def test_takes_every_sample_event(world: World, path: Path) -> None:
    see(world)
    assert world.handle("plan", json.loads(path.read_text(encoding="utf-8")))["status"] == "started"


class TestOrphans:
    """What the execution of p0, which has ended, left behind."""

    def request(self, world: World, state: RequestState, age_s: int = 0, **fields: Any) -> None:
        given = {"id": "p0#1#0", "plan_id": "p0", "step": 1, "hop": 0, "region": HOME, "group": "a", "from_desired": 0}
        left = OpenRequest(**{
            **given, "to_desired": 2, "nodes": 2, "asked_at": NOW - timedelta(seconds=age_s), "state": state, **fields,
        })  # fmt: skip
        requests.create(world.table, left)

    def states(self, world: World) -> list[str]:
        return [state for _, state, _, _ in world.requests("p0")]

    def test_a_request_that_may_never_have_been_raised_is_closed(self, world: World) -> None:
        see(world)
        self.request(world, RequestState.PLANNED, age_s=60)
        world.handle("plan", HEAD)

        assert self.states(world) == ["changed"]
        assert world.outcomes("p0") == [(1, 0, "failed")]

    def test_one_whose_execution_may_be_about_to_start_is_left_for_a_minute(self, world: World) -> None:
        see(world)
        self.request(world, RequestState.PLANNED, age_s=59)
        world.handle("plan", HEAD)

        assert self.states(world) == ["planned"]

    def test_one_that_was_raised_counts_as_coming_while_it_is_young(self, world: World) -> None:
        see(world)
        self.request(world, RequestState.OPEN, age_s=60)
        world.handle("plan", HEAD)
        assert self.states(world) == ["open"]

        see(world, at_s=900)
        world.handle("plan", HEAD)
        assert self.states(world) == ["refused"]

    def test_one_whose_gap_the_plan_gives_back_is_closed_with_it(self, world: World) -> None:
        self.request(world, RequestState.OPEN, ready=1)
        left = memory.load(world.table, lambda plan_id: False)

        assert orphans.sweep(world.table, left, world.plan(lower(1, 2, 1)), Policy(), NOW) == 1
        assert world.requests("p0") == [("p0#1#0", "refused", 2, 1)]

    def test_a_node_is_free_for_the_next_plan(self, world: World) -> None:
        see(world)
        leases.node(world.table, "n1", "p0", 5, NOW + timedelta(hours=1))
        world.handle("plan", HEAD)

        assert list(leases.drains(world.table)) == []

    def test_what_a_living_execution_has_is_left_to_it(self, world: World) -> None:
        see(world)
        clients.client("stepfunctions", HOME).start_execution(stateMachineArn=MACHINE_ARN, name="p0", input="{}")
        self.request(world, RequestState.PLANNED)
        leases.node(world.table, "n1", "p0", 5, NOW + timedelta(hours=1))
        world.handle("plan", HEAD)

        assert self.states(world) == ["planned"]
        assert [drain.node for drain in leases.drains(world.table)] == ["n1"]
