"""Step Functions knows errors by their class names: what the workflow names must exist, and what exists must have a way."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from spillway import errors
from spillway_local.cloudformation import ROOT

DEFINITION = json.loads((ROOT / "statemachine/execute_plan.asl.json").read_text(encoding="utf-8"))

# Step Functions developer guide, "Handling errors"; Lambda's own, as it reports them there.
OF_AWS = {
    "States.ALL",
    "States.TaskFailed",
    "States.Timeout",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.ServiceException",
    "Lambda.TooManyRequestsException",
    "Sandbox.Timedout",
}
FAULTS = OF_AWS - {"States.ALL", "States.TaskFailed", "States.Timeout"}
DEATHS = {"Lambda.Unknown", "Runtime.ExitError"}  # of the runtime itself


def states(machine: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """All states, those of branches and maps too, by their path."""
    for name, state in machine["States"].items():
        yield f"{path}{name}", state
        for inner in [*state.get("Branches", []), *([state["ItemProcessor"]] if "ItemProcessor" in state else [])]:
            yield from states(inner, f"{path}{name}/")


STATES = dict(states(DEFINITION))
TASKS = {path: state for path, state in STATES.items() if state["Type"] == "Task"}


@pytest.mark.parametrize("path", STATES)
def test_a_state_catches_only_errors_that_exist(path: str) -> None:
    rules = [*STATES[path].get("Retry", []), *STATES[path].get("Catch", [])]
    named = {name for rule in rules for name in rule["ErrorEquals"]}
    ours = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, errors.SpillwayError)}
    assert named <= ours | OF_AWS | DEATHS


@pytest.mark.parametrize("path", STATES)
def test_only_the_last_rule_catches_all(path: str) -> None:
    for rules in (STATES[path].get("Retry", []), STATES[path].get("Catch", [])):
        assert not [rule for rule in rules[:-1] if "States.ALL" in rule["ErrorEquals"]]


@pytest.mark.parametrize("path", TASKS)
def test_a_task_ends_in_time_survives_a_fault_of_lambda_and_never_fails_the_others(path: str) -> None:
    task = TASKS[path]
    assert task["TimeoutSeconds"]
    retried = {name for rule in task.get("Retry", []) for name in rule["ErrorEquals"]}
    assert retried >= FAULTS
    assert all(rule["JitterStrategy"] == "FULL" and rule["BackoffRate"] == 2 for rule in task["Retry"])
    assert "States.ALL" in task["Catch"][-1]["ErrorEquals"]
