"""Takes what EC2 and Auto Scaling say, of every region, from the queue. An event is a hint; snapshots stay the truth.

A refused launch of one of our groups is news: the loops that wait in that region look again at once. When none waits,
the refusal is remembered and a plan asked for, which then passes over what was refused. All else that our rules let
through is of no use yet and dropped: a launch that succeeds can wait for the next look, and a thousand of them would
fill the history of the execution. What we do not know fails, and goes to the dead letters.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from spillway.aws import failures, tasks, workflow
from spillway.aws.scaling import following
from spillway.aws.table import Table, events, settings, snapshots, waits
from spillway.env import env
from spillway.errors import EventError, NotFound, SpillwayError
from spillway.telemetry import Metric, emit, logger

_REFUSED = "EC2 Instance Launch Unsuccessful"
_LAUNCHED = "EC2 Instance Launch Successful"
_NO_USE = frozenset({
    "AWS Health Event",
    "Capacity Block Delivered",
    "Capacity Block Expiration Warning",
    "Capacity Block Reservation Delivered",
    "Capacity Block Reservation Expiration Warning",
    "EC2 Capacity Reservation Instance Interruption Warning",
    "EC2 Instance Rebalance Recommendation",
    "EC2 Instance State-change Notification",
    "EC2 Instance Terminate Successful",
    "EC2 Instance Terminate Unsuccessful",
    "EC2 Instance-launch Lifecycle Action",
    "EC2 Instance-terminate Lifecycle Action",
    "EC2 Interruptible Capacity Reservation Instance Interruption Warning",
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
    detail: Mapping[str, Any]


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Messages that failed, each for itself, so that the queue brings back only those."""
    asked = tasks.parse("intake", Event, event)
    table = Table(env().table, env().cluster)
    ours = _groups(table)
    failed: list[str] = []
    taken = 0
    for message in asked.records:
        try:
            taken += _take(table, ours, _read(message.body))
        except SpillwayError as error:
            logger.error("an event is not taken", id=message.id, error=str(error))
            failed.append(message.id)
    dropped = len(asked.records) - len(failed) - taken
    emit(table.cluster, {Metric.EVENTS_TAKEN: taken, Metric.EVENTS_DROPPED: dropped})
    return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in failed]}


def _read(body: str) -> Said:
    try:
        return tasks.parse("intake", Said, msgspec.json.decode(body))
    except msgspec.DecodeError as error:
        raise EventError("intake", (("body", f"is no JSON: {error}"),)) from error


def _take(table: Table, ours: frozenset[tuple[str, str]], said: Said) -> bool:
    """True when it was of use; False when it is another's, came before, or is of no use."""
    if said.kind in _NO_USE or said.kind == _LAUNCHED:
        return False
    if said.kind != _REFUSED:
        raise EventError("intake", (("detail-type", f"{said.kind!r} is not known"),))
    group = str(said.detail.get("AutoScalingGroupName", ""))
    if (said.region, group) not in ours or events.is_seen(table, said.id):
        return False
    woken = _wake(table, said.region)
    if not woken:
        _remember(table, said, group)
    events.mark_seen(table, said.id)
    return True


def _wake(table: Table, region: str) -> int:
    """Loops that were waiting for the region."""
    waits.count_news(table, region)
    waiting = list(waits.waiting(table, region))
    for plan_id, token in waiting:
        if waits.take(table, plan_id, region, token):
            workflow.wake(token)
    return len(waiting)


def _remember(table: Table, said: Said, group: str) -> None:
    """Nobody of ours waits for this launch: the group replaces, or somebody else raised it."""
    detail = {**said.detail, "Description": said.detail.get("Description") or "Launching a new EC2 instance"}
    detail["Details"] = msgspec.json.encode(said.detail.get("Details") or {}).decode()  # activities have it as text
    failure = failures.of_activity(detail)
    if failure is not None:
        following.remember(table, settings.policy(table)[0], said.region, group, failure)
        events.wake_planner(table, said.id, {"region": said.region, "group": group, "failure": failure.failure})


def _groups(table: Table) -> frozenset[tuple[str, str]]:
    """(region, name) of our groups, none before the first fleet snapshot."""
    try:
        return frozenset((group.region, group.name) for group in snapshots.latest_fleet(table).groups)
    except NotFound:
        return frozenset()
