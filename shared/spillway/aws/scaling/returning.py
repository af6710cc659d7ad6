"""Giving back what did not come. Desired is lowered to what lives, what still comes, and what others asked for, never
below: an instance that lives is only ever ended by name.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from spillway.aws.scaling import following, group, raising
from spillway.aws.scaling.group import GroupNow, Rejected
from spillway.aws.table import leases, memory, outcomes, requests
from spillway.aws.tasks import Task
from spillway.errors import AwsError, LeaseHeld
from spillway.model.fleet import FailureClass, LaunchFailure
from spillway.model.memory import OpenRequest, RequestState
from spillway.model.plan import GiveBack, OutcomeStatus, ScaleOut
from spillway.telemetry import logger


@dataclass(frozen=True)
class Returned:
    """`nodes` that are given up, `units` by which desired was lowered, and the request that goes on for them elsewhere.

    `unknown` refusals are in words that nobody knows.
    """

    nodes: int = 0
    units: int = 0
    following: OpenRequest | None = None
    unknown: int = 0


def refuse(
    task: Task, step: ScaleOut, request: OpenRequest, nodes: int, failures: Iterable[LaunchFailure] | None, text: str
) -> Returned:
    """Gives up `nodes` of an open request, and remembers why: the `failures`, or without any that nothing came in time. None:
    why is remembered already.

    The request and what follows it are written first: when lowering fails, the request is closed all the same, and the
    next plan gives back the gap that nobody owns. Raises LeaseHeld or AwsError when nothing was written.
    """
    with leases.group(task.table, request.region, request.group, request.id) as lease:
        now = group.read(task.table, request.region, request.group)
        unknown = 0
        if now is not None and not now.unable_to("Launch"):  # AWS refused nothing where it launches nothing
            unknown = _remember(task, request, failures) if failures is not None else 0
            if _state(request, nodes) is RequestState.REFUSED and not request.instances:
                memory.count_in_vain(task.table, task.policy, request)
        after = _following(task, step, request, nodes)
        refused = msgspec.structs.replace(request, missing=request.missing + nodes, state=_state(request, nodes))
        if not requests.advance(task.table, request, refused, lease, after):
            return Returned(unknown=unknown)  # something came meanwhile: the next look judges anew
        _tell(task, step, refused, nodes, after, text)
        absent = min(nodes, request.nodes - request.missing - len(request.instances))
        units = _lower(request, absent, now) if now is not None else 0
    return Returned(nodes, units, after, unknown)


def pass_on(task: Task, step: ScaleOut, request: OpenRequest, text: str) -> Returned:
    """Hands a request that nobody has begun to raise to the next fallback, by the table alone: its region may be silent.

    Whoever begins it meanwhile has written to it, and then it stays as it is. The group is passed over for a while: the
    next plan would wait for it as long again.
    """
    _remember(task, request, [following.own_failure(FailureClass.LATE, text)])
    after = _following(task, step, request, request.nodes)
    refused = msgspec.structs.replace(request, missing=request.nodes, state=RequestState.REFUSED)
    if not requests.advance(task.table, request, refused, following=after):
        return Returned()
    _tell(task, step, refused, request.nodes, after, text)
    return Returned(request.nodes, 0, after)


def _remember(task: Task, request: OpenRequest, failures: Iterable[LaunchFailure]) -> int:
    limit_s = task.policy.for_group(request.group).scale_out.provision_time_s
    found = list(failures) or [following.own_failure(FailureClass.LATE, f"nothing came within {limit_s} s")]
    return following.remember(task.table, task.policy, request.region, request.group, found)


def _state(request: OpenRequest, nodes: int) -> RequestState:
    """Once `nodes` are given up: does anybody still wait for the others?"""
    kept = request.nodes - request.missing - nodes
    if kept <= 0:
        return RequestState.REFUSED
    return RequestState.READY if kept <= request.ready else RequestState.OPEN


def _following(task: Task, step: ScaleOut, request: OpenRequest, nodes: int) -> OpenRequest | None:
    of_plan = requests.of_plan(task.table, task.plan.plan_id)
    return following.request_for(task, step, of_plan, request, nodes, memory.unavailable(task.table))


def _tell(task: Task, step: ScaleOut, request: OpenRequest, nodes: int, after: OpenRequest | None, text: str) -> None:
    """A hop that has some of its nodes is done with them, now or later; an unserved rest is told under the next hop."""
    if request.state is RequestState.REFUSED:
        status = OutcomeStatus.REFUSED if after else OutcomeStatus.UNSERVED
        outcomes.put(task.table, raising.outcome(step, task, status, text, request, nodes))
        return
    if request.state is RequestState.READY:
        outcomes.put(task.table, raising.outcome(step, task, OutcomeStatus.DONE, text, request, request.ready))
    if after is None:
        of_plan = requests.of_plan(task.table, task.plan.plan_id)
        hop = msgspec.structs.replace(request, hop=following.next_hop(of_plan, step.step))
        unserved = f"{text}; no fallback is left"
        outcomes.put(task.table, raising.outcome(step, task, OutcomeStatus.UNSERVED, unserved, hop, nodes))


def _lower(request: OpenRequest, nodes: int, now: GroupNow) -> int:
    """Units by which desired went down for `nodes` that have no instance."""
    missing = (request.to_desired - request.from_desired) * nodes // max(1, request.nodes)
    target = max(now.min_size, now.units, now.desired - missing)
    if target >= now.desired:
        return 0
    try:
        group.set_desired(now, target)
    except (Rejected, AwsError) as error:
        logger.warning("what did not come is not given back yet; the next plan does", group=now.key, error=str(error))
        return 0
    return now.desired - target


def give_back(task: Task, region: str, steps: Iterable[int]) -> int:
    """Carries out GiveBack steps of a region; returns the units by which desired went down.

    Raises LeaseHeld or AwsError of the first step that has to be tried again, after all others were done.
    """
    wanted = set(steps)
    lowered = 0
    again: Exception | None = None
    for step in task.plan.give_back:
        if step.step not in wanted or step.region != region:
            continue
        try:
            lowered += _give_back(task, step)
        except (LeaseHeld, AwsError) as error:
            logger.warning("a group is not lowered yet", group=f"{region}/{step.group}", error=str(error))
            again = again or error
    if again is not None:
        raise again
    return lowered


def _give_back(task: Task, step: GiveBack) -> int:
    if outcomes.get(task.table, task.plan.plan_id, step.step) is not None:
        return 0
    with leases.group(task.table, step.region, step.group, f"{task.plan.plan_id}#{step.step}#0"):
        status, text, lowered = _lower_to(step, group.read(task.table, step.region, step.group))
    task.conclude(step, status, text, lowered)
    return lowered


def _lower_to(step: GiveBack, now: GroupNow | None) -> tuple[OutcomeStatus, str, int]:
    name = f"{step.region}/{step.group}"
    if now is None:
        return OutcomeStatus.CHANGED, f"group {name} is gone", 0
    target = max(now.min_size, now.units, step.to_desired)
    if now.desired <= target:
        return OutcomeStatus.DONE, f"desired of {name} is {now.desired} already", 0
    if now.desired != step.from_desired:
        text = f"desired of {name} is {now.desired}, the plan saw {step.from_desired}: nothing was written"
        return OutcomeStatus.CHANGED, text, 0
    try:
        group.set_desired(now, target)
    except Rejected as error:
        return OutcomeStatus.CHANGED, f"Auto Scaling rejects {target} for {name}: {error}", 0
    return OutcomeStatus.DONE, f"desired of {name} went from {now.desired} to {target}", now.desired - target
