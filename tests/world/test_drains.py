"""Nodes that are emptied and ended through the real workflow, with whatever may hold that up."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from spillway.aws import clients, workflow
from spillway.aws.scaling import raising
from spillway.aws.table import leases, outcomes, plans
from spillway.model.plan import AtDeadline, Eviction, Outcome, Plan, ScaleIn, ScaleOut, Summary, Why
from spillway.model.reason import Code, Reason
from spillway_local.emulator.functions import Killed
from spillway_local.world import Machine, World
from tests.world import scene
from tests.world.scene import EAST

pytestmark = pytest.mark.timeout(300)
WHY = Reason(code=Code.EMPTY, text="it is to make way")


@contextmanager
def running(pods: int = 1, budgets: int = 0, **options: Any) -> Iterator[World]:
    """Pods that have a node each, and nothing under way; `budgets` of which each allows none of them to go."""
    with scene.world(pods=pods, **{"capacity": {}, **options}) as world:
        world.run(until=world.all_pods_run, limit_s=900)
        world.run(until=world.is_idle, limit_s=900)
        for number in range(budgets):
            world.cluster.add({
                "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                "metadata": {"name": f"strict-{number}", "namespace": "default"},
                "spec": {"minAvailable": pods, "selector": {"matchLabels": {"app": "train"}}},
            })  # fmt: skip
        yield world


def drain(world: World, machine: Machine, *before: ScaleOut, why: Why = Why.EXPIRED, **fields: Any) -> None:
    """By hand: a plan that drains the machine's node, knows its pods, and is started."""
    on_it = [pod for pod in world.cluster.objects("Pod") if pod["spec"].get("nodeName") == machine.node]
    step = ScaleIn(
        step=5, region=machine.region, group=machine.group, node=machine.node, instance_id=machine.instance_id, why=why,
        evict=tuple(Eviction(pod=f"default/{pod['metadata']['name']}", tier=0) for pod in on_it), reason=WHY,
        **{"deadline_s": 300, **fields},
    )  # fmt: skip
    plan = Plan(
        plan_id="by-hand", cluster="prod", created_at=world.clock.now(), policy_version="0", snapshots=(), summary=Summary(),
        scale_out=before, scale_in=(step,),
    )  # fmt: skip
    plans.put(world.table, plan)
    with world.clock.busy():
        raising.plan_requests(world.table, plan)
        workflow.start(plan)


def told(world: World, limit_s: float = 900) -> Outcome:
    """The drain's outcome, once there is one."""
    world.run(until=lambda: outcomes.get(world.table, "by-hand", 5) is not None, limit_s=limit_s)
    found = outcomes.get(world.table, "by-hand", 5)
    assert found is not None
    return found


def node(world: World, machine: Machine) -> Mapping[str, Any]:
    found = world.cluster.get("Node", machine.node)
    assert found is not None
    return found


def traces(world: World, machine: Machine) -> list[str]:
    spec, labels = node(world, machine)["spec"], node(world, machine)["metadata"]["labels"]
    ours = ("spillway.io/cordoned", "node.kubernetes.io/exclude-from-external-load-balancers")
    return [
        *(key for key in labels if key in ours),
        *(t["key"] for t in spec.get("taints", ())),
        *(["x"] * bool(spec.get("unschedulable"))),
    ]


def hook(name: str) -> None:
    clients.client("autoscaling", EAST).put_lifecycle_hook(
        AutoScalingGroupName="cpu", LifecycleHookName=name, LifecycleTransition="autoscaling:EC2_INSTANCE_TERMINATING",
        HeartbeatTimeout=600, DefaultResult="CONTINUE",
    )  # fmt: skip


@pytest.mark.feature("EX-07")
@pytest.mark.feature("EX-08")
def test_the_pods_move_the_instance_ends_and_the_node_object_goes() -> None:
    with running(pods=2) as world:
        doomed, _ = world.machines()
        drain(world, doomed)
        world.run(until=lambda: bool(traces(world, doomed)), limit_s=60)
        assert len(traces(world, doomed)) == 4

        assert told(world).status == "done"
        assert world.cluster.get("Node", doomed.node) is None
        assert doomed.instance_id not in {machine.instance_id for machine in world.machines()}
        world.run(until=world.all_pods_run, limit_s=900)
        assert list(leases.drains(world.table)) == []


@pytest.mark.feature("EX-07")
@pytest.mark.feature("EX-09")
def test_a_drain_that_a_budget_holds_to_its_deadline_leaves_no_trace() -> None:
    with running(budgets=1) as world:
        (machine,) = world.machines()
        drain(world, machine)
        end = told(world)
        assert end.status == "abandoned"
        world.run(until=lambda: not traces(world, machine), limit_s=10)  # a controller of Kubernetes takes its own taint off
        assert "after 300 s node" in end.reason
        assert machine.instance_id in {one.instance_id for one in world.machines()}
        assert world.all_pods_run()


