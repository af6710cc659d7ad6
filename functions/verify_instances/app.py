"""What came of raised groups, for all open requests of a plan in one region; and the waiting between two looks.

check  looks once: claims new instances, gives back what AWS refused or what is overdue, hands the rest on
wait   keeps the task token that ends the waiting when an event brings news of the region
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from spillway.aws import fleet_role, tasks, workflow
from spillway.aws.scaling import judging
from spillway.aws.table import Table, waits
from spillway.env import env
from spillway.telemetry import Metric, emit, logger


class Check(tasks.AskedOfRegion):
    action: Literal["check"]


class Wait(tasks.AskedOfRegion):
    action: Literal["wait"]
    token: str = Field(min_length=1)
    news: int = Field(ge=0, description="The count that the last check answered")


class Event(BaseModel):
    event: Annotated[Check | Wait, Field(discriminator="action")]


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Of check: `open` requests, `unready` instances, `spill` as of scale_out, `done`, `poll_s`, `news`."""
    asked = tasks.parse("verify_instances", Event, {"event": event}).event
    if isinstance(asked, Wait):
        return _wait(asked)
    fleet_role.take_on(env())
    task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.OUT)
    found = judging.judge(task, asked.region)
    counted = {
        Metric.NODES_REFUSED: found.refused,
        Metric.NODES_GIVEN_BACK: found.given_back,
        Metric.LAUNCH_FAILURES_UNKNOWN: found.unknown,
    }
    emit(asked.cluster, counted, asked.region)
    answer: dict[str, Any] = {
        "open": found.open,
        "unready": found.unready,
        "spill": [{"region": region, "requests": ids} for region, ids in sorted(found.spill.items())],
        "done": found.done,
        "poll_s": found.poll_s,
        "news": found.news,
    }
    logger.info("verify_instances", plan_id=asked.plan_id, region=asked.region, **answer)
    return answer


def _wait(asked: Wait) -> dict[str, Any]:
    """The token is stored before the news are read: whatever comes after that finds it."""
    table = Table(env().table, asked.cluster)
    waits.store(table, asked.plan_id, asked.region, asked.token)
    moved = waits.news(table, asked.region) != asked.news
    if moved and waits.take(table, asked.plan_id, asked.region, asked.token):
        workflow.wake(asked.token)
    return {"waiting": not moved}
