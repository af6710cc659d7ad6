"""One node of a plan: cordoned, emptied, or given back. Long waits are the workflow's; each call is short.

uncordon   takes nodes back that we had cordoned, before new ones are asked for
begin      the node's lease, a look whether the plan still holds, then cordon, taint and marker in one write
evict      one round of evictions; the workflow comes again until the node is empty or the deadline is over
abandon    leaves no trace of the drain, and says why it was given up
"""

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from spillway import clock
from spillway.aws import tasks
from spillway.aws.access import access
from spillway.aws.table import leases, outcomes, removals, replacements, settings, snapshots
from spillway.aws.table.replacements import Coming
from spillway.env import env
from spillway.errors import LeaseHeld
from spillway.kube import node as nodes
from spillway.kube import rounds
from spillway.kube.drain import VOLUNTARY, remaining
from spillway.kube.live_pods import pods_on
from spillway.kube.rounds import Round, State
from spillway.kube.session import Session, connect
from spillway.model.fleet import NodeGroup
from spillway.model.plan import OutcomeStatus, ScaleIn, Why
from spillway.planner.scale_in.rules.annotated import FORBID
from spillway.telemetry import Metric, emit, logger

_POLL_S = 15  # for replacements; the workflow waits longer after many rounds
_NODE_MAY_BE_GONE = (Why.VANISHED, Why.UNREGISTERED, Why.DEAD, Why.INTERRUPTED)


class Uncordon(tasks.AskedOfRegion):
    action: Literal["uncordon"]
    steps: list[int]


class Begin(tasks.AskedOfStep):
    action: Literal["begin"]


class Evict(tasks.AskedOfStep):
    action: Literal["evict"]
    volumes: bool = Field(True, description="What `begin` answered: whether the node had volumes to be detached")


class Abandon(tasks.AskedOfStep):
    action: Literal["abandon"]
    reason: str = "the drain was given up"


class Event(BaseModel):
    event: Annotated[Uncordon | Begin | Evict | Abandon, Field(discriminator="action")]


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """`status` says where the workflow goes on; `reason` is for people."""
    asked = tasks.parse("drain", Event, {"event": event}).event
    counted = (Metric.DRAINS_STARTED, Metric.PODS_EVICTED, Metric.DRAINS_ABANDONED, Metric.REMOVALS_HELD_BACK)
    done = dict.fromkeys(counted, 0)
    match asked:
        case Uncordon():
            answer = _uncordon(asked)
        case Begin():
            answer = _begin(asked)
            done[Metric.DRAINS_STARTED] = int(answer["status"] == "draining")
            done[Metric.REMOVALS_HELD_BACK] = int(answer["status"] == "held_back")
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
    task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.IN)
    step = task.scale_in(asked.step)
    ended = outcomes.get(task.table, asked.plan_id, step.step)
    if ended:
        if step.node:  # whoever wrote the outcome may have died before it let the node go
            leases.release_node(task.table, step.node, asked.plan_id, step.step)
        return _begun("abandoned", reason=f"the step has ended before: {ended.reason}")
    if not (step.node and leases.drains_for(task.table, step.node, asked.plan_id, step.step)):
        tasks.check_fresh(task)  # one that has begun goes on, also when it waited long for its replacements
    if step.node:
        leases.drain(task.table, step.node, asked.plan_id, step.step)
    coming, reason = replacements.of(task.table, task.plan, step)
    if coming is Coming.WAITING:
        return _begun("waiting", _POLL_S, reason)
    if coming is Coming.FAILED:
        return _not_begun(task, step, OutcomeStatus.NO_REPLACEMENT, reason)
    return _cordoned(task, step)


def _cordoned(task: tasks.Task, step: ScaleIn) -> dict[str, Any]:
    session = connect(partial(access, env()))
    if problem := _changed(session, task, step):
        return _not_begun(task, step, OutcomeStatus.CHANGED, problem, session)
    if problem := removals.book(task.table, task.plan, step, task.policy.for_group(step.group).scale_in.limits):
        return _not_begun(task, step, OutcomeStatus.HELD_BACK, problem, session)
    if not step.node:
        return _begun("draining")  # an instance that never joined: there is nothing to drain
    node = nodes.cordon(session, step.node, task.plan.plan_id, clock.utcnow())
    if node is None and step.why not in _NODE_MAY_BE_GONE:
        return _not_begun(task, step, OutcomeStatus.CHANGED, f"node {step.node} is gone", session)
    return _begun("draining", task.policy.drain.settle_s, volumes=node is not None and node.volumes)


