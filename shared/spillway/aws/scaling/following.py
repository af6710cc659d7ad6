"""Where demand goes that a group could not serve: the step's next fallback that is not known to be refused."""

from collections.abc import Collection, Iterable

from spillway import clock
from spillway.aws.table import Table, memory, requests, snapshots
from spillway.aws.tasks import Task
from spillway.errors import NotFound
from spillway.model.fleet import FailureClass, LaunchFailure, NodeGroup, Scope
from spillway.model.memory import OpenRequest, RequestState, Unavailable
from spillway.model.plan import ScaleOut
from spillway.model.policy import Policy
from spillway.model.reason import Code
from spillway.planner import unavailable
from spillway.telemetry import logger

GROUPS_IN_VAIN = 3
"""Of a region, raised without growth: it is likely out as a whole, whatever words it has for that (us-east-1, October 2025)."""


def request_for(
    task: Task,
    step: ScaleOut,
    of_plan: Collection[OpenRequest],
    lost: OpenRequest,
    nodes: int,
    refusals: Iterable[Unavailable],
    elsewhere: bool = False,
) -> OpenRequest | None:
    """A planned request, at the next fallback after the group of `lost`, for what `nodes` of that group were to serve.

    A gang moves whole. None when no fallback is left. A region of which several groups were raised for the plan, and none
    grew, is left for the next one, as far as there is one; with `elsewhere` it is left in any case. Nothing is written.
    """
    hop = next_hop(of_plan, step.step)
    places = [(step.region, step.group, step.nodes), *((one.region, one.group, one.nodes) for one in step.fallbacks)]
    at = next((n for n, (region, group, _) in enumerate(places) if (region, group) == (lost.region, lost.group)), 0)
    blocked = list(refusals)
    further = places[at + 1 :]
    away = [place for place in further if place[0] != lost.region]
    if elsewhere or (away and _is_barren(lost, of_plan)):
        further = away
    for region, group, whole in further:
        if unavailable.passed_over(known_group(task.table, region, group), blocked, clock.utcnow()):
            continue
        before = places[at][2]
        return OpenRequest(
            id=requests.request_id(task.plan.plan_id, step.step, hop),
            plan_id=task.plan.plan_id,
            step=step.step,
            hop=hop,
            region=region,
            group=group,
            from_desired=0,
            to_desired=0,
            nodes=whole if step.gang else -(-nodes * whole // max(1, before)),
            asked_at=clock.utcnow(),
            state=RequestState.PLANNED,
        )
    return None


def _is_barren(lost: OpenRequest, of_plan: Iterable[OpenRequest]) -> bool:
    """Whether nothing of all that the plan asked of the region came, in several groups that are given up, `lost` among them."""
    there = [one for one in of_plan if one.region == lost.region and one.to_desired > one.from_desired]
    given_up = {one.group for one in there if one.state is RequestState.REFUSED} | {lost.group}
    return not any(one.instances for one in (*there, lost)) and len(given_up) >= GROUPS_IN_VAIN


def next_hop(of_plan: Iterable[OpenRequest], step: int) -> int:
    """Hops of a step are numbered as they come."""
    return max((request.hop for request in of_plan if request.step == step), default=-1) + 1


def known_group(table: Table, region: str, name: str) -> NodeGroup:
    """The group as the newest fleet snapshot has it, for its zones and types; a bare one where it has none."""
    try:
        fleet = snapshots.latest_fleet(table)
    except NotFound:
        return bare(region, name)
    return next((group for group in fleet.groups if (group.region, group.name) == (region, name)), bare(region, name))


def bare(region: str, name: str) -> NodeGroup:
    return NodeGroup(region=region, name=name, min_size=0, max_size=0, desired=0)


def remember(table: Table, policy: Policy, region: str, name: str, failures: Iterable[LaunchFailure]) -> int:
    """Marks what refused as unavailable, in the table, for the plans and fallbacks to come; oldest first, as the planner does.

    Returns how many of the refusals are in words that nobody knows.
    """
    group, backoff = known_group(table, region, name), policy.for_group(name).scale_out.backoff
    records = {(one.scope, one.key): one for one in memory.unavailable(table)}
    unknown = 0
    for failure in sorted(failures, key=lambda one: (one.at, one.activity_id)):
        if failure.failure is FailureClass.UNKNOWN:
            text = f"group {region}/{name}: a launch was refused for a reason we do not know: {failure.text}"
            logger.warning(text, code=Code.UNKNOWN_FAILURE.value)
            unknown += 1
        scope, key = unavailable.key_of(group, failure)
        before = records.get((scope, key))
        records[scope, key] = unavailable.refused(before, group, failure, backoff)
        if records[scope, key] != before:
            memory.mark_unavailable(table, records[scope, key])
    return unknown


def own_failure(failure: FailureClass, text: str) -> LaunchFailure:
    """Of the group as a whole, now, that no activity tells of."""
    return LaunchFailure(activity_id="", at=clock.utcnow(), failure=failure, scope=Scope.GROUP, text=text)
