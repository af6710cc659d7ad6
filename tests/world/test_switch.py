"""One switch stops everything: nothing is bought, drained or ended until somebody lets it go on."""

import pytest

from spillway.aws.table import settings
from tests.world import scene
from tests.world.scene import EAST
from tests.world.test_burst import at_rest

pytestmark = pytest.mark.timeout(300)


@pytest.mark.feature("EX-13")
def test_nothing_is_bought_while_the_switch_is_thrown() -> None:
    with scene.world(pods=2) as world:
        settings.stop(world.table, by="somebody", reason="looking into it")
        world.run(limit_s=600)
        assert (world.machines(), world.executions()) == ([], [])
        settings.resume(world.table, by="somebody")
        world.run(until=world.all_pods_run, limit_s=900)
        assert world.instances() == {f"{EAST}/cpu": 2}


@pytest.mark.feature("EX-13")
def test_nothing_is_ended_while_the_switch_is_thrown() -> None:
    with scene.world(pods=2, job_s=120) as world:
        world.run(until=world.all_pods_run, limit_s=900)
        settings.stop(world.table, by="somebody", reason="looking into it")
        world.run(limit_s=1800)
        assert len(world.machines()) == 2
        assert not any(node["spec"].get("unschedulable") for node in world.cluster.objects("Node"))
        settings.resume(world.table, by="somebody")
        world.run(until=lambda: at_rest(world), limit_s=3600)


@pytest.mark.feature("EX-13")
def test_a_dry_run_explains_its_plan_and_starts_nothing() -> None:
    with scene.world(pods=2, policy={"mode": "dry_run"}) as world:
        world.run(limit_s=130)
        plan = world.latest_plan()
        assert plan is not None
        assert [(step.region, step.nodes) for step in plan.scale_out] == [(EAST, 2)]
        assert (world.machines(), world.executions()) == ([], [])