def _evict(asked: Evict) -> dict[str, Any]:
    task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.IN)
    step = task.scale_in(asked.step)
    if not step.node:
        return _told(Round(State.EMPTY, "no node of this instance ever joined"))
    leases.drain(task.table, step.node, asked.plan_id, step.step)
    if not step.group:
        text = f"node {step.node} is in no group: EC2 is asked whether its instance is gone before it goes"
        return _told(Round(State.EMPTY, text))
    session = connect(partial(access, env()))
    node = nodes.get(session, step.node)
    if node is None:
        return _told(Round(State.EMPTY, f"node {step.node} is gone, and its pods with it"))
    if node.cordon != asked.plan_id or not node.is_leaving:
        return _told(Round(State.ABANDONED, f"node {step.node} is no longer cordoned by this plan: somebody gave it back"))
    if problem := _kept_by(task, step, node):
        return _told(Round(State.ABANDONED, problem))
    return _told(rounds.evict_round(session, node, step, task.policy, asked.volumes))


def _abandon(asked: Abandon) -> dict[str, Any]:
    task = tasks.undo(asked.cluster, asked.plan_id)
    step = task.scale_in(asked.step)
    if step.node:
        nodes.uncordon(connect(partial(access, env())), step.node, asked.plan_id)
    stopped = settings.is_stopped(task.table)
    _conclude(task, step, OutcomeStatus.STOPPED if stopped else OutcomeStatus.ABANDONED, asked.reason)
    return {"status": "abandoned", "reason": asked.reason}


def _changed(session: Session, task: tasks.Task, step: ScaleIn) -> str:
    """Why the plan no longer holds for this node or instance, "" when it does."""
    if not step.node:
        joined = nodes.by_instance(session, [step.instance_id], partial(_fleet, task))
        return "".join(f"{step.instance_id} has joined after all, as node {node.name}" for node in joined.values())
    node = nodes.get(session, step.node)
    if node is None:
        return "" if step.why in _NODE_MAY_BE_GONE else f"node {step.node} is gone"
    if not node.is_instance(step.instance_id, task.plan.created_at):
        instance = node.machine.instance_id if node.machine else "no EC2 instance that we know"
        return f"node {step.node} is {instance} now, the plan meant {step.instance_id}"
    if node.unschedulable and not node.cordon:
        return f"node {step.node} was cordoned by somebody else"
    if problem := _kept_by(task, step, node):
        return problem
    return remaining(pods_on(session, step.node), step, task.policy.pods.priority_cutoff, clock.utcnow()).problem


def _kept_by(task: tasks.Task, step: ScaleIn, node: nodes.LiveNode) -> str:
    """What forbids it now, whatever the plan saw: the policy, an annotation, or that the node has come back."""
    if step.group and task.policy.for_group(step.group).ignore:
        return f"node {node.name} is in group {step.group}, which the policy ignores"
    if step.why is Why.DEAD and node.ready:
        return f"node {node.name} is Ready again"
    found = [key for key, forbids in FORBID.items() if forbids(node.annotations.get(key, ""))]
    return f"node {node.name} carries the annotation {found[0]}" if found and step.why in VOLUNTARY else ""


def _fleet(task: tasks.Task) -> Iterable[NodeGroup]:
    """As last seen, for nodes that do not say which instance they are."""
    return snapshots.latest_fleet(task.table).groups


def _not_begun(
    task: tasks.Task, step: ScaleIn, status: OutcomeStatus, reason: str, session: Session | None = None
) -> dict[str, Any]:
    if session and step.node:
        nodes.uncordon(session, step.node, task.plan.plan_id)  # an earlier try of this task may have come as far
    _conclude(task, step, status, reason)
    return _begun("held_back" if status is OutcomeStatus.HELD_BACK else "abandoned", reason=reason)


def _conclude(task: tasks.Task, step: ScaleIn, status: OutcomeStatus, reason: str) -> None:
    """The outcome, unless the step has one; then the node is free for the next plan."""
    task.conclude(step, status, reason)
    removals.cancel(task.table, task.plan, step)
    if step.node:
        leases.release_node(task.table, step.node, task.plan.plan_id, step.step)


def _begun(status: str, settle_s: int = 0, reason: str = "", volumes: bool = False) -> dict[str, Any]:
    return {"status": status, "settle_s": settle_s, "volumes": volumes, "reason": reason}


def _told(one: Round) -> dict[str, Any]:
    figures = {"evicted": one.evicted, "wait_s": one.wait_s, "left_s": one.left_s}
    return {"status": one.state.value, **figures, "reason": one.reason, "told": one.told}
