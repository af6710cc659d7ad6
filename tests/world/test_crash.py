"""An execution that dies anywhere: what it left open is finished or undone by the plans that follow."""

from collections.abc import Callable
from typing import Any

import pytest

from spillway_local.emulator.wire import Killed
from spillway_local.world import World
from tests.world import scene
from tests.world.scene import EAST, WEST
from tests.world.test_burst import at_rest

pytestmark = pytest.mark.timeout(300)

# Every task of the workflow, as (function, action, which of its calls). The second scale_out is the spill.
TASKS = (
    ("scale_out", None, 1),
    ("verify_instances", "check", 1),
    ("verify_instances", "wait", 1),
    ("verify_instances", "check", 3),
    ("scale_out", None, 2),
    ("verify_nodes", None, 1),
    ("drain", "begin", 1),
    ("drain", "evict", 1),
    ("scale_in", "terminate", 1),
    ("scale_in", "confirm", 1),
    ("remove_node", None, 1),
)


def kill_at(world: World, task: tuple[str, str | None, int], answered: bool) -> Callable[[str, dict[str, Any]], None]:
    """Stops the execution at the given task; `answered`: the task still acts, its answer is lost."""
    seen = 0

    def before(function: str, event: dict[str, Any]) -> None:
        nonlocal seen
        if (function, event.get("action")) != task[:2]:
            return
        seen += 1
        if seen == task[2]:
            world.aws.stop_execution(event["plan_id"])
            if not answered:
                raise Killed

    return before


@pytest.mark.parametrize("answered", [False, True], ids=["unheard", "unanswered"])
@pytest.mark.parametrize("task", TASKS, ids=["-".join(str(part) for part in task if part) for task in TASKS])
def test_wherever_an_execution_dies_the_next_plans_come_to_the_same_end(
    task: tuple[str, str | None, int], answered: bool
) -> None:
    with scene.world(pods=2, job_s=240, capacity={(EAST, "m5.large"): 1}) as world:
        world.aws.functions.before = kill_at(world, task, answered)
        world.run(until=lambda: world.all_pods_run() and bool(world.machines()), limit_s=1800)
        world.run(until=lambda: at_rest(world), limit_s=2 * 3600)
        assert [item["status"] for item in world.executions()].count("ABORTED") == 1
        assert world.aws.launches.pools.capacity == {(EAST, "m5.large"): 1}
        assert len(launched(world)) == 2, "nothing was bought twice"


def launched(world: World) -> set[str]:
    kind = "EC2 Instance Launch Successful"
    return {event["detail"]["EC2InstanceId"] for event in world.aws.events if event["detail-type"] == kind}


def test_a_handler_that_runs_out_of_time_is_called_again() -> None:
    with scene.world(pods=2, capacity={(EAST, "m5.large"): 1, (WEST, "m5.large"): 1}) as world:
        first: set[str] = set()

        def before(function: str, event: dict[str, Any]) -> None:
            if "plan_id" in event and function not in first:
                first.add(function)
                raise Killed

        world.aws.functions.before = before
        world.run(until=world.all_pods_run, limit_s=900)
        world.run(until=world.is_idle, limit_s=900)
        assert {"scale_out", "verify_instances", "verify_nodes"} <= first
        assert [item["status"] for item in world.executions()] == ["SUCCEEDED"]
        assert world.instances() == {f"{EAST}/cpu": 1, f"{WEST}/cpu": 1}
