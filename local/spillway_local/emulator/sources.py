"""What calls our functions: the table's stream, the queue of events, the minute. All by the clock."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from moto.dynamodb.models.table import StreamShard

from spillway_local.clock import Timer, VirtualClock
from spillway_local.emulator.functions import FunctionFailed, Functions
from spillway_local.emulator.patching import Patch, patched
from spillway_local.emulator.patterns import matches
from spillway_local.emulator.template import QueueRule, StreamRule

DELAY_S = 0.5  # from a write or an event to the function
TICK_S = 60.0
Record = dict[str, Any]


@dataclass
class Stream:
    """The table's stream before one function: filtered, in order, in batches, retried, given up for the failure queue.

    `twice` delivers every batch again a second later.
    """

    clock: VirtualClock
    functions: Functions
    rule: StreamRule
    function: str = "plan"
    twice: bool = False
    dead: list[Record] = field(default_factory=list)
    _waiting: deque[Record] = field(default_factory=deque)
    _timer: Timer | None = None
    _tries: int = 0
    _number: int = 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Stock moto 5.2.5 feeds Lambda functions of its own only: every write is heard here instead."""

        def add(shard: Any, old: Any, new: Any) -> None:
            item = new if new is not None else old
            kind = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
            self._hear(kind, {name: item.attrs[name].to_regular_json() for name in ("pk", "sk")})

        with patched([Patch(StreamShard, "add", add)]):
            yield

    def _hear(self, kind: str, keys: Mapping[str, Any]) -> None:
        self._number += 1
        record = {
            "eventID": f"{self._number:032x}", "eventName": kind, "eventVersion": "1.1", "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1", "dynamodb": {
                "ApproximateCreationDateTime": self.clock.now().timestamp(), "Keys": keys,
                "SequenceNumber": str(self._number), "SizeBytes": 64, "StreamViewType": "KEYS_ONLY",
            },
        }  # fmt: skip
        if any(matches(pattern, record) for pattern in self.rule.filters):
            self._waiting.append(record)
            self._wake(DELAY_S)

    def _wake(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = self.clock.call_in(seconds, self._deliver)

    def _deliver(self) -> None:
        self._timer = None
        batch = [self._waiting[n] for n in range(min(len(self._waiting), self.rule.batch_size))]
        oldest = self.clock.now().timestamp() - self.rule.max_age_s
        stale = [record for record in batch if record["dynamodb"]["ApproximateCreationDateTime"] < oldest]
        fresh = [record for record in batch if record not in stale]
        try:
            if fresh:
                self.functions.invoke(self.function, {"Records": fresh})
        except FunctionFailed:
            self._tries += 1
            if self._tries <= self.rule.retries:
                return self._wake(float(2**self._tries))
            stale = batch
        self.dead += stale
        self._tries = 0
        for _ in batch:
            self._waiting.popleft()
        if self.twice and fresh:
            self.clock.call_in(1.0, lambda: self._again(fresh))
        if self._waiting:
            self._wake(DELAY_S)
        return None

    def _again(self, records: list[Record]) -> None:
        try:
            self.functions.invoke(self.function, {"Records": records})
        except FunctionFailed:
            self.dead += records


@dataclass
class _Message:
    id: str
    body: str
    received: int = 0


@dataclass
class Queue:
    """The queue of events before intake: batches, partial failures, dead letters after too many receives."""

    clock: VirtualClock
    functions: Functions
    rule: QueueRule
    function: str = "intake"
    dead: list[str] = field(default_factory=list)
    _ready: deque[_Message] = field(default_factory=deque)
    _timer: Timer | None = None
    _number: int = 0

    def send(self, body: str) -> None:
        self._number += 1
        self._ready.append(_Message(f"message-{self._number}", body))
        self._wake()

    def _wake(self) -> None:
        if self._timer is None and self._ready:
            self._timer = self.clock.call_in(DELAY_S, self._deliver)

    def _deliver(self) -> None:
        self._timer = None
        batch = [self._ready.popleft() for _ in range(min(len(self._ready), self.rule.batch_size))]
        for message in batch:
            message.received += 1
        failed = self._failed(batch)
        for message in batch:
            if message.id in failed and message.received >= self.rule.max_receives:
                self.dead.append(message.body)
            elif message.id in failed:
                self.clock.call_in(self.rule.visibility_s, self._again(message))
        self._wake()

    def _failed(self, batch: list[_Message]) -> set[str]:
        records = [
            {
                "messageId": message.id, "receiptHandle": message.id, "body": message.body, "eventSource": "aws:sqs",
                "attributes": {"ApproximateReceiveCount": str(message.received)}, "messageAttributes": {},
                "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:events", "awsRegion": "us-east-1",
            }
            for message in batch
        ]  # fmt: skip
        try:
            answer = self.functions.invoke(self.function, {"Records": records})
        except FunctionFailed:
            return {message.id for message in batch}
        return {item["itemIdentifier"] for item in (answer or {}).get("batchItemFailures", ())}

    def _again(self, message: _Message) -> Callable[[], None]:
        def again() -> None:
            self._ready.append(message)
            self._wake()

        return again


@dataclass
class Minutes:
    """Calls the scheduled functions once a minute; a failed call is tried once more a minute later, as Lambda does."""

    clock: VirtualClock
    functions: Functions
    names: tuple[str, ...]
    _timer: Timer | None = None

    def start(self) -> None:
        if self._timer is None:
            self._timer = self.clock.call_in(0, self._tick)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def once(self) -> None:
        """Calls all of them now, the fleet first, so that the plan of a first tick knows both."""
        for name in sorted(self.names, reverse=True):
            self._call(name, retries=1)

    def _tick(self) -> None:
        self._timer = self.clock.call_in(TICK_S, self._tick)
        self.once()

    def _call(self, name: str, retries: int) -> None:
        try:
            self.functions.invoke(name, {})
        except FunctionFailed:
            if retries:
                self.clock.call_in(TICK_S, lambda: self._call(name, retries - 1))
