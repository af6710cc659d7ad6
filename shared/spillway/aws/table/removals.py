"""Removals of the last hour, written down before anything is done to their node: what the limits on removals count."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from spillway import clock
from spillway.aws.table import keys
from spillway.aws.table.store import ABSENT, Conflict, Table, expiry
from spillway.model.base import decode, encode
from spillway.model.memory import Removal
from spillway.model.plan import GOES_ANYWAY, Plan, ScaleIn
from spillway.model.policy import RemovalLimits

HOUR = timedelta(hours=1)
_PLANNED_BEFORE = timedelta(hours=1)  # a step that waits for its replacements begins long after its plan was made


def book(table: Table, plan: Plan, step: ScaleIn, limits: RemovalLimits) -> str:
    """Why a limit does not allow it, "" when it is written down.

    Two that are booked at once each see the other: where both are too many both are refused, and never one let through.
    """
    held = [one.step for one in plan.scale_in if one.why not in GOES_ANYWAY]
    is_held = step.step in held
    most = limits.nodes_per_plan
    if is_held and most is not None and held.index(step.step) >= most:
        return (
            f"the policy allows {most} removals a plan (scale_in.limits.nodes_per_plan), this one is the {most + 1}th or later"
        )
    removal = Removal(plan_id=plan.plan_id, step=step.step, at=clock.utcnow())
    try:
        table.put(_key(plan, step), {"body": encode(removal).decode(), keys.TTL: expiry(2 * HOUR.total_seconds())}, ABSENT)
    except Conflict:
        return ""  # an earlier try of the same task
    most = limits.nodes_per_hour
    if is_held and most is not None and sum(1 for _ in recent(table)) > most:
        cancel(table, plan, step)
        return f"the policy allows {most} removals an hour (scale_in.limits.nodes_per_hour), and so many have begun"
    return ""


def cancel(table: Table, plan: Plan, step: ScaleIn) -> None:
    """It was given up: its node stays."""
    table.delete(_key(plan, step))


def recent(table: Table) -> Iterator[Removal]:
    """Those of the last hour, by the time of their plans."""
    since = clock.utcnow() - HOUR
    for item in table.query(keys.REMOVAL, since=_moment(since - _PLANNED_BEFORE)):
        removal = decode(item["body"], Removal)
        if removal.at > since:
            yield removal


def _key(plan: Plan, step: ScaleIn) -> str:
    return keys.removal(_moment(plan.created_at), plan.plan_id, step.step)


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
