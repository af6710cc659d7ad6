"""Takes what EC2 and Auto Scaling say, of every region, from the queue. An event is a hint; snapshots stay the truth.

A refused launch of one of our groups is remembered, and is news: the loops that wait in that region look again at once.
When none does, and no request for that group is to be looked at either, a plan is asked for, which then passes over what
was refused. What ends, or will end, one of our instances, and what begins or ends a capacity block that we launch into, is
a notice to the plan that is asked for at once. All else that our rules let through is of no use yet and dropped: a launch
that succeeds can wait for the next look, and a thousand of them would fill the history of the execution. What we do not
know fails, and goes to the dead letters.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from spillway.aws import failures, notices, tasks, workflow
from spillway.aws.scaling import following
from spillway.aws.table import Table, events, requests, settings, snapshots, waits
from spillway.aws.table import notices as told
from spillway.env import env
from spillway.errors import EventError, NotFound, SpillwayError
from spillway.model.fleet import FailureClass, LaunchFailure
from spillway.model.memory import Told
from spillway.telemetry import Metric, emit, logger

_REFUSED = "EC2 Instance Launch Unsuccessful"
_LAUNCHED = "EC2 Instance Launch Successful"
_NO_USE = frozenset({
    "AWS Health Event",
    "EC2 Instance Rebalance Recommendation",
    "EC2 Instance Terminate Successful",
    "EC2 Instance Terminate Unsuccessful",
    "EC2 Instance-launch Lifecycle Action",
    "EC2 Instance-terminate Lifecycle Action",
    "EC2 Spot Instance Interruption Warning",
})  # fmt: skip


class Message(BaseModel):
    id: str = Field(alias="messageId", min_length=1)
    body: str


class Event(BaseModel):
    records: tuple[Message, ...] = Field(alias="Records")


class Said(BaseModel):
    """An EventBridge event; `detail` is the service's own."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1)
    kind: str = Field(alias="detail-type", min_length=1)
    region: str = Field(min_length=1)
    time: AwareDatetime
    detail: Mapping[str, Any]


@dataclass(frozen=True)
class Ours:
    """What the newest fleet snapshot knows: groups by region and name, instances and reservations by region and id.

    None of them before the first one.
    """

    groups: frozenset[tuple[str, str]] = frozenset()
    subjects: frozenset[tuple[str, str]] = frozenset()


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Messages that failed, each for itself, so that the queue brings back only those."""
    asked = tasks.parse("intake", Event, event)
    table = Table(env().table, env().cluster)
    ours = cache(lambda: _ours(table))  # most batches hold nothing that is worth loading the fleet for
    failed: list[str] = []
    counted = Counter({Metric.EVENTS_TAKEN: 0, Metric.EVENTS_DROPPED: 0, Metric.LAUNCH_FAILURES_UNKNOWN: 0})
    for message in asked.records:
        try:
            counted.update(_take(table, ours, _read(message.body)))
        except SpillwayError as error:
            logger.error("an event is not taken", id=message.id, error=str(error))
            failed.append(message.id)
    emit(table.cluster, counted)
    return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in failed]}


def _read(body: str) -> Said:
    try:
        return tasks.parse("intake", Said, msgspec.json.decode(body))
    except msgspec.DecodeError as error:
        raise EventError("intake", (("body", f"is no JSON: {error}"),)) from error


def _take(table: Table, ours: Callable[[], Ours], said: Said) -> tuple[Metric, ...]:
    """What it counts as: dropped when it is another's, came before, or is of no use."""
    if said.kind in _NO_USE or said.kind == _LAUNCHED:
        return (Metric.EVENTS_DROPPED,)
    if said.kind in notices.KINDS:
        return _note(table, ours, said)
    if said.kind != _REFUSED:
        raise EventError("intake", (("detail-type", f"{said.kind!r} is not known"),))
    return _refused(table, ours, said)


def _note(table: Table, ours: Callable[[], Ours], said: Said) -> tuple[Metric, ...]:
    """Instances may end in hundreds: for those one plan a minute is asked for, for a warning one at once."""
    notice = notices.of_event(said.kind, said.region, said.time, said.detail)
    if notice is None or (notice.region, notice.subject) not in ours().subjects or not told.put(table, notice):
        return (Metric.EVENTS_DROPPED,)
    plan_id = f"{said.region}-{said.time:%Y%m%dT%H%M}" if notice.told is Told.GONE else said.id
    events.wake_planner(table, plan_id, {"region": said.region, "subject": notice.subject, "told": notice.told})
    return (Metric.EVENTS_TAKEN,)


def _refused(table: Table, ours: Callable[[], Ours], said: Said) -> tuple[Metric, ...]:
    group = str(said.detail.get("AutoScalingGroupName", ""))
    if (said.region, group) not in ours().groups or events.is_seen(table, said.id):
        return (Metric.EVENTS_DROPPED,)
    failure = _failure(said)
    if failure is not None:
        following.remember(table, settings.policy(table)[0], said.region, group, [failure])
    woken = _wake(table, said.region)
    if failure is not None and not woken and not _is_awaited(table, said.region, group):
        events.wake_planner(table, said.id, {"region": said.region, "group": group, "failure": failure.failure})
    events.mark_seen(table, said.id)
    is_unknown = failure is not None and failure.failure is FailureClass.UNKNOWN
    return (Metric.EVENTS_TAKEN, Metric.LAUNCH_FAILURES_UNKNOWN) if is_unknown else (Metric.EVENTS_TAKEN,)


def _wake(table: Table, region: str) -> int:
    """Loops of the region whose waiting ended. A token may outlive its loop: the next look, or the execution, was over."""
    waits.count_news(table, region)
    waiting = list(waits.waiting(table, region))
    return sum(waits.take(table, plan_id, region, token) and workflow.wake(token) for plan_id, token in waiting)


def _is_awaited(table: Table, region: str, group: str) -> bool:
    """False when nobody of ours waits for a launch of the group: it replaces, or somebody else raised it."""
    return any((request.region, request.group) == (region, group) for request in requests.live(table))


def _failure(said: Said) -> LaunchFailure | None:
    detail = {**said.detail, "Description": said.detail.get("Description") or "Launching a new EC2 instance"}
    detail["Details"] = msgspec.json.encode(said.detail.get("Details") or {}).decode()  # activities have it as text
    return failures.of_activity(detail)


def _ours(table: Table) -> Ours:
    try:
        fleet = snapshots.latest_fleet(table)
    except NotFound:
        return Ours()
    members = ((group.region, instance.id) for group in fleet.groups for instance in group.instances)
    return Ours(
        groups=frozenset((group.region, group.name) for group in fleet.groups),
        subjects=frozenset((*members, *((ceiling.region, ceiling.key) for ceiling in fleet.ceilings))),
    )
