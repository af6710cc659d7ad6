"""The lint of the state machine finds what a person would plant."""

from collections.abc import Callable

import pytest

from spillway_local.cloudformation import ROOT
from spillway_local.lint_workflow import problems

DEFINITION = (ROOT / "statemachine/execute_plan.asl.json").read_text(encoding="utf-8")
SMALL = """{"QueryLanguage": "JSONata", "StartAt": "Sleep", "States": {
  "Sleep": {"Type": "Wait", "Seconds": "{% $states.input.wait_s %}", "Next": "Done"}, "Done": {"Type": "Succeed"}}}"""


def test_the_workflow_is_sound() -> None:
    assert problems(DEFINITION) == []


def test_an_expression_may_say_how_long_to_wait() -> None:
    assert problems(SMALL) == []


@pytest.mark.parametrize(
    "fault",
    [
        lambda text: text.replace('"Next": "Done"', '"Next": "Gone"'),
        lambda text: text.replace('"Seconds"', '"Second"'),
        lambda text: text.replace("$states.input.wait_s", "$count("),
        lambda text: text.replace('"{% $states.input.wait_s %}"', '"soon"'),
    ],
    ids=["a dangling Next", "a misspelt field", "an expression that does not compile", "a text for a number"],
)
def test_a_fault_is_found(fault: Callable[[str], str]) -> None:
    assert problems(fault(SMALL))
