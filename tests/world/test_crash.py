"""A handler that Lambda ends: the workflow calls it again. Where a whole run may end, tests/world/test_kills.py tries out."""

from typing import Any

import pytest

from spillway_local.emulator.wire import Killed
from tests.world import scene
from tests.world.scene import EAST, WEST

pytestmark = pytest.mark.timeout(300)


@pytest.mark.feature("EX-10")
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
