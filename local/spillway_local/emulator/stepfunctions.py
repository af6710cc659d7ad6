"""moto's Step Functions interpreter, made to run our workflow: real ASL, our handlers in-process, virtual time.

Each patch names what stock moto 5.2.5 does; tests/local/test_emulator_stepfunctions.py has one test for each.
"""

import json
import logging
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timezone
from threading import RLock, Thread
from types import SimpleNamespace
from typing import Any

import jsonata
import moto.stepfunctions.parser.models  # noqa: F401  loads every module named below
import moto.stepfunctions.responses as api
from moto.stepfunctions.parser import models as backend
from moto.stepfunctions.parser.asl.component.common.retry import jitter_strategy_decl, retrier_decl
from moto.stepfunctions.parser.asl.component.program import program
from moto.stepfunctions.parser.asl.component.state.exec import execute_state
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration import inline_iteration_component, job
from moto.stepfunctions.parser.asl.component.state.exec.state_parallel import branch_worker, branches_decl
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction
from moto.stepfunctions.parser.asl.eval import environment, states, variable_store
from moto.stepfunctions.parser.asl.eval.callback import callback
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.jsonata import jsonata as moto_jsonata
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.utils import json_path
from moto.stepfunctions.parser.asl.utils.encoding import to_json_str
from moto.stepfunctions.parser.backend import execution_worker

from spillway_local.clock import VirtualClock
from spillway_local.emulator.functions import FunctionFailed, Functions
from spillway_local.emulator.patching import Patch, patched
from spillway_local.emulator.threads import Inline, busy_thread, stand_in, virtual_event

_PARSED: dict[str, Any] = {}
_LAST_STEP_S = 30.0  # real seconds: a handler under way is let finish
_BINDINGS = "\x00"  # JSON never holds it bare: it parts variables from the expression that uses them
_INDEX_OF_MANY = re.compile(r"\[[^\]]*[*?:,]")


@contextmanager
def interpreter(clock: VirtualClock, functions: Functions, seed: int = 0) -> Iterator[None]:
    """While it holds, executions in moto run `functions` in the time of `clock`; `seed` is for the jitter of retries.

    At the end no execution goes on: `clock` is closed, so that all that wait in it end, and no handler is called any more.
    """
    threads: list[Thread] = []
    log = logging.getLogger("moto.stepfunctions")
    level = log.level
    log.setLevel(logging.CRITICAL)  # moto tells of every caught error; the execution's history has them all
    try:
        with patched([*_lambda(functions), *_time(clock, seed, threads), *_jsonata(), *_dates(clock), _parser(), *_stopped()]):
            try:
                yield
            finally:
                functions.closed = True
                clock.close()
                for thread in threads:
                    thread.join(_LAST_STEP_S)
    finally:
        log.setLevel(level)


def function_name(text: str) -> str:
    """The name in a function's ARN, with or without a version, or the text itself."""
    return text.split(":function:")[-1].split(":")[0]


def _lambda(functions: Functions) -> list[Patch]:
    """Stock: starts a container. Here: calls the handler; errors go by their class name."""

    def invoke(parameters: Mapping[str, Any], region: str | None = None, state_credentials: object = None) -> dict[str, Any]:
        answer: dict[str, Any] = {"StatusCode": 200, "ExecutedVersion": "$LATEST"}
        try:
            name = function_name(parameters["FunctionName"])
            return answer | {"Payload": functions.invoke(name, json.loads(parameters.get("Payload") or "{}"))}
        except FunctionFailed as failure:
            error = {"errorType": failure.error_type, "errorMessage": failure.message}
            return answer | {"FunctionError": "Unhandled", "Payload": error}

    return [Patch(lambda_eval_utils, "_invoke_lambda_function", invoke)]