@pytest.mark.feature("EX-07")
def test_by_policy_the_instance_ends_with_its_pods_on_it_and_they_are_written_down() -> None:
    with running(budgets=1) as world:
        (machine,) = world.machines()
        drain(world, machine, at_deadline=AtDeadline.FORCE)
        end = told(world)
        assert end.status == "done"
        assert "its Node object is deleted; after 300 s node" in end.reason
        assert "default/train-0; by policy the instance is ended with them on it" in end.reason


@pytest.mark.feature("EX-07")
def test_under_two_budgets_nobody_is_asked_for_an_hour() -> None:
    """FC-13."""
    with running(budgets=2) as world:
        (machine,) = world.machines()
        drain(world, machine, deadline_s=3600)
        end = told(world, limit_s=60)
        assert end.status == "abandoned"
        world.run(until=lambda: not traces(world, machine), limit_s=10)  # a controller of Kubernetes takes its own taint off
        assert "more than one PodDisruptionBudget" in end.reason


@pytest.mark.feature("EX-08")
def test_our_own_hook_is_completed_and_the_node_object_goes_after_the_instance() -> None:
    with running() as world:
        (machine,) = world.machines()
        hook("spillway-drain")
        drain(world, machine)
        assert told(world).status == "done"


@pytest.mark.feature("EX-08")
@pytest.mark.feature("EX-10")
def test_somebody_elses_hook_holds_the_instance_and_desired_goes_down_once() -> None:
    """FC-38: its node is idle, and planned for again every minute."""
    with running(pods=2) as world:
        doomed, _ = world.machines()
        hook("ship-logs")
        drain(world, doomed)
        world.run(until=lambda: world.desired()[f"{EAST}/cpu"] == 1, limit_s=300)
        world.run(limit_s=300)
        held = clients.client("autoscaling", EAST).describe_auto_scaling_instances(InstanceIds=[doomed.instance_id])
        assert held["AutoScalingInstances"][0]["LifecycleState"] == "Terminating:Wait"
        assert node(world, doomed)
        assert told(world, limit_s=900).status == "done"
        ended = [step for plan in world.plans() for step in plan.scale_in if step.instance_id == doomed.instance_id]
        assert [step.step for step in ended] == [5]


def replacement(world: World) -> ScaleOut:
    now = world.desired()[f"{EAST}/cpu"]
    return ScaleOut(step=1, region=EAST, group="cpu", from_desired=now, to_desired=now + 1, nodes=1, reason=WHY)


@pytest.mark.feature("EX-07")
def test_a_drain_that_waits_for_its_replacement_begins_when_that_is_ready() -> None:
    with running(boot_s=400) as world:
        (machine,) = world.machines()
        drain(world, machine, replacement(world), after=(1,))
        world.run(limit_s=300)
        assert traces(world, machine) == []
        assert [drain.node for drain in leases.drains(world.table)] == [machine.node]

        assert told(world, limit_s=1200).status == "done"
        ready = outcomes.get(world.table, "by-hand", 1)
        assert ready is not None
        assert ready.status == "done"
        world.run(until=world.all_pods_run, limit_s=300)


@pytest.mark.feature("EX-07")
def test_a_drain_whose_replacement_does_not_come_is_dropped() -> None:
    with running(capacity={(EAST, "m5.large"): 1}) as world:
        (machine,) = world.machines()
        drain(world, machine, replacement(world), after=(1,))
        end = told(world, limit_s=1800)
        assert (end.status, traces(world, machine)) == ("no_replacement", [])
        assert end.reason.startswith("no replacement came (step 1): ")
        assert list(leases.drains(world.table)) == []
        assert world.all_pods_run()


@pytest.mark.feature("RS-05")
def test_a_limit_an_hour_holds_over_plans_and_is_heard_of() -> None:
    limit = {"scale_in": {**scene.POLICY["scale_in"], "limits": {"nodes_per_hour": 1}}}
    with scene.world(pods=2, job_s=240, policy=limit, capacity={}) as world:
        world.run(until=world.all_pods_run, limit_s=900)
        world.run(until=lambda: len(world.machines()) == 1, limit_s=1800)
        began = world.clock.now()
        world.run(limit_s=1800)
        assert len(world.machines()) == 1
        assert any(metric.get("RemovalsHeldBack") for metric in world.metrics)
        plan = world.latest_plan()
        assert plan is not None
        assert [kept.reason.code for kept in plan.kept] == [Code.REMOVAL_LIMIT]
        world.run(until=lambda: not world.machines(), limit_s=3600)
        assert (world.clock.now() - began).total_seconds() > 3300


@pytest.mark.feature("RS-04")
@pytest.mark.parametrize("function", ["snapshot_fleet", "snapshot_cluster"])
def test_while_a_view_is_old_nothing_goes(function: str) -> None:
    """Its function fails from the moment on at which the jobs are over."""
    with scene.world(pods=2, job_s=240, capacity={}) as world:
        world.run(until=world.all_pods_run, limit_s=900)
        blind = True

        def before(name: str, event: Mapping[str, Any]) -> None:
            if blind and name == function:
                raise Killed

        world.aws.functions.before = before
        world.run(limit_s=1200)
        assert len(world.machines()) == 2
        blind = False
        world.run(until=lambda: not world.machines(), limit_s=1800)
