"""`python -m tests.upgrade.record`: what a release leaves for the next one to be tested against, in tests/upgrade/previous.

The workflow's file, the schemas of its tasks' events, and what each task answered in the scenarios of tests/world/kills.py.
To be run when a release is made, by its code.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spillway.aws import clients
from spillway_local.cloudformation import ROOT
from spillway_local.world import World
from tests.world import kills
from tests.world.kills import Scenario
from tests.world.scene import EAST

FOLDER = Path(__file__).with_name("previous")
TASKS = ("drain", "remove_node", "scale_in", "scale_out", "verify_instances", "verify_nodes")
Event = dict[str, Any]


def key_of(function: str, event: Event) -> str:
    """A task of the workflow, and which of its loops asked: as in `scale_in.confirm 3`, `verify_instances.check us-west-2`."""
    name = f"{function}.{event['action']}" if "action" in event else function
    return f"{name} {event.get('step', event.get('region', ''))}".strip()


def run(scenario: Scenario) -> list[dict[str, Any]]:
    """Of each execution its input, and the answers of its tasks in order, by task."""
    answers: dict[str, dict[str, list[Any]]] = {}

    def recorded(name: str, handler: Callable[[Event, Any], Any]) -> Callable[[Event, Any], Any]:
        def handle(event: Event, context: Any) -> Any:
            answer = handler(event, context)
            if name in TASKS:
                answers.setdefault(event["plan_id"], {}).setdefault(key_of(name, event), []).append(answer)
            return answer

        return handle

    with scenario.open() as world:
        handlers = world.aws.functions.handlers
        world.aws.functions.handlers = {name: recorded(name, handlers[name]) for name in handlers}
        scenario.play(world)
        return [{"input": _input(world, item), "answers": answers[item["name"]]} for item in world.executions()]


def _input(world: World, execution: Event) -> Any:
    client = clients.client("stepfunctions", EAST)
    return json.loads(client.describe_execution(executionArn=execution["executionArn"])["input"])


if __name__ == "__main__":
    for source in (
        ROOT / "statemachine" / "execute_plan.asl.json",
        *(ROOT / f"docs/schema/event.{name}.json" for name in TASKS),
    ):
        (FOLDER / source.name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    runs = {name: run(scenario) for name, scenario in kills.SCENARIOS.items()}
    (FOLDER / "runs.json").write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
