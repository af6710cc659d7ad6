"""Calls of a function, as the emulator sees and cuts them."""

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from spillway.aws import clients
from spillway_local.emulator.functions import FunctionFailed, Functions
from spillway_local.emulator.wire import Call, Event, Killed, When

HOME = "us-east-1"


@pytest.fixture
def functions(aws_credentials: None) -> Iterator[Functions]:
    """One function that raises a group and tidies up after it, in two calls."""

    def handler(event: Event, context: object) -> str:
        autoscaling = clients.client("autoscaling", HOME)
        try:
            autoscaling.describe_auto_scaling_groups()
            try:
                autoscaling.describe_policies()
            except Exception:
                return "a death is no error that a handler can hear of"
        finally:
            autoscaling.describe_tags()
        return "done"

    found = Functions({"scale_out": handler})
    with mock_aws(), found.wire.open():
        yield found


def call(what: str) -> Call:
    return Call("scale_out", "", HOME, f"autoscaling.{what}", 1)


def kill(at: str, moment: When) -> Any:
    def fault(made: Call, when: When, event: Event) -> None:
        if (made, when) == (call(at), moment):
            raise Killed

    return fault


def test_sees_each_call_with_the_region_that_it_is_for(functions: Functions) -> None:
    functions.invoke("scale_out", {"region": HOME})

    assert functions.wire.made == [call("DescribeAutoScalingGroups"), call("DescribePolicies"), call("DescribeTags")]
    assert not any(one.is_write for one in functions.wire.made)


@pytest.mark.parametrize("moment", When)
def test_who_is_killed_makes_no_further_call_not_even_to_tidy_up(functions: Functions, moment: When) -> None:
    functions.wire.fault = kill("DescribePolicies", moment)

    with pytest.raises(FunctionFailed, match=r"Sandbox\.Timedout"):
        functions.invoke("scale_out", {"region": HOME})
    assert functions.wire.made == [call("DescribeAutoScalingGroups"), call("DescribePolicies")]


def test_the_next_run_of_a_killed_function_is_alive(functions: Functions) -> None:
    functions.wire.fault = kill("DescribeAutoScalingGroups", When.BEFORE)
    with pytest.raises(FunctionFailed):
        functions.invoke("scale_out", {"region": HOME})
    functions.wire.fault = None

    assert functions.invoke("scale_out", {"region": HOME}) == "done"


@pytest.mark.parametrize(
    ("what", "writes"),
    [
        ("dynamodb.GetItem LEASE", False),
        ("dynamodb.BatchGetItem PART", False),
        ("dynamodb.Query REQUEST", False),
        ("dynamodb.UpdateItem LEASE", True),
        ("autoscaling.DescribeAutoScalingGroups", False),
        ("autoscaling.SetDesiredCapacity", True),
        ("kubernetes.GET pods", False),
        ("kubernetes.PATCH nodes", True),
        ("kubernetes.DELETE nodes", True),
    ],
)
def test_calls_that_change_the_world_are_told_from_those_that_read_it(what: str, writes: bool) -> None:
    assert Call("f", "", "", what, 1).is_write == writes
