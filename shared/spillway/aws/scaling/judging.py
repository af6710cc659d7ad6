"""What came of the requests of one plan in one region, seen once for all of them: who waits on, who is refused."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from spillway import clock
from spillway.aws import failures, groups
from spillway.aws.scaling import claiming, following, group, raising, returning
from spillway.aws.scaling.group import GroupNow
from spillway.aws.table import Table, memory, outcomes, requests, waits
from spillway.aws.tasks import Task
from spillway.errors import AwsError, LeaseHeld
from spillway.model.fleet import LaunchFailure, Scope
from spillway.model.memory import OpenRequest, RequestState, Unavailable
from spillway.model.plan import OutcomeStatus, ScaleOut
from spillway.planner.starting import devices
from spillway.telemetry import logger

ZONE_PATIENCE = timedelta(seconds=60)  # a group of several zones goes to the next zone by itself
LEFT_AFTER = timedelta(seconds=60)  # a request that nobody has begun by then was left by a task that died
PASSED_ON_AFTER = timedelta(seconds=120)  # its region does not answer, or another has the group's lease for too long
STEP_LOST_AFTER = timedelta(seconds=300)  # past the age at which a plan may still be begun
POLL_S, SLOW_POLL_S = 15, 30
SLOW_AFTER = timedelta(seconds=300)  # most instances are Ready by then, and a history has no room for ever
LAST_POLL_S, OLD_AFTER = 60, timedelta(minutes=30)  # of a plan: what it still waits for has been refused again and again
_GROUPS_ASKED_ONE_BY_ONE = 5  # more are read from the region's common list of activities


@dataclass(frozen=True)
class Judgement:
    """`open` requests of the plan in the region; `unready` instances that came and are no Ready node yet; `spill`: ids by
    region that wait to be raised; `done`: nothing of the plan is open in any region; `poll_s` until the next look, unless
    there is news; `news` counted before this one; `unknown` refusals are in words that nobody knows."""

    open: int
    unready: int
    spill: dict[str, list[str]]
    done: bool
    poll_s: int
    news: int
    refused: int
    given_back: int
    unknown: int


def judge(task: Task, region: str) -> Judgement:
    """Raises AwsForbidden or AwsUnavailable when the region cannot be read; one group's trouble waits for the next look."""
    news = waits.news(task.table, region)
    known = {one.id: one for one in requests.of_region(task.table, region)}
    mine = [one for one in known.values() if one.plan_id == task.plan.plan_id and requests.is_live(one)]
    seen = _look(task.table, region, mine, known)
    mine += [one for one in requests.of_plan(task.table, task.plan.plan_id) if one.region != region and _is_stuck(one)]
    found: list[returning.Returned] = []
    for request in sorted(mine, key=lambda one: (one.asked_at, one.id)):
        try:
            found.append(_judge(task, request, seen))
        except (LeaseHeld, AwsError) as error:
            logger.warning("a request is judged at the next look", request=request.id, error=str(error))
    return _summary(task, region, found, news)


@dataclass(frozen=True)
class _Seen:
    groups: Mapping[str, GroupNow]
    failures: Mapping[str, list[LaunchFailure]]  # by group, newest first
    requests: dict[str, OpenRequest]  # all plans' of the region, by id; those of this plan as they are judged
    regions: tuple[Unavailable, ...]  # refusals that reach a whole region


def _look(table: Table, region: str, mine: list[OpenRequest], known: dict[str, OpenRequest]) -> _Seen:
    names = sorted({request.group for request in mine if request.state is RequestState.OPEN})
    if not names:
        return _Seen({}, {}, known, ())
    found = {name: group.of(table, region, raw) for name, raw in groups.by_name(region, names).items()}
    since = min(request.asked_at for request in mine if request.state is RequestState.OPEN)
    refused = tuple(one for one in memory.unavailable(table) if one.scope == Scope.REGION and one.key == region)
    return _Seen(found, _failures(region, sorted(found), since), known, refused)


def _failures(region: str, names: list[str], since: datetime) -> dict[str, list[LaunchFailure]]:
    if len(names) <= _GROUPS_ASKED_ONE_BY_ONE:
        items = [item for name in names for item in groups.activities(region, name, since=since)]
    else:
        items = groups.activities(region, None, since=since, max_pages=10)
    result: dict[str, list[LaunchFailure]] = {}
    for item in items:
        failure = failures.of_activity(item, clock.utcnow())
        if failure is not None:
            result.setdefault(str(item.get("AutoScalingGroupName")), []).append(failure)
    return result


