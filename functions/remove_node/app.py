"""The end of a scale in: the instance is gone, so its Node object goes too, and the step is done."""

from datetime import datetime
from functools import partial
from typing import Any

from pydantic import Field

from spillway.aws import tasks
from spillway.aws.access import access
from spillway.aws.table import leases
from spillway.env import env
from spillway.kube import node as nodes
from spillway.kube.session import connect
from spillway.model.plan import OutcomeStatus, ScaleIn
from spillway.telemetry import Metric, emit


class Event(tasks.AskedOfStep):
    told: str = Field("", description="What `drain` answered: what was still on the node when its instance was ended")


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """`removed`: no Node object of that instance is left; `kept`: the name is another instance's by now."""
    asked = tasks.parse("remove_node", Event, event)
    task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.IN)
    step = task.scale_in(asked.step)
    status = _remove(step, task.plan.created_at)
    text = "its Node object is deleted" if status == "removed" else "the name is another instance's, whose Node object stays"
    reason = f"node {step.node or step.instance_id}: instance {step.instance_id} has ended, {text}"
    reason += f"; {asked.told}" if asked.told else ""
    task.conclude(step, OutcomeStatus.DONE, reason, nodes=1)
    if step.node:
        leases.release_node(task.table, step.node, asked.plan_id, step.step)
    emit(asked.cluster, {Metric.NODES_REMOVED: int(status == "removed")})
    return {"status": status}


def _remove(step: ScaleIn, planned_at: datetime) -> str:
    session = connect(partial(access, env()))
    found = nodes.get(session, step.node) if step.node else None
    if found is None:
        return "removed"
    if not found.is_instance(step.instance_id, planned_at):
        return "kept"
    return "kept" if nodes.delete(session, found.name, found.uid) == nodes.Deletion.ANOTHER else "removed"
