"""Supply: what Auto Scaling, EC2 and the price lists of every region say, stored as the newest fleet snapshot."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from pydantic import AwareDatetime, BaseModel, ValidationError

from spillway import clock
from spillway.aws import fleet, fleet_role, reader
from spillway.aws.table import Table, settings, snapshots
from spillway.aws.table.instance_types import TypeShelf
from spillway.aws.table.prices import PriceShelf
from spillway.env import env
from spillway.errors import AwsError, EventError, NotFound
from spillway.model.fleet import FailureClass, FleetSnapshot, NodeGroup
from spillway.telemetry import Metric, emit, logger, start_at_zero


class Tick(BaseModel):
    """What EventBridge Scheduler sends; nothing in it changes what is read."""

    time: AwareDatetime | None = None


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Raises the home region's AwsError when no region answered: then there is nothing to store."""
    try:
        Tick.model_validate(event)
    except ValidationError as error:
        problems = tuple((".".join(map(str, one["loc"])), one["msg"]) for one in error.errors())
        raise EventError("snapshot_fleet", problems) from error
    start_at_zero(env().cluster, env().regions)
    fleet_role.take_on(env())
    table = Table(env().table, env().cluster)
    before = _previous(table)
    now = clock.utcnow()
    answers = reader.read(env().regions, env().cluster, env().group_names, before, TypeShelf(table), PriceShelf(table))
    silent = {region: answer for region, answer in answers.items() if isinstance(answer, AwsError)}
    if len(silent) == len(answers):
        emit(env().cluster, {**_counts((), before), Metric.REGIONS_UNKNOWN: len(silent), Metric.FLEET_SNAPSHOTS: 0})
        raise silent[env().home_region]
    policy, _ = settings.policy(table)
    snapshot = fleet.reduce(env().cluster, env().home_region, now, answers, env().group_names, before, policy)
    head = snapshots.store_fleet(table, snapshot)
    _tell(snapshot, before)
    return {"head": head, "groups": len(snapshot.groups), "regions_unknown": sorted(silent), "warnings": len(snapshot.warnings)}


def _previous(table: Table) -> FleetSnapshot | None:
    """What we knew last, for a region that is silent now; None at the first run, or where it does not read: then the view of
    now takes its place."""
    try:
        return snapshots.latest_fleet(table)
    except NotFound:
        return None
    except msgspec.MsgspecError as error:
        logger.warning(f"what the last read stored does not read, and is taken for nothing: {error}")
        return None


def _tell(snapshot: FleetSnapshot, before: FleetSnapshot | None) -> None:
    """Warnings to the log, figures for the fleet and for each region to CloudWatch."""
    for warning in snapshot.warnings:
        logger.warning(warning.text, code=warning.code.value)
    unknown = {view.name for view in snapshot.regions if not view.known}
    total = _counts((group for group in snapshot.groups if group.region not in unknown), before)
    emit(snapshot.cluster, {**total, Metric.REGIONS_UNKNOWN: len(unknown), Metric.FLEET_SNAPSHOTS: 1})
    for view in snapshot.regions:
        mine = _counts((group for group in snapshot.groups if group.region == view.name and view.known), before)
        emit(snapshot.cluster, {**mine, Metric.REGIONS_UNKNOWN: int(not view.known)}, view.name)


def _counts(groups: Iterable[NodeGroup], before: FleetSnapshot | None) -> dict[Metric, float]:
    """Figures of groups of known regions. A refusal is counted once, at the read that first shows it."""
    seen = {failure.activity_id for group in before.groups for failure in group.failures} if before else set()
    found = list(groups)
    new = [one for group in found for one in group.failures if one.activity_id not in seen]
    return {
        Metric.INSTANCES_IN_SERVICE: sum(one.lifecycle == "InService" for group in found for one in group.instances),
        Metric.INSTANCES_DESIRED: sum(group.desired for group in found),
        Metric.GROUPS_UNREADABLE: sum(group.template is None for group in found),
        Metric.LAUNCH_FAILURES: len(new),
        Metric.LAUNCH_FAILURES_UNKNOWN: sum(one.failure is FailureClass.UNKNOWN for one in new),
    }
