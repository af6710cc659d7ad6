"""What calls the functions: the stream with its filter and retries, the queue with partial failures, the minute."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from spillway_local.clock import VirtualClock
from spillway_local.emulator.functions import Functions
from spillway_local.emulator.patterns import matches
from spillway_local.emulator.sources import Minutes, Queue, Stream
from spillway_local.emulator.template import QueueRule, Template

Handler = Callable[[dict[str, Any], Any], Any]


def functions(clock: VirtualClock, **handlers: Handler) -> Functions:
    return Functions(handlers, busy=clock.busy)


class Planner:
    """Notes the sort keys that it is woken with; fails as often as it is told."""

    def __init__(self, failures: int = 0) -> None:
        self.woken: list[list[str]] = []
        self.failures = failures

    def __call__(self, event: dict[str, Any], context: Any) -> None:
        self.woken.append([record["dynamodb"]["Keys"]["sk"]["S"] for record in event["Records"]])
        if self.failures:
            self.failures -= 1
            raise RuntimeError("not now")


def stream(planner: Planner) -> tuple[VirtualClock, Stream]:
    clock = VirtualClock()
    return clock, Stream(clock, functions(clock, plan=planner), Template().stream)


def write(stream: Stream, sk: str, kind: str = "MODIFY") -> None:
    stream._hear(kind, {"pk": {"S": "CLUSTER#prod"}, "sk": {"S": sk}})


def test_only_a_cluster_head_and_events_wake_the_planner() -> None:
    planner = Planner()
    clock, source = stream(planner)
    for sk in ("HEAD#fleet", "HEAD#cluster", "PLAN#a", "NODE#n", "EVENT#1"):
        write(source, sk)
    write(source, "HEAD#cluster", kind="REMOVE")
    clock.run(limit_s=5)
    assert planner.woken == [["HEAD#cluster", "EVENT#1"]]


def test_a_failed_batch_is_tried_twice_more_and_then_goes_to_the_failure_queue() -> None:
    planner = Planner(failures=3)
    clock, source = stream(planner)
    write(source, "HEAD#cluster")
    clock.run(limit_s=50)
    write(source, "EVENT#1")
    clock.run(limit_s=5)
    assert planner.woken == [["HEAD#cluster"]] * 3 + [["EVENT#1"]]
    assert [record["dynamodb"]["Keys"]["sk"]["S"] for record in source.dead] == ["HEAD#cluster"]


def test_a_second_delivery_can_be_asked_for() -> None:
    planner = Planner()
    clock, source = stream(planner)
    source.twice = True
    write(source, "HEAD#cluster")
    clock.run(limit_s=5)
    assert planner.woken == [["HEAD#cluster"]] * 2


def test_the_queue_hands_out_again_only_what_failed_and_gives_up_in_the_end() -> None:
    clock, seen = VirtualClock(), []

    def intake(event: dict[str, Any], context: Any) -> dict[str, Any]:
        bodies = {record["messageId"]: json.loads(record["body"])["n"] for record in event["Records"]}
        seen.append(sorted(bodies.values()))
        return {"batchItemFailures": [{"itemIdentifier": name} for name, n in bodies.items() if n == 2]}

    queue = Queue(clock, functions(clock, intake=intake), QueueRule(batch_size=10, visibility_s=120, max_receives=3))
    for n in (1, 2, 3):
        queue.send(json.dumps({"n": n}))
    clock.run(limit_s=600)
    assert seen == [[1, 2, 3], [2], [2]]
    assert queue.dead == ['{"n": 2}']


def test_a_batch_that_fails_whole_comes_again() -> None:
    clock, tries = VirtualClock(), []

    def intake(event: dict[str, Any], context: Any) -> None:
        tries.append(len(event["Records"]))
        if len(tries) == 1:
            raise RuntimeError("not now")

    queue = Queue(clock, functions(clock, intake=intake), QueueRule(batch_size=2, visibility_s=120, max_receives=3))
    for n in (1, 2, 3):
        queue.send(json.dumps({"n": n}))
    clock.run(limit_s=300)
    assert tries == [2, 1, 2]
    assert queue.dead == []


def test_scheduled_functions_run_every_minute_and_a_failed_one_once_more() -> None:
    clock, at = VirtualClock(), []
    start = clock.now()

    def snapshot(event: dict[str, Any], context: Any) -> None:
        at.append((clock.now() - start).total_seconds())
        if len(at) == 1:
            raise RuntimeError("not now")

    minutes = Minutes(clock, functions(clock, snapshot_fleet=snapshot), ("snapshot_fleet",))
    minutes.start()
    clock.run(limit_s=125)
    assert at == [0.0, 60.0, 60.0, 120.0]


def test_the_template_says_what_the_world_builds() -> None:
    template = Template()
    assert set(template.schedules) == {"snapshot_cluster", "snapshot_fleet"}
    assert template.table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    assert template.queue.max_receives == 3
    assert "plan" in template.functions.values()
    assert all("detail-type" in rule for rule in template.rules)


@pytest.mark.parametrize(
    ("event", "holds"),
    [
        ({"source": "aws.ec2", "detail": {"state": "running"}}, True),
        ({"source": "aws.ec2", "detail": {"state": "ran"}}, False),
        ({"source": "aws.s3", "detail": {"state": "running"}}, False),
        ({"source": "aws.ec2"}, False),
        ({"source": "aws.ec2", "detail": "text"}, False),
    ],
)
def test_patterns_match_as_eventbridge_does(event: dict[str, Any], holds: bool) -> None:
    assert matches({"source": ["aws.ec2"], "detail": {"state": ["stopped", {"prefix": "run"}]}}, event) is holds


def test_an_operator_that_is_not_known_is_told() -> None:
    with pytest.raises(ValueError, match="not suffix"):
        matches({"source": [{"suffix": "ec2"}]}, {"source": "aws.ec2"})
