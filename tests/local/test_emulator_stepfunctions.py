"""One test for each patch on moto's interpreter: each fails when moto moves the name behind it."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.seconds import Seconds
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

from spillway_local.clock import VirtualClock
from spillway_local.emulator import stepfunctions
from spillway_local.emulator.functions import Functions
from spillway_local.emulator.patching import MotoMoved, Patch, patched
from spillway_local.emulator.threads import busy_thread
from spillway_local.emulator.wire import Killed

START = datetime(2026, 1, 1, tzinfo=UTC)
ROLE = "arn:aws:iam::123456789012:role/workflow"


class Workflow:
    def __init__(self, clock: VirtualClock, functions: Functions) -> None:
        self.clock, self.functions = clock, functions
        self.client = boto3.client("stepfunctions", "us-east-1")

    def start(self, states: dict[str, Any], data: object = None, **top: Any) -> str:
        definition = {"StartAt": next(iter(states)), "States": states, **top}
        machine = self.client.create_state_machine(name="m", definition=json.dumps(definition), roleArn=ROLE)
        with self.clock.busy():
            run = self.client.start_execution(
                stateMachineArn=machine["stateMachineArn"], name="one", input=json.dumps(data if data is not None else {})
            )
        return str(run["executionArn"])

    def describe(self, arn: str) -> dict[str, Any]:
        return dict(self.client.describe_execution(executionArn=arn))

    def finish(self, arn: str) -> tuple[str, Any, float]:
        """Status, output or error, and the virtual seconds that it took from now."""
        began = self.clock.now()
        self.clock.run(until=lambda: self.describe(arn)["status"] != "RUNNING", limit_s=86_400)
        end = self.describe(arn)
        output = json.loads(end["output"]) if "output" in end else end.get("error")
        return end["status"], output, (self.clock.now() - began).total_seconds()

    def run(self, states: dict[str, Any], data: object = None, **top: Any) -> tuple[str, Any, float]:
        return self.finish(self.start(states, data, **top))


@pytest.fixture
def workflow(aws_credentials: None) -> Iterator[Callable[..., Workflow]]:
    clock = VirtualClock()
    functions = Functions({}, busy=clock.busy)

    def make(**handlers: Callable[[dict[str, Any], Any], Any]) -> Workflow:
        functions.handlers = handlers
        return Workflow(clock, functions)

    config = {"core": {"reset_boto3_session": False}, "stepfunctions": {"execute_state_machine": True}}
    with mock_aws(config=config), stepfunctions.interpreter(clock, functions):  # type: ignore[arg-type]
        yield make


def task(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": True,
        "Parameters": {"FunctionName": f"arn:aws:lambda:us-east-1:123456789012:function:{name}:live", "Payload.$": "$"},
        "OutputPath": "$.Payload", **fields,
    }  # fmt: skip


def test_a_task_calls_the_handler_in_this_process(workflow: Callable[..., Workflow]) -> None:
    seen: list[Any] = []

    def handler(event: dict[str, Any], context: Any) -> Any:
        seen.append(context.function_name)
        return {"twice": event["n"] * 2}

    assert workflow(double=handler).run({"Do": task("double")}, {"n": 21})[:2] == ("SUCCEEDED", {"twice": 42})
    assert seen == ["double"]


def test_an_error_goes_by_its_class_name(workflow: Callable[..., Workflow]) -> None:
    class LeaseHeld(Exception):
        pass

    def handler(event: dict[str, Any], context: Any) -> Any:
        raise LeaseHeld("somebody else writes")

    caught = task("x", Catch=[{"ErrorEquals": ["LeaseHeld"], "Next": "Told"}])
    told = {"Type": "Pass", "End": True}
    status, output, _ = workflow(x=handler).run({"Do": caught, "Told": told})
    assert (status, output["Error"]) == ("SUCCEEDED", "LeaseHeld")


def test_retry_intervals_pass_in_virtual_time(workflow: Callable[..., Workflow]) -> None:
    tries: list[int] = []

    def handler(event: dict[str, Any], context: Any) -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise Killed
        return {}

    retry = [{"ErrorEquals": ["Sandbox.Timedout"], "IntervalSeconds": 100, "BackoffRate": 2, "MaxAttempts": 3}]
    status, _, took = workflow(x=handler).run({"Do": task("x", Retry=retry)})
    assert (status, len(tries), took) == ("SUCCEEDED", 3, 300.0)


def test_the_jitter_of_retries_comes_from_the_seed(workflow: Callable[..., Workflow]) -> None:
    tries: list[int] = []

    def handler(event: dict[str, Any], context: Any) -> Any:
        tries.append(1)
        if len(tries) < 2:
            raise Killed
        return {}

    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 100, "JitterStrategy": "FULL"}]
    _, _, took = workflow(x=handler).run({"Do": task("x", Retry=retry)})
    assert took == pytest.approx(84.4421851)  # random.Random(0).uniform(0, 100)


def test_a_wait_passes_in_virtual_time(workflow: Callable[..., Workflow]) -> None:
    states = {"Rest": {"Type": "Wait", "Seconds": 3600, "End": True}}
    assert workflow().run(states)[::2] == ("SUCCEEDED", 3600.0)


def test_branches_and_items_wait_side_by_side(workflow: Callable[..., Workflow]) -> None:
    rest = {"StartAt": "R", "States": {"R": {"Type": "Wait", "Seconds": 50, "End": True}}}
    each = {"Type": "Map", "ItemsPath": "$.items", "MaxConcurrency": 2, "ItemProcessor": rest, "End": True}
    branches = [rest, {"StartAt": "Each", "States": {"Each": each}}]
    states = {"Both": {"Type": "Parallel", "Branches": branches, "End": True}}
    status, output, took = workflow().run(states, {"items": [1, 2, 3]})
    assert (status, output, took) == ("SUCCEEDED", [{"items": [1, 2, 3]}, [1, 2, 3]], 100.0)


def test_a_map_over_nothing_ends_at_once(workflow: Callable[..., Workflow]) -> None:
    rest = {"StartAt": "R", "States": {"R": {"Type": "Wait", "Seconds": 50, "End": True}}}
    states = {"Each": {"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": rest, "End": True}}
    assert workflow().run(states, {"items": []}) == ("SUCCEEDED", [], 0.0)


def token_task(**fields: Any) -> dict[str, Any]:
    return {
        "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "End": True,
        "Parameters": {"FunctionName": "ask", "Payload": {"token.$": "$$.Task.Token"}}, **fields,
    }  # fmt: skip


def test_a_task_token_times_out_in_virtual_time(workflow: Callable[..., Workflow]) -> None:
    waits = token_task(TimeoutSeconds=15, Catch=[{"ErrorEquals": ["States.Timeout"], "Next": "Late"}])
    states = {"Await": waits, "Late": {"Type": "Pass", "Result": {"is": "late"}, "End": True}}
    assert workflow(ask=lambda event, context: {}).run(states) == ("SUCCEEDED", {"is": "late"}, 15.0)


@pytest.mark.parametrize("succeeds", [True, False])
def test_a_task_token_is_completed_from_outside(workflow: Callable[..., Workflow], succeeds: bool) -> None:
    tokens: list[str] = []
    world = workflow(ask=lambda event, context: tokens.append(event["token"]))
    arn = world.start({"Await": token_task(TimeoutSeconds=900)})

    def answer() -> None:
        if succeeds:
            world.client.send_task_success(taskToken=tokens[0], output='{"news": 1}')
        else:
            world.client.send_task_failure(taskToken=tokens[0], error="Gone", cause="it went")

    world.clock.call_in(7, answer)
    expected = ("SUCCEEDED", {"news": 1}, 7.0) if succeeds else ("FAILED", "Gone", 7.0)
    assert world.finish(arn) == expected


def test_a_stopped_execution_does_not_go_on(workflow: Callable[..., Workflow]) -> None:
    calls: list[int] = []
    world = workflow(x=lambda event, context: calls.append(1))
    arn = world.start({"Rest": {"Type": "Wait", "Seconds": 50, "Next": "Do"}, "Do": task("x")})
    world.clock.call_in(10, lambda: world.client.stop_execution(executionArn=arn, error="Killed"))
    assert world.finish(arn)[0] == "ABORTED"
    world.clock.run(limit_s=100)
    assert calls == []


def test_an_execution_that_is_stopped_under_a_task_that_fails_is_aborted(workflow: Callable[..., Workflow]) -> None:
    def handler(event: dict[str, Any], context: Any) -> None:
        world.client.stop_execution(executionArn=event["arn"])
        raise ValueError("too late")

    world = workflow(x=handler)
    payload = {"FunctionName": "x", "Payload": {"arn.$": "$$.Execution.Id"}}
    branch = {"StartAt": "Do", "States": {"Do": task("x", Parameters=payload)}}
    states = {"Both": {"Type": "Parallel", "Branches": [branch], "End": True}}
    assert world.run(states)[0] == "ABORTED"


def test_a_branch_that_had_not_begun_when_the_execution_was_stopped_ends_without_an_error(
    workflow: Callable[..., Workflow],
) -> None:
    class Stopped:
        """moto's environment of a stopped execution: it takes no next state any more."""

        def __setattr__(self, name: str, value: object) -> None:
            raise RuntimeError(f"Could not set {name}")

        def is_running(self) -> bool:
            return False

    workflow()
    rest = {"StartAt": "R", "States": {"R": {"Type": "Wait", "Seconds": 50, "End": True}}}
    program, _ = AmazonStateLanguageParser.parse(json.dumps(rest))
    program.eval(Stopped())