def _judge(task: Task, request: OpenRequest, seen: _Seen) -> returning.Returned:
    limit_s = task.policy.for_group(request.group).scale_out.provision_time_s
    age = clock.utcnow() - request.asked_at
    step = _step(task, request)
    if _is_stuck(request):
        text = f"nobody could raise {request.region}/{request.group} within {int(PASSED_ON_AFTER.total_seconds())} s"
        return returning.pass_on(task, step, request, text)
    if request.state is RequestState.PLANNED:
        if age > timedelta(seconds=limit_s):
            _drop(task, step, request, f"nobody raised {request.region}/{request.group} within {limit_s} s")
        return returning.Returned()
    now = seen.groups.get(request.group)
    if now is None:
        text = f"group {request.region}/{request.group} is gone"
        return returning.refuse(task, step, request, request.nodes - request.missing, (), text)
    request = claiming.claim(task.table, request, now, seen.requests)
    wanted = request.nodes - request.missing
    waiting = wanted - len(request.instances)
    if waiting > 0 and (unable := now.unable_to("Launch")):
        return returning.refuse(task, step, request, wanted if step.gang else waiting, (), unable)
    failures = _refusals(request, now, seen.failures.get(request.group, []))
    if waiting > 0 and failures:
        nodes = wanted if step.gang else waiting
        text = f"{now.key} was refused {waiting} of {request.nodes} nodes: {failures[0].failure}: {failures[0].text}"
        return returning.refuse(task, step, request, nodes, failures, text)
    if waiting > 0 and (out := _refusal_of_region(request, seen)):
        text = f"region {now.region} launches nothing, as another group of it was told: {out}"
        return returning.refuse(task, step, request, wanted if step.gang else waiting, None, text)
    if age > timedelta(seconds=limit_s) and wanted > request.ready:
        nodes = wanted if step.gang else wanted - request.ready
        text = f"{nodes} of {request.nodes} nodes of {now.key} are not Ready{_devices(task, request)} after {limit_s} s"
        return returning.refuse(task, step, request, nodes, (), text)
    return returning.Returned()


def _devices(task: Task, request: OpenRequest) -> str:
    """A Ready node may be waited for because of them."""
    template = following.known_group(task.table, request.region, request.group).template
    names = sorted(devices(template.allocatable)) if template else []
    return f" with their {' and '.join(names)}" if names else ""


def _is_stuck(request: OpenRequest) -> bool:
    """Any region's loop may pass it on: its own may be busy with a region that does not answer."""
    return not raising.is_begun(request) and clock.utcnow() - request.asked_at >= PASSED_ON_AFTER


def _refusal_of_region(request: OpenRequest, seen: _Seen) -> str:
    """What another group was told since the request was made, where it holds for the whole region; "" for nothing."""
    asked = request.asked_at.replace(microsecond=0)
    told = (one for found in seen.failures.values() for one in found if one.scope is Scope.REGION and one.at >= asked)
    remembered = (one.reason for one in seen.regions if one.since >= asked)
    return next((f"{one.failure}: {one.text}" for one in told), next(remembered, ""))


def _refusals(request: OpenRequest, now: GroupNow, found: Iterable[LaunchFailure]) -> list[LaunchFailure]:
    """Those since the request was made, if the group will not get round them by itself: first the newest that it cannot."""
    since = [failure for failure in found if failure.at >= request.asked_at.replace(microsecond=0)]
    if not since:
        return []
    zonal = [failure for failure in since if failure.scope is Scope.ZONE]
    if len(zonal) < len(since):
        return [*(failure for failure in since if failure not in zonal), *zonal]
    tried = {failure.zone for failure in since}
    is_late = clock.utcnow() - min(failure.at for failure in since) >= ZONE_PATIENCE
    return since if is_late or set(now.zones) <= tried else []


def _summary(task: Task, region: str, found: list[returning.Returned], news: int) -> Judgement:
    of_plan = requests.of_plan(task.table, task.plan.plan_id)
    live = [request for request in of_plan if requests.is_live(request)]
    mine = [request for request in live if request.region == region]
    left = [one for one in mine if one.state is RequestState.PLANNED and clock.utcnow() - one.asked_at >= LEFT_AFTER]
    made = [one.following for one in found if one.following]
    waiting = {one.id: one for one in [*left, *made] if one.id in {request.id for request in live}}
    return Judgement(
        open=len(mine),
        unready=sum(max(0, len(one.instances) - one.ready) for one in mine if one.state is RequestState.OPEN),
        spill=raising.by_region(waiting.values()),
        done=not live and not _to_begin(task, of_plan),
        poll_s=_poll_s(task, live),
        news=news,
        refused=sum(one.nodes for one in found),
        given_back=sum(one.units for one in found),
        unknown=sum(one.unknown for one in found),
    )


def _poll_s(task: Task, live: Iterable[OpenRequest]) -> int:
    if clock.utcnow() - task.plan.created_at > OLD_AFTER:
        return LAST_POLL_S
    youngest = max((request.asked_at for request in live), default=None)
    return SLOW_POLL_S if youngest and clock.utcnow() - youngest > SLOW_AFTER else POLL_S


def _to_begin(task: Task, of_plan: Iterable[OpenRequest]) -> bool:
    """Steps that their own region's loop has yet to begin: until then it may still spill into this one."""
    begun = {request.step for request in of_plan}
    lost = timedelta(seconds=task.policy.max_snapshot_age_s) + STEP_LOST_AFTER
    left = [step for step in task.plan.scale_out if step.to_desired > step.from_desired and step.step not in begun]
    if left and clock.utcnow() - task.plan.created_at > lost:
        for step in left:
            text = "its task failed every time; the execution's history has the error"
            outcomes.put(task.table, raising.outcome(step, task, OutcomeStatus.FAILED, text))
        return False
    return bool(left)


def _drop(task: Task, step: ScaleOut, request: OpenRequest, text: str) -> None:
    closed = msgspec.structs.replace(request, state=RequestState.CHANGED)
    if requests.advance(task.table, request, closed):
        outcomes.put(task.table, raising.outcome(step, task, OutcomeStatus.FAILED, text, request, request.nodes))


def _step(task: Task, request: OpenRequest) -> ScaleOut:
    return raising.step_of(task, request.step)
