"""Scale out: raise desired by what a step, or a request that another group could not serve, asks for.

For each request, under the group's lease: read the group; settle what an earlier, dead invocation of this plan had
begun; refuse when desired is not what the step saw; record what is about to be written; write; record that it is.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import msgspec

from spillway import clock
from spillway.aws import clients
from spillway.aws.scaling import following, group
from spillway.aws.scaling.group import GroupNow, Rejected
from spillway.aws.table import Table, leases, memory, outcomes, requests
from spillway.aws.table.leases import Lease
from spillway.aws.tasks import Task
from spillway.errors import AwsError, AwsUnavailable, LeaseHeld, NotFound, PlanStale
from spillway.model.fleet import FailureClass
from spillway.model.memory import OpenRequest, RequestState
from spillway.model.plan import Outcome, OutcomeStatus, Plan, ScaleOut
from spillway.telemetry import logger


@dataclass(frozen=True)
class Raised:
    """`nodes` asked for by this call; `spill`: ids of requests, by region, that wait to be raised there."""

    nodes: int
    spill: dict[str, list[str]]


def raise_steps(task: Task, region: str, steps: Iterable[int]) -> Raised:
    """Raises LeaseHeld or AwsError of the first step that has to be tried again, after all others were done."""
    wanted = [step_of(task, number) for number in steps]
    known = {request.id for request in requests.of_plan(task.table, task.plan.plan_id)}
    ids: list[str] = []
    for step in wanted:
        if step.to_desired <= step.from_desired:
            outcomes.put(task.table, outcome(step, task, OutcomeStatus.DONE, "no new node was wanted, only cordoned ones"))
            continue
        request = _first(task.plan, step)
        ids.append(request.id)
        if request.id not in known:
            requests.create(task.table, request)
    return raise_requests(task, region, ids)


def plan_requests(table: Table, plan: Plan) -> None:
    """Writes down what the steps are about to ask for, before the plan is started: the next plan counts it as coming.

    Those that are there already stay as they are.
    """
    for step in plan.scale_out:
        if step.to_desired > step.from_desired:
            requests.create(table, _first(plan, step))


def close_stale(task: Task, steps: Iterable[int], stale: PlanStale) -> list[int]:
    """Closes the steps that were never begun; returns those that were, and are to be finished however old the plan is."""
    wanted = list(steps)
    known = requests.of_plan(task.table, task.plan.plan_id)
    begun = {request.step for request in known if is_begun(request)}
    planned = {request.step: request for request in known if not is_begun(request)}
    for number in wanted:
        if number in begun:
            continue
        step, before = step_of(task, number), planned.get(number)
        closed = msgspec.structs.replace(before or _first(task.plan, step), state=RequestState.CHANGED)
        if requests.advance(task.table, before, closed) if before else requests.create(task.table, closed):
            outcomes.put(task.table, outcome(step, task, OutcomeStatus.CHANGED, str(stale)))
    return [number for number in wanted if number in begun]


def raise_requests(task: Task, region: str, ids: Iterable[str]) -> Raised:
    """Raises LeaseHeld or AwsError of the first request that has to be tried again, after all others were done."""
    nodes = 0
    again: LeaseHeld | AwsError | None = None
    wanted = list(ids)
    for id_ in wanted:
        request = requests.get(task.table, id_)
        if request is None or request.region != region:
            raise NotFound(f"an open request of region {region}", id_)
        try:
            nodes += _raise(task, request)
        except (LeaseHeld, AwsError) as error:
            logger.warning("a group is not raised yet", request=id_, error=str(error))
            again = again or error
    if again is not None:
        raise again
    steps = {int(id_.split("#")[1]) for id_ in wanted}
    rest = (one for one in requests.of_plan(task.table, task.plan.plan_id) if one.step in steps and is_waiting(one))
    return Raised(nodes, by_region(rest))


def is_waiting(request: OpenRequest) -> bool:
    """Written down for a fallback, and nobody has begun to raise the group."""
    return request.hop > 0 and not is_begun(request)


def is_begun(request: OpenRequest) -> bool:
    """More than written down: what is to be written to desired is recorded, so it may have been, or the request is closed."""
    return request.state is not RequestState.PLANNED or request.to_desired > request.from_desired


def by_region(found: Iterable[OpenRequest]) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for request in found:
        result.setdefault(request.region, []).append(request.id)
    return result


def outcome(
    step: ScaleOut, task: Task, status: OutcomeStatus, reason: str, request: OpenRequest | None = None, nodes: int = 0
) -> Outcome:
    place = request or step
    return Outcome(
        plan_id=task.plan.plan_id,
        step=step.step,
        hop=request.hop if request else 0,
        status=status,
        at=clock.utcnow(),
        reason=reason,
        region=place.region,
        group=place.group,
        nodes=nodes,
    )


def step_of(task: Task, number: int) -> ScaleOut:
    for step in task.plan.scale_out:
        if step.step == number:
            return step
    raise NotFound("the scale-out step", f"{task.plan.plan_id}#{number}")


def _first(plan: Plan, step: ScaleOut) -> OpenRequest:
    """Nothing is begun: from and to are equal until the write is imminent."""
    return OpenRequest(
        id=requests.request_id(plan.plan_id, step.step, 0),
        plan_id=plan.plan_id,
        step=step.step,
        hop=0,
        region=step.region,
        group=step.group,
        from_desired=step.from_desired,
        to_desired=step.from_desired,
        nodes=step.nodes,
        asked_at=clock.utcnow(),
        state=RequestState.PLANNED,
    )


def _raise(task: Task, request: OpenRequest) -> int:
    """Nodes asked for by this call."""
    if request.state is not RequestState.PLANNED:
        return 0
    step = step_of(task, request.step)
    with leases.group(task.table, request.region, request.group, request.id) as lease:
        of_plan = requests.of_plan(task.table, task.plan.plan_id)
        try:
            now = group.read(task.table, request.region, request.group)
        except AwsUnavailable as error:
            _leave_silent(task, step, request, of_plan, lease, error)
            return 0
        if now is None:
            _move_on(task, step, request, of_plan, lease, f"group {request.region}/{request.group} is gone")
            return 0
        siblings = [one for one in of_plan if (one.region, one.group) == (request.region, request.group)]
        siblings = [_settle(task, one, now, lease) for one in siblings]
        current = next(one for one in siblings if one.id == request.id)
        if current.state is not RequestState.PLANNED:
            return 0
        if unable := now.unable_to("Launch"):  # since the plan was made: it passes such groups over
            _move_on(task, step, current, of_plan, lease, unable)
            return 0
        if problem := _changed(task, step, current, now, siblings):
            _close(task, step, current, lease, problem)
            return 0
        return _write(task, step, current, now, of_plan, lease)


def _settle(task: Task, request: OpenRequest, now: GroupNow, lease: Lease) -> OpenRequest:
    """What became of a write that was recorded and may have been made: desired tells, as we hold the lease."""
    if request.state is not RequestState.PLANNED or not is_begun(request):
        return request
    if now.desired == request.to_desired:
        settled = msgspec.structs.replace(request, state=RequestState.OPEN)
    elif now.desired == request.from_desired:
        settled = msgspec.structs.replace(request, to_desired=request.from_desired)
    else:  # it may have been written and changed since: what is too much is a gap that nobody owns, and is given back
        text = f"desired of {now.key} is {now.desired}, neither {request.from_desired} nor {request.to_desired}"
        settled = msgspec.structs.replace(request, state=RequestState.CHANGED)
        outcomes.put(task.table, outcome(step_of(task, request.step), task, OutcomeStatus.CHANGED, text, request))
    _must(requests.advance(task.table, request, settled, lease), request)
    return settled


def _changed(task: Task, step: ScaleOut, request: OpenRequest, now: GroupNow, siblings: list[OpenRequest]) -> str:
    """Why the step's view of the group no longer holds; "" when it does. A fallback adds to whatever is there."""
    if request.hop > 0:
        return ""
    seen = min(one.from_desired for one in task.plan.scale_out if (one.region, one.group) == (step.region, step.group))
    ours = sum(_units_asked(one) for one in siblings if one.id != request.id and one.state is not RequestState.CHANGED)
    if now.desired == seen + ours:
        return ""
    return f"desired of {now.key} is {now.desired}, the plan saw {seen} and raised it by {ours}: nothing was written"


