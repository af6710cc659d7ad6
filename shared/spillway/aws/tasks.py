"""What every task of the workflow does first: read its event, and ask whether it may still act."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from spillway import clock
from spillway.aws.table import Table, outcomes, plans, settings
from spillway.env import env
from spillway.errors import EventError, NotFound, PlanStale, Stopped
from spillway.model.plan import GiveBack, Outcome, OutcomeStatus, Plan, ScaleIn
from spillway.model.policy import Mode, Policy

E = TypeVar("E", bound=BaseModel)


class Asked(BaseModel):
    """What the workflow tells every task."""

    cluster: str = Field(min_length=1)
    plan_id: str = Field(min_length=1)


class AskedOfRegion(Asked):
    region: str = Field(min_length=1)


class AskedOfStep(Asked):
    step: int = Field(ge=0)


class Side(StrEnum):
    """What a task does to the fleet, for the modes that do not allow all of it."""

    OUT = "scale out"
    IN = "scale in"
    BACK = "give back"  # lowers what was asked for and never came: adds no node, ends none


_FORBIDDEN = {
    Side.OUT: (Mode.OFF, Mode.DRY_RUN, Mode.SCALE_IN_ONLY),
    Side.IN: (Mode.OFF, Mode.DRY_RUN, Mode.SCALE_OUT_ONLY),
    Side.BACK: (Mode.OFF, Mode.DRY_RUN),
}


def parse(function: str, kind: type[E], event: Mapping[str, Any]) -> E:
    """Raises EventError with every wrong field."""
    try:
        return kind.model_validate(event)
    except ValidationError as error:
        problems = tuple((".".join(str(at) for at in one["loc"]) or "event", one["msg"]) for one in error.errors())
        raise EventError(function, problems) from error


@dataclass(frozen=True)
class Task:
    """A task that may act: the plan that it belongs to, and the policy as it is now, not as it was."""

    table: Table
    plan: Plan
    policy: Policy

    def conclude(self, step: ScaleIn | GiveBack, status: OutcomeStatus, reason: str, nodes: int = 0) -> None:
        """Writes the step's outcome, unless it has one."""
        outcomes.put(
            self.table,
            Outcome(
                plan_id=self.plan.plan_id,
                step=step.step,
                status=status,
                at=clock.utcnow(),
                reason=reason,
                region=step.region,
                group=step.group,
                node=step.node if isinstance(step, ScaleIn) else "",
                nodes=nodes,
            ),
        )

    def scale_in(self, step: int) -> ScaleIn:
        """Raises NotFound."""
        for one in self.plan.scale_in:
            if one.step == step:
                return one
        raise NotFound("the scale-in step", f"{self.plan.plan_id}#{step}")


def begin(cluster: str, plan_id: str, side: Side, first: bool = False) -> Task:
    """`first`: the task is the first of its step, so the plan must still be fresh.

    Raises NotFound, PolicyError, Stopped and PlanStale.
    """
    table = Table(env().table, cluster)
    task = Task(table, plans.get(table, plan_id), settings.policy(table)[0])
    check(task, side)
    if first:
        check_fresh(task)
    return task


def undo(cluster: str, plan_id: str) -> Task:
    """A task that only takes back what it did: allowed also while all is stopped or the policy is broken, which has no say.

    Raises NotFound.
    """
    table = Table(env().table, cluster)
    return Task(table, plans.get(table, plan_id), Policy())


def check_fresh(task: Task) -> None:
    """Raises PlanStale when the world may have become another since the plan was made."""
    age_s = int((clock.utcnow() - task.plan.created_at).total_seconds())
    if age_s > task.policy.max_snapshot_age_s:
        raise PlanStale(task.plan.plan_id, age_s, task.policy.max_snapshot_age_s)


def check(task: Task, side: Side) -> None:
    """Raises Stopped when the switch or the policy's mode forbids it."""
    switch = settings.switch(task.table)
    if switch.stopped:
        raise Stopped(task.plan.plan_id, f"{switch.by or 'somebody'} threw the switch ({switch.reason or 'no reason given'})")
    if task.policy.mode in _FORBIDDEN[side]:
        raise Stopped(task.plan.plan_id, f"the policy's mode {task.policy.mode} allows no {side}")
