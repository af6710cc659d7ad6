"""One node of a plan: cordoned, emptied, or given back. Long waits are the workflow's; each call is short.

uncordon   takes nodes back that we had cordoned, before new ones are asked for
begin      the node's lease, a look whether the plan still holds, then cordon, taint and marker in one write
evict      one round of evictions; the workflow comes again until the node is empty or the deadline is over
abandon    leaves no trace of the drain, and says why it was given up
"""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from spillway import clock
from spillway.aws import tasks
from spillway.aws.access import access
from spillway.aws.table import leases, outcomes, settings
from spillway.env import env
from spillway.errors import LeaseHeld
from spillway.kube import markers
from spillway.kube import node as nodes
from spillway.kube.drain import Remaining, counted, named, remaining
from spillway.kube.evict import Eviction, Verdict, evict, pods_on
from spillway.kube.session import Session, connect
from spillway.model.plan import AtDeadline, OutcomeStatus, ScaleIn, Why
from spillway.telemetry import Metric, emit, logger

_ROUND_S = 10  # Cluster Autoscaler's own pace of evictions
_NODE_MAY_BE_GONE = (Why.VANISHED, Why.UNREGISTERED, Why.DEAD, Why.INTERRUPTED)


class Uncordon(tasks.AskedOfRegion):
    action: Literal["uncordon"]
    steps: list[int]


class Begin(tasks.AskedOfStep):
    action: Literal["begin"]


class Evict(tasks.AskedOfStep):
    action: Literal["evict"]


class Abandon(tasks.AskedOfStep):
    action: Literal["abandon"]
    reason: str = "the drain was given up"


class Event(BaseModel):
    event: Annotated[Uncordon | Begin | Evict | Abandon, Field(discriminator="action")]


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """`status` says where the workflow goes on; `reason` is for people."""
    asked = tasks.parse("drain", Event, {"event": event}).event
    done = dict.fromkeys((Metric.DRAINS_STARTED, Metric.PODS_EVICTED, Metric.DRAINS_ABANDONED), 0)
    match asked:
        case Uncordon():
            answer = _uncordon(asked)
        case Begin():
            answer = _begin(asked)
            done[Metric.DRAINS_STARTED] = int(answer["status"] == "draining")
        case Evict():
            answer = _evict(asked)
            done[Metric.PODS_EVICTED] = answer["evicted"]
        case Abandon():
            answer = _abandon(asked)
            done[Metric.DRAINS_ABANDONED] = 1
    emit(asked.cluster, done)
    logger.info("drain", extra={"plan_id": asked.plan_id, "action": asked.action, **answer})
    return answer


def _uncordon(asked: Uncordon) -> dict[str, Any]:
    task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.OUT, first=True)
    session = connect(partial(access, env()))
    back: list[str] = []
    kept: list[dict[str, str]] = []
    for step in task.plan.scale_out:
        for name in step.uncordon if step.step in asked.steps else ():
            try:
                lease = leases.drain(task.table, name, asked.plan_id, step.step)
            except LeaseHeld as held:
                kept.append({"node": name, "reason": str(held)})
                continue
            if nodes.uncordon(session, name):
                back.append(name)
            leases.release(task.table, lease)
    return {"uncordoned": back, "kept": kept}


def _begin(asked: Begin) -> dict[str, Any]:
    task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.IN, first=True)
    step = task.scale_in(asked.step)
    ended = outcomes.get(task.table, asked.plan_id, step.step)
    if ended:
        if step.node:  # whoever wrote the outcome may have died before it let the node go
            leases.release_node(task.table, step.node, asked.plan_id, step.step)
        return _given_up(f"the step has ended before: {ended.reason}")
    if not step.node:
        return _draining(0)  # an instance that never joined: there is nothing to drain
    leases.drain(task.table, step.node, asked.plan_id, step.step)
    session = connect(partial(access, env()))
    problem = _changed(session, task, step)
    if not problem and nodes.cordon(session, step.node, asked.plan_id, clock.utcnow()) is None:
        problem = "" if step.why in _NODE_MAY_BE_GONE else f"node {step.node} is gone"
    if problem:
        nodes.uncordon(session, step.node, asked.plan_id)  # an earlier try of this task may have come as far
        _conclude(task, step, OutcomeStatus.CHANGED, problem)
        return _given_up(problem)
    return _draining(task.policy.drain.settle_s)


