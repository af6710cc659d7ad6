"""From pods that wait to groups at their minimum: the whole product, as it is deployed, over hours of virtual time."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from spillway_local.world import World
from tests.world import scene
from tests.world.scene import EAST, WEST

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
pytestmark = pytest.mark.timeout(300)


def at_rest(world: World) -> bool:
    """Nothing is left to do: no node, no instance, no desired capacity, no execution."""
    return not (world.cluster.records("Node") or world.machines() or world.desired()) and world.is_idle()


@pytest.mark.feature("EX-05")
@pytest.mark.feature("SO-22")
def test_what_home_refuses_spills_to_the_second_region_in_the_same_execution() -> None:
    with scene.world(pods=4) as world:
        world.run(until=world.all_pods_run, limit_s=900)
        assert world.instances() == {f"{EAST}/cpu": 2, f"{WEST}/cpu": 2}
        assert world.desired() == {f"{EAST}/cpu": 2, f"{WEST}/cpu": 2}
        raised = [step for plan in world.plans() for step in plan.scale_out]
        assert [(step.region, step.nodes) for step in raised] == [(EAST, 4)]
        world.run(until=world.is_idle, limit_s=900)
        assert [item["status"] for item in world.executions()] == ["SUCCEEDED"]


@pytest.mark.feature("EV-05")
def test_failover_starts_on_the_event_of_the_refusal_not_on_the_next_tick() -> None:
    with scene.world(pods=4) as world:
        world.run(until=lambda: world.desired()[f"{WEST}/cpu"] == 2, limit_s=10)


def test_a_burst_comes_and_goes_and_leaves_nothing_behind() -> None:
    with scene.world(pods=4, job_s=300) as world:
        world.run(until=world.all_pods_run, limit_s=900)
        world.run(until=lambda: world.cluster.phases() == {"Succeeded": 4}, limit_s=600)
        world.run(until=lambda: at_rest(world), limit_s=3600)
        assert {failure.error_type for failure in world.aws.functions.failures} <= {"LeaseHeld"}  # tried again
        assert not world.aws.stream.dead
        assert not world.aws.queue.dead
        assert Counter(one.status for one in world.outcomes())["done"] >= 4


def test_of_an_example_every_pod_runs_that_any_group_can_serve() -> None:
    with World.from_dump(EXAMPLES / "burst", capacity={(EAST, "g4dn.xlarge"): 1}) as world:
        world.run(until=lambda: world.cluster.phases()["Pending"] == 1, limit_s=1800)
        world.run(limit_s=90)
        plan = world.latest_plan()
        assert plan is not None
        (left,) = plan.unserved
        assert left.pods == world.cluster.phases()["Pending"] == 1
        assert {reason.region for reason in left.reasons} == {EAST, WEST}


@pytest.mark.feature("EX-01")
def test_a_record_of_the_stream_that_comes_twice_starts_one_execution() -> None:
    with scene.world(pods=2) as world:
        world.aws.stream.twice = True
        world.run(until=world.all_pods_run, limit_s=900)
        assert world.aws.functions.calls["plan"] > world.aws.functions.calls["snapshot_cluster"]
        assert len(world.executions()) == 1
        assert world.instances() == {f"{EAST}/cpu": 2}


@pytest.mark.feature("EX-11")
def test_a_second_burst_a_minute_later_is_served_at_once_by_the_same_group() -> None:
    """While the nodes of the first still boot: what is on its way is neither bought again nor waited for."""
    with scene.world(pods=2, boot_s=240, capacity={(EAST, "m5.large"): 10}) as world:
        world.run(until=lambda: world.desired()[f"{EAST}/cpu"] == 2, limit_s=60)
        asked = world.clock.now()
        world.run(limit_s=60)
        for n in range(3):
            world.cluster.add(scene.pod(f"later-{n}"))
        world.run(until=lambda: world.desired()[f"{EAST}/cpu"] == 5, limit_s=70)
        assert world.clock.now() - asked < timedelta(seconds=150), "long before the first node is there"
        assert not world.cluster.records("Node")
        assert [item["status"] for item in world.executions()] == ["RUNNING", "RUNNING"]

        world.run(until=world.all_pods_run, limit_s=900)
        world.run(until=world.is_idle, limit_s=900)
        assert world.instances() == {f"{EAST}/cpu": 5}
        assert [(step.from_desired, step.to_desired) for plan in world.plans() for step in plan.scale_out] == [(0, 2), (2, 5)]
        assert {item["status"] for item in world.executions()} == {"SUCCEEDED"}


@pytest.mark.feature("EX-10")
def test_each_task_that_is_delivered_twice_acts_once() -> None:
    with scene.world(pods=4, job_s=300) as world:
        world.aws.functions.twice = True
        world.run(until=world.all_pods_run, limit_s=900)
        assert world.instances() == {f"{EAST}/cpu": 2, f"{WEST}/cpu": 2}
        assert world.desired() == {f"{EAST}/cpu": 2, f"{WEST}/cpu": 2}
        world.run(until=lambda: world.cluster.phases() == {"Succeeded": 4}, limit_s=600)
        world.run(until=lambda: at_rest(world), limit_s=3600)
