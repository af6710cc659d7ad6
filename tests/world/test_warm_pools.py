"""A group with a warm pool, from pods that wait to nodes that run them."""

from datetime import timedelta

import pytest

from spillway_local.world import World
from spillway_local.world_dump import RawDump
from tests.world import scene
from tests.world.scene import CLUSTER, EAST, NOW, POLICY, WEST

pytestmark = [pytest.mark.timeout(300), pytest.mark.feature("SO-05")]


def world(state: str, pods: int, capacity: int, prepared: int = 2) -> World:
    """The pool is as old as a month; `capacity` is what EC2 has for more of its type at home."""
    home = scene.group(EAST) | {"WarmPoolConfiguration": {"PoolState": state, "MinSize": 0}, "WarmPoolSize": prepared}
    warm = [
        {"InstanceId": f"i-0{number}", "AvailabilityZone": f"{EAST}a", "LifecycleState": f"Warmed:{state}",
         "InstanceType": "m5.large", "HealthStatus": "Healthy"}
        for number in range(prepared)
    ]  # fmt: skip
    machines = [
        {"InstanceId": one["InstanceId"], "LaunchTime": f"{NOW - timedelta(days=30):%Y-%m-%dT%H:%M:%SZ}"} for one in warm
    ]
    answers = {
        **scene.region(home), "WarmPools": {"cpu": {"Instances": warm}}, "Reservations": [{"Instances": machines}],
    }  # fmt: skip
    raw = RawDump(
        cluster=CLUSTER, home=EAST, now=NOW, objects=tuple(scene.pod(f"train-{n}") for n in range(pods)),
        answers={EAST: answers, WEST: scene.region(scene.group(WEST), price=0.106)}, policy=POLICY,
    )  # fmt: skip
    return World(raw, capacity={(EAST, "m5.large"): capacity})


def ids(world: World) -> set[str]:
    return {machine.instance_id for machine in world.machines()}


@pytest.mark.parametrize("state", ["Stopped", "Running"])
def test_a_raise_takes_them_first_counts_each_once_and_gives_none_back(state: str) -> None:
    with world(state, pods=3, capacity=9) as run:
        run.run(until=run.all_pods_run, limit_s=900)
        run.run(until=run.is_idle, limit_s=900)

        raised = [step for plan in run.plans() for step in plan.scale_out]
        assert [(step.region, step.from_desired, step.to_desired) for step in raised] == [(EAST, 0, 3)]
        assert "3 new nodes of which 2 from the warm pool" in raised[0].reason.text
        assert {"i-00", "i-01"} < ids(run)
        assert run.desired() == {f"{EAST}/cpu": 3}
        assert not any(plan.give_back for plan in run.plans())
        assert [(one.status, one.nodes) for one in run.outcomes()] == [("done", 3)]


def test_those_that_run_come_where_there_is_no_capacity_and_the_rest_spills_and_ends_none() -> None:
    with world("Running", pods=3, capacity=0) as run:
        run.run(until=run.all_pods_run, limit_s=900)
        run.run(until=run.is_idle, limit_s=900)
        assert run.instances() == {f"{EAST}/cpu": 2, f"{WEST}/cpu": 1}
        assert run.desired() == {f"{EAST}/cpu": 2, f"{WEST}/cpu": 1}
        assert {"i-00", "i-01"} < ids(run)


def test_those_that_are_stopped_need_capacity_and_what_has_none_spills() -> None:
    with world("Stopped", pods=2, capacity=1) as run:
        run.run(until=run.all_pods_run, limit_s=900)
        run.run(until=run.is_idle, limit_s=900)
        assert run.instances() == {f"{EAST}/cpu": 1, f"{WEST}/cpu": 1}
        assert run.desired() == {f"{EAST}/cpu": 1, f"{WEST}/cpu": 1}
