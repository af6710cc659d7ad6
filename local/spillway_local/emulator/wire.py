"""Every call that our functions make over the network, one by one: counted, and cut where a fault says so.

A function that is killed before a call has not made it; one that is killed after it does not hear the answer. Neither
makes any further call: what it would have tidied up stays as it is, as when Lambda ends a runtime.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from botocore.endpoint import Endpoint
from botocore.exceptions import EndpointConnectionError

from spillway.aws.clients import FLEET
from spillway.kube.session import Session
from spillway_local.emulator.patching import Patch, patched

Event = Mapping[str, Any]


class When(StrEnum):
    BEFORE = "before"
    AFTER = "after"


@dataclass(eq=False)
class Killed(BaseException):
    """The runtime died under the handler: `Sandbox.Timedout`, or `Lambda.Unknown` when memory ran out.

    No handler's `except Exception` hears of it.
    """

    error: str = "Sandbox.Timedout"

    def __str__(self) -> str:
        return f"the runtime ended: {self.error}"


@dataclass(frozen=True, order=True)
class Call:
    """The `nth` call of its kind in one run of a function, or of one of its actions, for a step or a region.

    `what` is the service's operation, as in `dynamodb.PutItem LEASE` (with the kind of item), or Kubernetes' verb and resource,
    as in `kubernetes.PATCH nodes`.
    """

    function: str
    action: str
    subject: str
    what: str
    nth: int
    number: int = field(default=0, compare=False)  # of all calls of the run

    @property
    def is_write(self) -> bool:
        """Whether the world is another after it."""
        return not self.what.split(" ")[0].split(".")[1].startswith(_READS)


@dataclass
class _Run:
    """One run of a handler; `dead` once it was killed."""

    function: str
    action: str
    subject: str
    event: Event
    made: Counter[str] = field(default_factory=Counter)
    dead: bool = False


Fault = Callable[[Call, When, Event], None]
"""Called before and after each call with the event of its run. What it raises is the call's fault; Killed ends the run."""

_READS = ("BatchGet", "Describe", "GET", "Get", "Query")
_KIND = re.compile(r'"S": ?"([A-Z]+)(?=[#"])')  # all partitions are named CLUSTER#
_current: ContextVar[_Run | None] = ContextVar("invocation", default=None)


@dataclass
class Wire:
    """`made` are all calls in the order in which they began. Of `silent` regions the services of the fleet give no answer."""

    fault: Fault | None = None
    silent: set[str] = field(default_factory=set)
    made: list[Call] = field(default_factory=list)

    @contextmanager
    def running(self, function: str, event: Event) -> Iterator[None]:
        """This thread's calls are those of this run of the function. Those of threads that it starts are nobody's."""
        subject = event.get("step", event.get("region", ""))
        token = _current.set(_Run(function, str(event.get("action", "")), str(subject), event))
        try:
            yield
        finally:
            _current.reset(token)

    @contextmanager
    def open(self) -> Iterator[None]:
        """While it holds, calls of AWS and of the API server are seen."""
        send, ask = Endpoint.make_request, Session._once

        def make_request(endpoint: Any, operation: Any, request: dict[str, Any]) -> Any:
            service = operation.service_model.service_name
            if self.silent and service in FLEET and any(f".{region}." in endpoint.host for region in self.silent):
                raise EndpointConnectionError(endpoint_url=endpoint.host)
            with self._call(f"{service}.{operation.name}{_kind(service, request)}"):
                return send(endpoint, operation, request)

        def once(session: Any, access: Any, method: str, path: str, *rest: Any) -> Any:
            with self._call(f"kubernetes.{method} {_resource(path)}"):
                return ask(session, access, method, path, *rest)

        with patched([Patch(Endpoint, "make_request", make_request), Patch(Session, "_once", once)]):
            yield

    @contextmanager
    def _call(self, what: str) -> Iterator[None]:
        run = _current.get()
        if run is None:
            yield
            return
        if run.dead:
            raise Killed
        run.made[what] += 1
        call = Call(run.function, run.action, run.subject, what, run.made[what], run.made.total())
        self.made.append(call)
        self._meet(call, When.BEFORE, run)
        yield
        self._meet(call, When.AFTER, run)

    def _meet(self, call: Call, when: When, run: _Run) -> None:
        if self.fault is None:
            return
        try:
            self.fault(call, when, run.event)
        except Killed:
            run.dead = True
            raise


def _kind(service: str, request: Mapping[str, Any]) -> str:
    """Which kind of item a call of the table is about: the first one's that it names."""
    if service != "dynamodb":
        return ""
    body = request["body"]
    named = _KIND.findall(body if isinstance(body, str) else body.decode())
    return next((f" {kind}" for kind in named if kind != "CLUSTER"), "")


def _resource(path: str) -> str:
    """`nodes` of `/api/v1/nodes/n1`, `pods/eviction` of `/api/v1/namespaces/default/pods/p/eviction`."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    return "/".join([rest[0], *rest[2:]]) if rest else path
