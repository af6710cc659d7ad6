"""An execution that dies anywhere: what it left open is finished or undone by the plans that follow."""

from collections.abc import Callable
from typing import Any

import pytest

from spillway_local.emulator.functions import Killed
from spillway_local.world import World
from tests.world import scene
from tests.world.scene import EAST, WEST
from tests.world.test_burst import at_rest

pytestmark = pytest.mark.timeout(300)

_TASKS = ("scale_out", "verify_instances", "scale_in", "verify_nodes", "drain", "remove_node")


def kill_at(world: World, number: int, answered: bool) -> Callable[[str, dict[str, Any]], None]:
    """Stops the execution at its `number`-th task; `answered`: the task still acts, its answer is lost."""
    seen = 0

    def before(function: str, event: dict[str, Any]) -> None:
        nonlocal seen
        seen += function in _TASKS
        if function in _TASKS and seen == number:
            world.aws.stop_execution(event["plan_id"])
            if not answered:
                raise Killed

    return before


@pytest.mark.feature("EX-09")
@pytest.mark.parametrize("answered", [False, True], ids=["unheard", "unanswered"])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 6, 8, 10, 12])
def test_wherever_an_execution_dies_the_next_plans_come_to_the_same_end(number: int, answered: bool) -> None:
    with scene.world(pods=2, job_s=240, capacity={(EAST, "m5.large"): 1}) as world:
        world.aws.functions.before = kill_at(world, number, answered)
        world.run(until=lambda: world.cluster.phases() == {"Succeeded": 2}, limit_s=2 * 3600)
        world.run(until=lambda: at_rest(world), limit_s=2 * 3600)
        assert any(item["status"] == "ABORTED" for item in world.executions())
        launched = {machine["EC2InstanceId"] for machine in launches(world)}
        assert len(launched) == 2, "nothing was bought twice"


def launches(world: World) -> list[dict[str, Any]]:
    return [event["detail"] for event in world.aws.events if event["detail-type"] == "EC2 Instance Launch Successful"]


@pytest.mark.feature("EX-14")
def test_a_handler_that_runs_out_of_time_is_called_again() -> None:
    with scene.world(pods=2, capacity={(EAST, "m5.large"): 1, (WEST, "m5.large"): 1}) as world:
        first: set[str] = set()

        def before(function: str, event: dict[str, Any]) -> None:
            if function in _TASKS and function not in first:
                first.add(function)
                raise Killed

        world.aws.functions.before = before
        world.run(until=world.all_pods_run, limit_s=900)
        world.run(until=world.is_idle, limit_s=900)
        assert [item["status"] for item in world.executions()] == ["SUCCEEDED"]
        assert world.instances() == {f"{EAST}/cpu": 1, f"{WEST}/cpu": 1}