@pytest.mark.parametrize(
    ("end", "why"),
    [("set_stop", (START, None, None)), ("set_error", (None,)), ("set_timed_out", ()), ("set_ended", ())],
)
def test_a_wait_ends_with_its_environment_and_does_not_begin_after_it(
    workflow: Callable[..., Workflow], end: str, why: tuple[Any, ...]
) -> None:
    clock, seen = workflow().clock, list[float]()
    env = Environment(None, None, {"Execution": {"Input": {}}}, None, None, {})  # type: ignore[arg-type,typeddict-item]
    env.next_state_name = "Rest"
    assert env.is_running()

    def rest() -> None:
        for _ in range(2):
            Seconds(50)._wait_interval(env, 50)
            seen.append((clock.now() - START).total_seconds())

    with clock.busy():
        busy_thread(clock)(target=rest).start()
    clock.call_in(10, lambda: getattr(env, end)(*why))
    clock.run(until=lambda: len(seen) == 2, limit_s=200)
    assert seen == [10, 10]


def test_an_execution_that_is_stopped_by_the_task_that_should_wait_ends(workflow: Callable[..., Workflow]) -> None:
    def ask(event: dict[str, Any], context: Any) -> dict[str, Any]:
        world.client.stop_execution(executionArn=event["arn"])
        return {}

    world = workflow(ask=ask)
    waits = {
        "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "End": True,
        "TimeoutSeconds": "{% 15 %}",
        "Arguments": {"FunctionName": "ask", "Payload": {"arn": "{% $states.context.Execution.Id %}"}},
    }  # fmt: skip
    assert world.run({"Await": waits}, QueryLanguage="JSONata")[0] == "ABORTED"


