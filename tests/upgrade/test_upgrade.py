"""A deploy while plans are carried out: an execution keeps the workflow that it began with, and calls the code of today.

Both may be the older one: CloudFormation moves the functions' aliases and the workflow one after the other. The release before
is in tests/upgrade/previous.
"""

import json
from collections import deque
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from spillway_local.cloudformation import resources
from tests.upgrade.record import FOLDER, TASKS, key_of
from tests.workflow.stubs import QUIET, Workflow, open_workflow
from tests.world import kills
from tests.world.kills import Scenario

pytestmark = [pytest.mark.timeout(300), pytest.mark.feature("OP-09")]
RUNS: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "runs.json").read_text(encoding="utf-8"))
SCHEMAS = {name: json.loads((FOLDER / f"event.{name}.json").read_text(encoding="utf-8")) for name in TASKS}
PREVIOUS = [(name, number) for name, runs in RUNS.items() for number in range(len(runs))]


@pytest.fixture
def workflow(aws_credentials: None) -> Iterator[Workflow]:
    with open_workflow() as opened:
        yield opened


@pytest.mark.parametrize("scenario", kills.SCENARIOS.values(), ids=kills.SCENARIOS)
def test_the_workflow_of_the_release_before_carries_a_plan_out_with_the_code_of_today(scenario: Scenario) -> None:
    with scenario.open(workflow=FOLDER / "execute_plan.asl.json") as world:
        scenario.play(world)
        assert kills.wrong(scenario, world) == []
        assert {item["status"] for item in world.executions()} == {"SUCCEEDED"}
        assert not [failure for failure in world.aws.functions.failures if failure.error_type != "LeaseHeld"]


@pytest.mark.parametrize(("name", "number"), PREVIOUS, ids=[f"{name}-{number}" for name, number in PREVIOUS])
def test_the_workflow_of_today_carries_a_plan_out_with_the_code_of_the_release_before(
    workflow: Workflow, name: str, number: int
) -> None:
    """That code is played by what it answered, and by what its events had to be."""
    run = RUNS[name][number]
    answers = {key: deque(found) for key, found in run["answers"].items()}

    def answer(function: str) -> Any:
        return lambda event: answers[key_of(function, event)].popleft()

    trace = workflow.run(run["input"], {key: answer(key.partition(".")[0]) for key in QUIET})
    assert trace.status == "SUCCEEDED"
    assert not trace.caught or {error for _, error, _ in trace.caught} == {"States.Timeout"}, "every answer was understood"
    assert {key: list(left) for key, left in answers.items() if left} == {}, "the same tasks were called as often"
    for key, event in trace.calls:
        jsonschema.validate(event, SCHEMAS[key.partition(".")[0]])


def test_the_workflow_calls_every_function_by_the_alias_that_a_deploy_moves() -> None:
    (machine,) = resources("AWS::Serverless::StateMachine").values()
    called = machine["DefinitionSubstitutions"].values()
    assert all(target["Ref"].endswith(".Alias") for target in called)
    assert len(list(called)) == len(TASKS)
