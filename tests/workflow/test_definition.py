"""The file of the workflow: sound as it stands, before anything runs."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonata
import pytest

from spillway import errors
from spillway_local.lint_workflow import problems
from tests.workflow.stubs import FILE, states

LAMBDAS = {  # Step Functions Developer Guide, "Handling errors"; Lambda's as the best practices name them
    "Lambda.ServiceException", "Lambda.AWSLambdaException", "Lambda.SdkClientException", "Lambda.TooManyRequestsException",
    "Sandbox.Timedout",
}  # fmt: skip
DIED = {"Lambda.Unknown", "Runtime.ExitError"}  # what the runtime was about to say is lost
KNOWN = {"States.ALL", "States.Timeout"} | LAMBDAS | DIED
OUR_RETRIES = ("LeaseHeld", "AwsUnavailable", "ClusterUnavailable")
OURS = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
TASKS = [(name, state) for name, state in states() if state["Type"] == "Task"]
EXPRESSION = re.compile(r"\{%(.*)%\}")


def expressions(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from expressions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from expressions(inner)
    elif isinstance(value, str) and (found := EXPRESSION.fullmatch(value)):
        yield found[1]


def handled(state: dict[str, Any], field: str) -> Iterator[str]:
    for one in state.get(field, ()):
        yield from one["ErrorEquals"]


def test_the_lint_has_nothing_to_say() -> None:
    assert problems(FILE.read_text(encoding="utf-8")) == []


def test_names_of_states_are_used_once() -> None:
    names = [name for name, _ in states()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("name", "state"), list(states()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_state_says_what_it_is_for(name: str, state: dict[str, Any]) -> None:
    assert len(state["Comment"]) > 10


@pytest.mark.parametrize(("name", "state"), list(states()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_error_that_is_handled_exists(name: str, state: dict[str, Any]) -> None:
    named = {*handled(state, "Catch"), *handled(state, "Retry")}
    assert named <= OURS | KNOWN


@pytest.mark.parametrize(("name", "state"), TASKS, ids=[name for name, _ in TASKS])
def test_every_task_ends_tries_again_and_catches_all_at_last(name: str, state: dict[str, Any]) -> None:
    assert state["TimeoutSeconds"]
    assert state["Catch"][-1]["ErrorEquals"] == ["States.ALL"]
    assert "States.ALL" not in [failure for catcher in state["Catch"][:-1] for failure in catcher["ErrorEquals"]]
    lambdas, *ours = state["Retry"]
    assert set(lambdas["ErrorEquals"]) == LAMBDAS | (DIED if name == "Terminate" else set())
    assert {failure for retry in ours for failure in retry["ErrorEquals"]} == {
        "LeaseHeld",
        "AwsUnavailable",
        "ClusterUnavailable",
    }
    assert all((retry["BackoffRate"], retry["JitterStrategy"]) == (2.0, "FULL") for retry in state["Retry"])


@pytest.mark.parametrize("expression", sorted(set(expressions(json.loads(FILE.read_text(encoding="utf-8"))))))
def test_every_expression_compiles_and_runs_on_the_laptop_too(expression: str) -> None:
    jsonata.Jsonata(expression)
    assert not re.search(r"\$(parse|partition|range|hash|uuid|random)\b", expression)
