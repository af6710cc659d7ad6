"""The real workflow with handlers that say what a test tells them to, in virtual time; and what it then went through."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from moto import mock_aws

from spillway.aws import clients
from spillway_local.clock import VirtualClock
from spillway_local.emulator.functions import Functions
from spillway_local.emulator.stepfunctions import interpreter
from spillway_local.emulator.template import Template

HOME, WEST = "us-east-1", "us-west-2"
FILE = Path(__file__).parents[2] / "statemachine" / "execute_plan.asl.json"
Answer = Any
Event = dict[str, Any]

QUIET: Mapping[str, Any] = {  # a plan all of whose tasks do at once what they are for
    "scale_in.give_back": {"given_back": 1},
    "drain.uncordon": {"uncordoned": ["n1"], "kept": []},
    "scale_out": {"raised": 2, "spill": []},
    "verify_instances.check": {"open": 0, "unready": 0, "spill": [], "done": True, "poll_s": 15, "news": 0},
    "verify_instances.wait": {"waiting": True},
    "verify_nodes": {"ready": 2, "waiting": 0},
    "drain.begin": {"status": "draining", "settle_s": 5, "volumes": False, "reason": ""},
    "drain.evict": {"status": "empty", "wait_s": 0, "left_s": 0, "evicted": 0, "reason": "no pod holds it", "told": ""},
    "scale_in.terminate": {"status": "ending", "reason": "", "wait_s": 40},
    "scale_in.confirm": {"status": "gone", "reason": "", "wait_s": 15},
    "remove_node": {"status": "removed"},
    "drain.abandon": {"status": "abandoned", "reason": ""},
}
INPUT: Mapping[str, Any] = {
    "cluster": "prod",
    "plan_id": "p1",
    "grow": [{"region": HOME, "steps": [1, 2], "uncordon": True}],
    "drains": [{"step": 5, "region": HOME}],
    "give_back": [{"region": HOME, "steps": [9]}],
}


@cache
def definition() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def states(machine: Mapping[str, Any] | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every state of the workflow, with those of its branches and maps, by name: names are used once."""
    for name, state in (machine or definition())["States"].items():
        yield name, state
        for inner in [*state.get("Branches", ()), *([state["ItemProcessor"]] if "ItemProcessor" in state else [])]:
            yield from states(inner)


def error(name: str) -> Exception:
    """What a handler raises that Step Functions knows as `name`."""
    return type(name, (Exception,), {})("told so by the test")  # type: ignore[no-any-return]


@dataclass
class Trace:
    """`steps` are (state, next state); `caught` are (state, error, next state)."""

    status: str
    took_s: float
    output: Any
    history: list[dict[str, Any]]
    calls: list[tuple[str, Event]] = field(default_factory=list)

    def __post_init__(self) -> None:
        by_id = {event["id"]: event for event in self.history}
        self.steps: set[tuple[str, str]] = set()
        self.caught: set[tuple[str, str, str]] = set()
        for event in self.history:
            before = by_id.get(event.get("previousEventId", 0), {})
            if "stateEnteredEventDetails" not in event or "stateExitedEventDetails" not in before:
                continue
            left, entered = before["stateExitedEventDetails"]["name"], event["stateEnteredEventDetails"]["name"]
            self.steps.add((left, entered))
            for failure in _failure(by_id.get(before["previousEventId"], {})):
                self.caught.add((left, failure, entered))

    def events(self, key: str) -> list[Event]:
        """What a function, or one of its actions, was called with."""
        return [event for name, event in self.calls if name == key]

    def keys(self) -> list[str]:
        return [name for name, _ in self.calls]


def _failure(event: Mapping[str, Any]) -> Iterator[str]:
    for name, details in event.items():
        if name.endswith(("FailedEventDetails", "TimedOutEventDetails")):
            yield details["error"]


@dataclass
class Workflow:
    clock: VirtualClock
    functions: Functions
    arn: str
    serial: Iterator[int] = field(default_factory=itertools.count)

    def run(self, given: Mapping[str, Any] = INPUT, answers: Mapping[str, Any] | None = None, limit_s: float = 90_000) -> Trace:
        """`answers` by function, or `function.action`: an answer, an exception to raise, a function of the event, or a
        list of these, of which the last one stays."""
        told = {key: list(value) if isinstance(value, list) else [value] for key, value in {**QUIET, **(answers or {})}.items()}
        calls: list[tuple[str, Event]] = []

        def handler(name: str) -> Callable[[Event, Any], Any]:
            def handle(event: Event, context: Any) -> Any:
                key = f"{name}.{event['action']}" if "action" in event else name
                calls.append((key, event))
                answer = told[key].pop(0) if len(told[key]) > 1 else told[key][0]
                answer = answer(event) if callable(answer) else answer
                if isinstance(answer, BaseException):
                    raise answer
                return answer

            return handle

        self.functions.handlers = {name: handler(name) for name in {key.partition(".")[0] for key in QUIET}}
        client, began = clients.client("stepfunctions", HOME), self.clock.now()
        with self.clock.busy():
            name = f"p{next(self.serial)}"
            run = client.start_execution(stateMachineArn=self.arn, name=name, input=json.dumps(given))["executionArn"]
        self.clock.run(until=lambda: client.describe_execution(executionArn=run)["status"] != "RUNNING", limit_s=limit_s)
        end = client.describe_execution(executionArn=run)
        pages = client.get_paginator("get_execution_history").paginate(executionArn=run)
        history = [event for page in pages for event in page["events"]]
        took_s = (self.clock.now() - began).total_seconds()
        return Trace(end["status"], took_s, json.loads(end.get("output", "null")), history, calls)


@contextmanager
def open_workflow() -> Iterator[Workflow]:
    """Today's."""
    clock = VirtualClock()
    functions = Functions({}, busy=clock.busy)
    config = {"core": {"reset_boto3_session": False}, "stepfunctions": {"execute_state_machine": True}}
    with mock_aws(config=config), interpreter(clock, functions):
        template = Template()
        arns = {name: f"arn:aws:lambda:{HOME}:123456789012:function:{name}:live" for name in template.functions.values()}
        machine = clients.client("stepfunctions", HOME).create_state_machine(
            name="execute-plan",
            definition=template.definition(arns),
            roleArn="arn:aws:iam::123456789012:role/execute-plan",
        )
        yield Workflow(clock, functions, machine["stateMachineArn"])
