"""What a plan does when the world is not as it was: groups that somebody raised, nodes that we cordoned, nodes that vanish."""

from typing import Any

import pytest

from spillway.aws import clients
from spillway.aws.table import keys
from spillway.kube.markers import CORDONED
from spillway.model.plan import OutcomeStatus
from spillway_local.world import World
from tests.world import scene
from tests.world.scene import EAST, WEST
from tests.world.test_burst import at_rest

pytestmark = pytest.mark.timeout(300)
PLENTY = {(EAST, "m5.large"): 20}


def names(world: World) -> set[str]:
    return {record.metadata["name"] for record in world.cluster.records("Node")}


@pytest.mark.feature("EX-02")
def test_a_group_that_somebody_raised_meanwhile_is_planned_again_and_never_lowered() -> None:
    with scene.world(pods=3, capacity=PLENTY) as world:
        told: list[str] = []

        def somebody_raises(function: str, event: dict[str, Any]) -> None:
            if function == "scale_out" and not told:
                told.append(event["plan_id"])
                clients.client("autoscaling", EAST).set_desired_capacity(AutoScalingGroupName="cpu", DesiredCapacity=1)

        world.aws.functions.before = somebody_raises
        world.run(until=world.all_pods_run, limit_s=900)

        first, *others = world.plans()
        assert [first.plan_id] == told
        changed = [one.plan_id for one in world.outcomes() if one.status is OutcomeStatus.CHANGED]
        assert changed == [first.plan_id]
        assert [(step.from_desired, step.to_desired) for plan in others for step in plan.scale_out] == [(1, 3)]
        assert world.desired() == {f"{EAST}/cpu": 3}


@pytest.mark.feature("SO-04")
def test_nodes_that_we_cordoned_are_given_back_and_that_many_fewer_are_bought() -> None:
    with scene.world(pods=2, job_s=60, capacity=PLENTY, policy={"mode": "scale_out_only"}) as world:
        world.run(until=lambda: world.cluster.phases() == {"Succeeded": 2}, limit_s=900)
        for name in names(world):
            world.cluster.edit("Node", name, leave_cordoned)
        for n in range(3):
            world.cluster.add(scene.pod(f"later-{n}"))
        world.run(until=lambda: world.cluster.phases()["Succeeded"] == 5, limit_s=900)

        assert world.instances() == {f"{EAST}/cpu": 3}
        for node in world.cluster.objects("Node"):
            assert not node["spec"].get("unschedulable")
            assert CORDONED not in node["metadata"].get("labels", {})


def leave_cordoned(node: dict[str, Any]) -> None:
    """As a run that died leaves it."""
    node["spec"]["unschedulable"] = True
    node["metadata"].setdefault("labels", {})[CORDONED] = "a-plan-of-long-ago"


@pytest.mark.feature("SO-25")
def test_a_group_below_the_policys_min_is_raised_though_nothing_waits() -> None:
    with scene.world(pods=0, capacity=PLENTY, policy={"groups": {"cpu": {"min": 2}}, "regions": [EAST]}) as world:
        world.run(until=lambda: len(names(world)) == 2, limit_s=600)
        world.run(limit_s=1200)
        assert world.desired()[f"{EAST}/cpu"] == 2


@pytest.mark.feature("SI-02")
def test_the_idle_clock_runs_from_the_end_of_the_last_pod_over_many_ticks() -> None:
    """The node is older than its idle time by far when its pod ends."""
    with scene.world(pods=1, job_s=900, capacity=PLENTY) as world:
        world.run(until=lambda: world.cluster.phases() == {"Succeeded": 1}, limit_s=1800)
        ended = world.clock.now()
        world.run(until=lambda: at_rest(world), limit_s=1800)

        (gone,) = [step for plan in world.plans() for step in plan.scale_in]
        (left,) = [plan.created_at for plan in world.plans() if plan.scale_in]
        assert gone.why == "empty"
        assert 120 <= (left - ended).total_seconds() <= 120 + 2 * 60 + 10


@pytest.mark.feature("OP-08")
def test_a_node_that_something_deletes_as_it_joins_is_told_while_its_instance_runs() -> None:
    with scene.world(pods=1, capacity=PLENTY, policy={"mode": "scale_out_only"}) as world:
        world.run(until=lambda: any(world.table.get(keys.node(name)) for name in names(world)), limit_s=600)
        (name,) = names(world)
        world.cluster.remove("Node", name)
        world.run(limit_s=600)

        counted = [line["NodesVanished"] for line in world.metrics if "NodesVanished" in line]
        assert [max(counted), counted[0], counted[-1]] == [[1.0], [0.0], [1.0]]
        plan = world.latest_plan()
        assert plan is not None
        (text,) = [warning.text for warning in plan.warnings if warning.code == "nodes_vanish"]
        assert name in text


@pytest.mark.feature("OP-08")
def test_nodes_that_are_deleted_between_two_snapshots_are_told_too() -> None:
    """As a cloud controller does that finds no such instance in its own region: seconds after the node joined."""
    with scene.world(pods=1, capacity=PLENTY, policy={"mode": "scale_out_only"}) as world:

        def joins_and_is_deleted(function: str, event: dict[str, Any]) -> None:
            if function == "snapshot_cluster":
                for name in names(world):
                    world.cluster.remove("Node", name)

        world.aws.functions.before = joins_and_is_deleted
        world.run(limit_s=300)

        assert any(line["NodesVanished"] == [1.0] for line in world.metrics if "NodesVanished" in line)


@pytest.mark.feature("EX-13")
@pytest.mark.parametrize(("mode", "bought", "left"), [("scale_out_only", 2, 2), ("scale_in_only", 0, 0)])
def test_one_way_only(mode: str, bought: int, left: int) -> None:
    with scene.world(pods=2, job_s=60, capacity=PLENTY, policy={"mode": mode}) as world:
        world.run(limit_s=1500)
        assert sum(world.instances().values()) == left
        assert sum(step.nodes for plan in world.plans() for step in plan.scale_out) == bought
        assert world.desired()[f"{WEST}/cpu"] == 0
