"""Makes groups of one region smaller: by a drained node's instance, or by what never came.

terminate  ends an instance by id and lowers desired by one
confirm    asks EC2 and the group whether it has ended, or stays after all
give_back  lowers desired to what is there
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from spillway.aws import fleet_role, tasks
from spillway.aws.scaling import ending, returning
from spillway.aws.table import leases
from spillway.env import env
from spillway.model.plan import ScaleIn
from spillway.telemetry import Metric, emit, logger

_ENDS_S = 40  # EC2 rarely ends an instance sooner; an earlier look would be in vain
_POLL_S = 15


class Terminate(tasks.AskedOfRegion):
    action: Literal["terminate"]
    step: int = Field(ge=0)


class Confirm(tasks.AskedOfRegion):
    action: Literal["confirm"]
    step: int = Field(ge=0)


class GiveBack(tasks.AskedOfRegion):
    action: Literal["give_back"]
    steps: tuple[int, ...]


class Event(BaseModel):
    event: Annotated[Terminate | Confirm | GiveBack, Field(discriminator="action")]


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """`status` says where the workflow goes on; `reason` is for people."""
    asked = tasks.parse("scale_in", Event, {"event": event}).event
    fleet_role.take_on(env())
    done = {Metric.INSTANCES_ENDED: 0, Metric.NODES_GIVEN_BACK: 0}
    match asked:
        case Terminate():
            task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.IN)
            ended = ending.terminate(task, _ours(task, asked.step))
            done[Metric.INSTANCES_ENDED] = int(ended.is_new)
            answer: dict[str, Any] = {"status": ended.status, "reason": ended.reason, "wait_s": _ENDS_S}
        case Confirm():
            task = tasks.undo(asked.cluster, asked.plan_id)  # the instance is ending, whatever the switch says now
            ended = ending.confirm(task, _ours(task, asked.step))
            answer = {"status": ended.status, "reason": ended.reason, "wait_s": _POLL_S}
        case GiveBack():
            task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.BACK, first=True)
            done[Metric.NODES_GIVEN_BACK] = returning.give_back(task, asked.region, asked.steps)
            answer = {"given_back": done[Metric.NODES_GIVEN_BACK]}
    emit(asked.cluster, done, asked.region)
    logger.info("scale_in", plan_id=asked.plan_id, action=asked.action, **answer)
    return answer


def _ours(task: tasks.Task, number: int) -> ScaleIn:
    """The step, whose node nobody else drains meanwhile. Raises NotFound and LeaseHeld."""
    step = task.scale_in(number)
    if step.node:
        leases.drain(task.table, step.node, task.plan.plan_id, number)
    return step