def test_jsonata_with_variables_that_hold_quotes(workflow: Callable[..., Workflow]) -> None:
    first = {"Type": "Pass", "Assign": {"said": "{% $states.input.text %}"}, "Next": "Use"}
    use = {"Type": "Pass", "Output": {"n": "{% $count($states.input.list[kind='a']) %}", "said": "{% $said %}"}, "End": True}
    data = {"text": 'a "quoted" \\ word', "list": [{"kind": "a"}, {"kind": "b"}, {"kind": "a"}]}
    first["Output"] = "{% $states.input %}"
    status, output, _ = workflow().run({"First": first, "Use": use}, data, QueryLanguage="JSONata")
    assert (status, output) == ("SUCCEEDED", {"n": 2, "said": data["text"]})


def test_a_broken_expression_fails_the_execution(workflow: Callable[..., Workflow]) -> None:
    use = {"Type": "Pass", "Output": "{% $nothing( %}", "End": True}
    assert workflow().run({"Use": use}, {}, QueryLanguage="JSONata")[0] == "FAILED"


def test_one_element_by_json_path_is_no_list(workflow: Callable[..., Workflow]) -> None:
    states = {"Pick": {"Type": "Pass", "InputPath": "$.list[0].n", "End": True}}
    assert workflow().run(states, {"list": [{"n": 5}]})[1] == 5


def test_the_time_of_the_start_can_be_an_output(workflow: Callable[..., Workflow]) -> None:
    states = {"Say": {"Type": "Pass", "Parameters": {"at.$": "$$.Execution.StartTime"}, "End": True}}
    assert workflow().run(states)[1]["at"].startswith("2026-01-01T00:00:00")


def test_a_second_start_under_the_same_name_and_another_input_is_refused(workflow: Callable[..., Workflow]) -> None:
    world = workflow()
    states = {"Rest": {"Type": "Wait", "Seconds": 50, "End": True}}
    world.start(states, {"n": 1})
    with pytest.raises(world.client.exceptions.ExecutionAlreadyExists):
        world.start(states, {"n": 2})


def test_a_definition_is_parsed_once_for_all_its_executions(workflow: Callable[..., Workflow]) -> None:
    world = workflow()
    states = {"Rest": {"Type": "Wait", "Seconds": 41, "End": True}}
    assert world.run(states)[0] == "SUCCEEDED"
    (definition,) = [text for text in stepfunctions._PARSED if '"Seconds": 41' in text]
    assert AmazonStateLanguageParser.parse(definition) is AmazonStateLanguageParser.parse(definition)


def test_a_name_that_moto_has_moved_is_told() -> None:
    with pytest.raises(MotoMoved, match="has no old_name"), patched([Patch(stepfunctions, "old_name", 1)]):
        pass
