"""Raises groups of one region: for steps of the plan, or for requests that another group could not serve."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, model_validator

from spillway.aws import fleet_role, tasks
from spillway.aws.scaling import raising
from spillway.aws.scaling.raising import Raised
from spillway.env import env
from spillway.errors import PlanStale
from spillway.telemetry import Metric, emit, logger


class Event(tasks.AskedOfRegion):
    steps: tuple[int, ...] = ()
    requests: tuple[str, ...] = Field((), description="Ids of requests, as verify_instances and scale_out hand them on")

    @model_validator(mode="after")
    def _one_of_both(self) -> "Event":
        if bool(self.steps) == bool(self.requests):
            raise ValueError("either steps or requests must be given")
        return self


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """`raised` nodes; `spill`: what is to be raised in which region because groups here are full."""
    asked = tasks.parse("scale_out", Event, event)
    fleet_role.take_on(env())
    raised = _requests(asked) if asked.requests else _steps(asked)
    emit(asked.cluster, {Metric.NODES_REQUESTED: raised.nodes}, asked.region)
    spill = [{"region": region, "requests": ids} for region, ids in sorted(raised.spill.items())]
    logger.info("scale_out", plan_id=asked.plan_id, region=asked.region, raised=raised.nodes, spill=spill)
    return {"raised": raised.nodes, "spill": spill}


def _requests(asked: Event) -> Raised:
    task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.OUT)
    return raising.raise_requests(task, asked.region, asked.requests)


def _steps(asked: Event) -> Raised:
    try:
        task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.OUT, first=True)
    except PlanStale as stale:
        task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.OUT)
        begun = raising.close_stale(task, asked.steps, stale)
        if not begun:
            raise
        return raising.raise_steps(task, asked.region, begun)
    return raising.raise_steps(task, asked.region, asked.steps)
