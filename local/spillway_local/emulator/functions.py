"""Our handlers as Lambda runs them: JSON in, JSON out, errors known by their class name."""

import json
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from spillway_local.emulator.wire import Killed, Wire

Event = dict[str, Any]
Handler = Callable[[Event, Any], Any]
Before = Callable[[str, Event], None]
"""Called with the function's name and a copy of the event; what it raises is the invocation's fault.

`Killed` is a runtime that died, `ClientError` an answer of the Lambda service, anything else the function's own error.
"""


@dataclass(frozen=True)
class LambdaContext:
    """The fields of Lambda's context object that Powertools and our handlers read."""

    function_name: str
    aws_request_id: str
    memory_limit_in_mb: int = 512

    @property
    def invoked_function_arn(self) -> str:
        return f"arn:aws:lambda:us-east-1:123456789012:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


class FunctionFailed(Exception):
    """An invocation that ended with an error, told to whoever invoked it: `error_type` is the class name."""

    def __init__(self, function: str, error_type: str, message: str) -> None:
        super().__init__(f"{function}: {error_type}: {message}")
        self.function, self.error_type, self.message = function, error_type, message


@dataclass
class Functions:
    """`handlers` by function name. `twice` delivers every event a second time and takes the second answer.

    `calls` counts invocations by function, `failures` keeps what went wrong, newest last; `wire` sees each call that they make.
    """

    handlers: Mapping[str, Handler]
    busy: Callable[[], AbstractContextManager[None]] = nullcontext
    before: Before | None = None
    twice: bool = False
    closed: bool = False
    calls: Counter[str] = field(default_factory=Counter)
    failures: list[FunctionFailed] = field(default_factory=list)
    wire: Wire = field(default_factory=Wire)

    def invoke(self, name: str, event: Event) -> Any:
        """The handler's answer after a round trip through JSON; raises FunctionFailed, or ClientError of the service."""
        if self.closed:
            raise SystemExit  # the world has ended; whoever still runs in it ends too
        if name not in self.handlers:
            raise FunctionFailed(name, "ResourceNotFoundException", f"no function {name}; there are {', '.join(self.handlers)}")
        text = json.dumps(event)
        with self.busy():
            try:
                answer = self._run(name, text)
                return self._run(name, text) if self.twice else answer
            except ClientError as error:
                if error.operation_name == "Invoke":
                    raise
                raise self._failed(name, error, type(error).__name__) from error
            except Killed as error:
                raise self._failed(name, error, error.error) from error
            except Exception as error:
                raise self._failed(name, error, type(error).__name__) from error

    def _run(self, name: str, text: str) -> Any:
        self.calls[name] += 1
        event: Event = json.loads(text)
        if self.before is not None:
            self.before(name, json.loads(text))
        context = LambdaContext(name, str(uuid.UUID(int=sum(self.calls.values()))))
        with self.wire.running(name, json.loads(text)):
            return json.loads(json.dumps(self.handlers[name](event, context)))

    def _failed(self, name: str, error: BaseException, error_type: str) -> FunctionFailed:
        failure = FunctionFailed(name, error_type, str(error))
        failure.__cause__ = error
        self.failures.append(failure)
        return failure
