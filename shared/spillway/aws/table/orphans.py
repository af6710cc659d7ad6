"""What dead executions left: swept at the next tick, once its plan has seen it."""

from datetime import datetime, timedelta

import msgspec

from spillway.aws.table import Table, leases, outcomes, requests
from spillway.model.memory import Memory, OpenRequest, RequestState
from spillway.model.plan import Outcome, OutcomeStatus, Plan
from spillway.model.policy import Policy

_STARTS_WITHIN = timedelta(seconds=60)  # until then an execution may be about to start, or not be told of yet


def sweep(table: Table, memory: Memory, plan: Plan, policy: Policy, now: datetime) -> int:
    """Closes orphaned requests and frees orphaned nodes; returns how many.

    A request that nobody may have raised is closed, but not in its first minute. One that was raised counts as coming
    while it is young, and is closed when its time is over or the plan gives back its group's gap, which then nobody else
    owns. A node keeps our marker: the plan, or the next one, drains it again or takes it back.
    """
    given_back = {(step.region, step.group) for step in plan.give_back}
    closed = 0
    for request in memory.requests:
        if not request.orphan:
            continue
        limit = timedelta(seconds=policy.for_group(request.group).scale_out.provision_time_s)
        if request.state is RequestState.PLANNED:
            if now - request.asked_at >= _STARTS_WITHIN:
                closed += _close(table, request, RequestState.CHANGED, now)
        elif now - request.asked_at > limit or (request.region, request.group) in given_back:
            closed += _close(table, request, RequestState.REFUSED, now)
    for drain in memory.drains:
        if drain.orphan:
            leases.release_node(table, drain.node, drain.plan_id, drain.step)
            closed += 1
    return closed


def _close(table: Table, request: OpenRequest, state: RequestState, now: datetime) -> bool:
    before = msgspec.structs.replace(request, orphan=False)
    lost = request.nodes - request.ready
    if not requests.advance(table, before, msgspec.structs.replace(before, state=state, missing=lost)):
        return False  # it is not so dead: somebody wrote to it since the memory was read
    outcome = Outcome(
        plan_id=request.plan_id,
        step=request.step,
        hop=request.hop,
        status=OutcomeStatus.FAILED,
        at=now,
        reason=f"its execution ended while {lost} of {request.nodes} nodes were not Ready",
        region=request.region,
        group=request.group,
        nodes=lost,
    )
    outcomes.put(table, outcome)
    return True
