"""Starting a plan's workflow, asking whether it runs, waking it."""

import json
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from spillway.aws import clients, workflow
from spillway.errors import AwsForbidden, AwsUnavailable
from spillway.model.plan import Plan
from tests.workflow.world import HOME, MACHINE_ARN, WEST, World, fall, grow, leave, lower, open_world


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


def plan(world: World) -> Plan:
    return world.plan(
        grow(1, uncordon=("n1",), fallbacks=(fall(WEST, "b"),)), grow(2, "b"), leave(3, "i-1"), leave(4, "i-2"), lower(5, 3, 1)
    )


@pytest.mark.feature("EX-01")
def test_starts_once_under_the_plans_id_with_ids_only(world: World) -> None:
    made = plan(world)

    assert workflow.start(made)
    arn = MACHINE_ARN.replace(":stateMachine:", ":execution:") + ":p1"
    given = clients.client("stepfunctions", HOME).describe_execution(executionArn=arn)["input"]
    assert json.loads(given) == {
        "cluster": "prod",
        "plan_id": "p1",
        "grow": [{"region": HOME, "steps": [1, 2], "uncordon": True}, {"region": WEST, "steps": [], "uncordon": False}],
        "drains": [],
        "give_back": [{"region": HOME, "steps": [5]}],
    }
    given = clients.client("stepfunctions", HOME).describe_execution(executionArn=f"{arn}-2")["input"]
    assert json.loads(given) == {
        "cluster": "prod",
        "plan_id": "p1",
        "grow": [],
        "drains": [{"step": 3, "region": HOME}, {"step": 4, "region": HOME}],
        "give_back": [],
    }


@pytest.mark.feature("EX-01")
def test_an_execution_that_exists_counts_as_started(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    fails(monkeypatch, "start_execution", "ExecutionAlreadyExists")

    assert not workflow.start(plan(world))


@pytest.mark.feature("EX-12")
def test_a_thousand_drains_are_spread_over_executions_that_each_have_room(world: World) -> None:
    made = world.plan(grow(1), *(leave(n, f"i-{n}") for n in range(2, 1002)))

    parts = workflow.parts(made)
    assert [len(part["drains"]) for part in parts] == [0] + [20] * 50
    assert [drain["step"] for part in parts for drain in part["drains"]] == list(range(2, 1002))
    assert [len(part["grow"]) for part in parts] == [1] + [0] * 50


def test_a_few_drains_and_no_loops_share_one_execution(world: World) -> None:
    (part,) = workflow.parts(world.plan(leave(1, "i-1"), leave(2, "i-2"), lower(3, 3, 1)))

    assert [len(part[name]) for name in ("grow", "drains", "give_back")] == [0, 2, 1]


def test_a_plan_runs_while_any_of_its_executions_does(world: World) -> None:
    made = world.plan(*(leave(n, f"i-{n}") for n in range(1, 50)))
    for _ in range(2):
        workflow.start(made)
    answer = clients.client("stepfunctions", HOME).list_executions(stateMachineArn=MACHINE_ARN)
    assert sorted(item["name"] for item in answer["executions"]) == ["p1", "p1-2", "p1-3"]
    for name in ("p1", "p1-3"):
        stop(name)
    assert workflow.is_running("p1")
    stop("p1-2")
    assert not workflow.is_running("p1")


def test_a_refusal_to_start_names_the_action(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    fails(monkeypatch, "start_execution", "AccessDeniedException")

    with pytest.raises(AwsForbidden, match="states:StartExecution"):
        workflow.start(plan(world))


def test_knows_whether_a_plans_execution_runs(world: World) -> None:
    workflow.start(plan(world))
    assert workflow.is_running("p1")
    assert not workflow.is_running("p0")
    stop("p1")
    assert workflow.is_running("p1")  # its drains do
    stop("p1-2")
    assert not workflow.is_running("p1")


def test_a_describe_that_fails_is_not_taken_for_an_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    fails(monkeypatch, "describe_execution", "ThrottlingException")

    with pytest.raises(AwsUnavailable, match="states:DescribeExecution"):
        workflow.is_running("p1")


@pytest.mark.parametrize("code", ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"])
def test_a_loop_that_no_longer_waits_is_no_error(world: World, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    fails(monkeypatch, "send_task_success", code)

    assert not workflow.wake("token")


def stop(name: str) -> None:
    arn = MACHINE_ARN.replace(":stateMachine:", ":execution:") + f":{name}"
    clients.client("stepfunctions", HOME).stop_execution(executionArn=arn)


def fails(monkeypatch: pytest.MonkeyPatch, operation: str, code: str) -> None:
    def raises(**_: object) -> None:
        raise ClientError({"Error": {"Code": code, "Message": "no"}}, operation)

    monkeypatch.setattr(clients.client("stepfunctions", HOME), operation, raises)