def _evict(asked: Evict) -> dict[str, Any]:
    task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.IN)
    step = task.scale_in(asked.step)
    if not step.node:
        return _round("empty", 0, "no node of this instance ever joined")
    leases.drain(task.table, step.node, asked.plan_id, step.step)
    if not step.group:
        return _round("empty", 0, f"node {step.node} is in no group: EC2 is asked whether its instance is gone before it goes")
    session = connect(partial(access, env()))
    node = nodes.get(session, step.node)
    if node is None:
        return _round("empty", 0, f"node {step.node} is gone, and its pods with it")
    if node.cordon != asked.plan_id:
        return _round("abandoned", 0, f"node {step.node} no longer carries our marker: somebody gave it back")
    left = remaining(pods_on(session, step.node), step, task.policy.pods.priority_cutoff)
    if left.strangers:
        return _round("abandoned", 0, f"node {step.node} runs {named(left.strangers)}, which the plan did not know")
    if not left.count:
        return _round("empty", 0, f"no pod holds node {step.node}")
    left_s = step.deadline_s - (clock.utcnow() - _since(node)).total_seconds()
    if left_s <= 0:
        return _deadline(step, left)
    tried = [evict(session, pod, task.policy.drain.max_grace_s) for pod in left.now]
    return _waiting(step, left, tried, left_s)


def _abandon(asked: Abandon) -> dict[str, Any]:
    task = tasks.undo(asked.cluster, asked.plan_id)
    step = task.scale_in(asked.step)
    if step.node:
        nodes.uncordon(connect(partial(access, env())), step.node, asked.plan_id)
    stopped = settings.is_stopped(task.table)
    _conclude(task, step, OutcomeStatus.STOPPED if stopped else OutcomeStatus.ABANDONED, asked.reason)
    return {"status": "abandoned", "reason": asked.reason}


def _changed(session: Session, task: tasks.Task, step: ScaleIn) -> str:
    """Why the plan no longer holds for this node, "" when it does."""
    node = nodes.get(session, step.node)
    if node is None:
        return "" if step.why in _NODE_MAY_BE_GONE else f"node {step.node} is gone"
    if not node.is_instance(step.instance_id, task.plan.created_at):
        instance = node.machine.instance_id if node.machine else "no EC2 instance that we know"
        return f"node {step.node} is {instance} now, the plan meant {step.instance_id}"
    if node.unschedulable and not node.cordon:
        return f"node {step.node} was cordoned by somebody else"
    strangers = remaining(pods_on(session, step.node), step, task.policy.pods.priority_cutoff).strangers
    return f"node {step.node} runs {named(strangers)}, which the plan did not know" if strangers else ""


def _conclude(task: tasks.Task, step: ScaleIn, status: OutcomeStatus, reason: str) -> None:
    """The outcome, unless the step has one; then the node is free for the next plan."""
    task.conclude(step, status, reason)
    if step.node:
        leases.release_node(task.table, step.node, task.plan.plan_id, step.step)


def _draining(settle_s: int) -> dict[str, Any]:
    return {"status": "draining", "settle_s": settle_s, "reason": ""}


def _given_up(reason: str) -> dict[str, Any]:
    return {"status": "abandoned", "settle_s": 0, "reason": reason}


def _round(status: str, evicted: int, reason: str, wait_s: int = 0) -> dict[str, Any]:
    return {"status": status, "wait_s": wait_s, "evicted": evicted, "reason": reason}


def _deadline(step: ScaleIn, left: Remaining) -> dict[str, Any]:
    pods = (*left.now, *left.leaving, *left.later)
    text = f"after {step.deadline_s} s node {step.node} still runs {counted(len(pods))}: {named(pods)}"
    if step.at_deadline == AtDeadline.FORCE:
        logger.warning("drain forced", extra={"node": step.node, "pods": [pod.key for pod in pods]})
        return _round("empty", 0, f"{text}; by policy the instance is ended with them on it")
    return _round("deadline", 0, text)


def _waiting(step: ScaleIn, left: Remaining, tried: list[Eviction], left_s: float) -> dict[str, Any]:
    waits = [one for one in tried if one.verdict == Verdict.WAITING]
    evicted = sum(1 for one in tried if one.verdict == Verdict.EVICTED)
    text = f"node {step.node} still runs {counted(left.count)}"
    if waits:
        text += f"; {waits[0].pod} waits: {waits[0].reason}"
    asked_s = max((one.wait_s for one in waits), default=0.0)
    wait_s = int(max(1, min(max(asked_s, _ROUND_S), 3 * _ROUND_S, left_s)))
    return _round("waiting", evicted, text, wait_s)


def _since(node: nodes.LiveNode) -> datetime:
    """When the drain began, which the taint says."""
    values = [taint.get("value", "") for taint in node.taints if taint.get("key") == markers.LEAVING_TAINT]
    return datetime.fromtimestamp(int(values[0]), UTC) if values and values[0].isdigit() else clock.utcnow()