def _time(clock: VirtualClock, seed: int, threads: list[Thread]) -> list[Patch]:
    """Stock: real seconds. Here: waits, retry intervals, task tokens and joins pass in the clock's time."""
    event, busy = virtual_event(clock), busy_thread(clock, threads)
    side_by_side, inline = stand_in(event, busy), stand_in(event, Inline)

    def sleep(seconds: float) -> None:
        event().wait(seconds)

    def wait_interval(self: object, env: Any, wait_seconds: float) -> None:
        if env.is_running():  # else nothing rings any more
            env.program_state_event.wait(wait_seconds)  # rung by what ends the environment, and by nothing else

    return [
        Patch(execution_worker, "Thread", busy),
        Patch(branch_worker, "threading", side_by_side),
        Patch(branches_decl, "threading", side_by_side),
        Patch(inline_iteration_component, "threading", side_by_side),
        Patch(job, "threading", side_by_side),
        Patch(environment, "threading", side_by_side),
        Patch(callback, "Event", event),
        Patch(execute_state, "threading", inline),
        Patch(execute_state, "Thread", Inline),
        Patch(program, "threading", inline),
        Patch(WaitFunction, "_wait_interval", wait_interval),
        Patch(retrier_decl, "time", SimpleNamespace(sleep=sleep)),
        Patch(jitter_strategy_decl, "random", random.Random(seed)),
    ]


def _jsonata() -> list[Patch]:
    """Stock: no JSONata at all, and JSONPath gives `[1]` for `$.list[0].field` where AWS gives 1."""

    compiled: dict[str, jsonata.Jsonata] = {}
    lock = RLock()  # a compiled expression holds the state of its evaluation

    def evaluate(text: str) -> Any:
        pieces = text.split(_BINDINGS)
        expression = "".join(pieces[::2])
        bindings = {name[1:]: value for piece in pieces[1::2] for name, value in json.loads(piece).items()}
        try:
            with lock:
                if expression not in compiled:
                    compiled[expression] = jsonata.Jsonata(expression)
                jsonata.Jsonata.CURRENT.jsonata = compiled[expression]
                return json.loads(json.dumps(compiled[expression].evaluate(None, bindings)))
        except Exception as error:
            raise moto_jsonata.JSONataException("UNKNOWN", f"{error} in {expression} with {bindings}") from error

    def declare(bindings: Mapping[str, Any]) -> str:
        # Stock: writes the values into the expression, where a quote ends them, and has all of it parsed at each call.
        return f"{_BINDINGS}{to_json_str(dict(bindings))}{_BINDINGS}" if bindings else ""

    def is_single(path: str) -> bool:
        return not _INDEX_OF_MANY.search(path)

    return [
        Patch(moto_jsonata, "_eval_jsonata", evaluate),
        Patch(states, "encode_jsonata_variable_declarations", declare),
        Patch(variable_store, "encode_jsonata_variable_declarations", declare),
        Patch(json_path, "_is_singleton_array_access", is_single),
    ]


def _parser() -> Patch:
    """Stock: parses the definition anew for each execution, 0.3 s for ours. What it parses into is never changed."""
    stock = AmazonStateLanguageParser.parse

    def parse(definition: str) -> Any:
        if definition not in _PARSED:
            _PARSED[definition] = stock(definition)
        return _PARSED[definition]

    return Patch(AmazonStateLanguageParser, "parse", staticmethod(parse))


def _stopped() -> list[Patch]:
    """Stock, once an execution was stopped: a branch that ends with an error turns ABORTED into FAILED, and one that has
    not begun dies without a word to those who wait for it."""
    set_error, evaluate = Environment.set_error, program.Program.eval

    def set_error_while_running(self: Any, error: Any) -> None:
        if self.is_running():
            set_error(self, error)

    def evaluate_while_running(self: Any, env: Any) -> None:
        try:
            evaluate(self, env)
        except RuntimeError:
            if env.is_running():
                raise

    return [
        Patch(Environment, "set_error", set_error_while_running),
        Patch(program.Program, "eval", evaluate_while_running),
    ]


def _dates(clock: VirtualClock) -> list[Patch]:
    """Stock: a datetime in an output breaks DescribeExecution; executions start at the real time."""
    dumps: Callable[..., str] = lambda value, **_: to_json_str(value)  # noqa: E731
    now = SimpleNamespace(datetime=SimpleNamespace(now=lambda tz=None: clock.now()), timezone=timezone)
    return [Patch(api, "json", SimpleNamespace(dumps=dumps, loads=json.loads)), Patch(backend, "datetime", now)]