def _units_asked(request: OpenRequest) -> int:
    """What the request adds to desired: what it raised less what was given back."""
    raised = request.to_desired - request.from_desired
    return raised - raised * request.missing // max(1, request.nodes)


def _write(
    task: Task, step: ScaleOut, request: OpenRequest, now: GroupNow, of_plan: Collection[OpenRequest], lease: Lease
) -> int:
    bounds = task.policy.for_group(now.name)
    limit = now.max_size if bounds.max is None else min(now.max_size, bounds.max)
    per_node = (step.to_desired - step.from_desired) // step.nodes if request.hop == 0 else now.weight
    nodes = min(request.nodes, max(0, limit - now.desired) // per_node)
    if step.gang and nodes < request.nodes:
        nodes = 0
    why = f"group {now.key} may grow to {limit} and has {now.desired}"
    if nodes == 0:
        _move_on(task, step, request, of_plan, lease, why)
        return 0
    begun = msgspec.structs.replace(
        request,
        nodes=nodes,
        from_desired=now.desired,
        to_desired=now.desired + nodes * per_node,
        before=now.members,
        asked_at=clock.utcnow(),
    )
    rest = request.nodes - nodes
    after = _following(task, step, request, rest, of_plan) if rest else None
    _must(requests.advance(task.table, request, begun, lease, after), request)
    if rest and after is None:
        hop = msgspec.structs.replace(request, hop=following.next_hop(of_plan, step.step))
        outcomes.put(task.table, outcome(step, task, OutcomeStatus.UNSERVED, f"{why}; no fallback is left", hop, rest))
    try:
        group.set_desired(now, begun.to_desired)
    except Rejected as error:
        _reject(task, step, begun, lease, f"Auto Scaling rejects {begun.to_desired} for {now.key}: {error}")
        return 0
    _must(requests.advance(task.table, begun, msgspec.structs.replace(begun, state=RequestState.OPEN), lease), begun)
    return nodes


def _close(task: Task, step: ScaleOut, request: OpenRequest, lease: Lease, text: str) -> None:
    closed = msgspec.structs.replace(request, state=RequestState.CHANGED, to_desired=request.from_desired)
    _must(requests.advance(task.table, request, closed, lease), request)
    outcomes.put(task.table, outcome(step, task, OutcomeStatus.CHANGED, text, request))


def _reject(task: Task, step: ScaleOut, request: OpenRequest, lease: Lease, text: str) -> None:
    """Nothing was written. The group is passed over for a while: it may be like this for long."""
    failure = following.own_failure(FailureClass.REJECTED, text)
    following.remember(task.table, task.policy, request.region, request.group, [failure])
    _move_on(task, step, request, requests.of_plan(task.table, task.plan.plan_id), lease, text)


def _leave_silent(
    task: Task, step: ScaleOut, request: OpenRequest, of_plan: Collection[OpenRequest], lease: Lease, error: AwsUnavailable
) -> None:
    """The region gives no answer: what it has not begun goes to the next region at once. Raises `error` where there is none,
    or where the region answers, and wants to be asked later."""
    refusals = memory.unavailable(task.table)
    after = following.request_for(task, step, of_plan, request, request.nodes, refusals, elsewhere=True)
    if after is None or is_begun(request) or not clients.is_silent(error):
        raise error
    late = following.own_failure(FailureClass.LATE, str(error))
    following.remember(task.table, task.policy, request.region, request.group, [late])
    refused = msgspec.structs.replace(request, state=RequestState.REFUSED, missing=request.nodes)
    _must(requests.advance(task.table, request, refused, lease, after), request)
    outcomes.put(task.table, outcome(step, task, OutcomeStatus.REFUSED, str(error), request, request.nodes))


def _move_on(
    task: Task, step: ScaleOut, request: OpenRequest, of_plan: Collection[OpenRequest], lease: Lease, text: str
) -> None:
    """The group can take nothing: all of it goes to the next fallback."""
    refused = msgspec.structs.replace(
        request, state=RequestState.REFUSED, missing=request.nodes, to_desired=request.from_desired
    )
    after = _following(task, step, request, request.nodes, of_plan)
    _must(requests.advance(task.table, request, refused, lease, after), request)
    status = OutcomeStatus.REFUSED if after else OutcomeStatus.UNSERVED
    outcomes.put(task.table, outcome(step, task, status, text, request, request.nodes))


def _following(
    task: Task, step: ScaleOut, request: OpenRequest, nodes: int, of_plan: Collection[OpenRequest]
) -> OpenRequest | None:
    return following.request_for(task, step, of_plan, request, nodes, memory.unavailable(task.table))


def _must(written: bool, request: OpenRequest) -> None:
    """A write under a lease that fails means that the lease is lost: whoever has it now goes on with what is recorded."""
    if not written:
        raise LeaseHeld(f"request {request.id}", "another invocation")
