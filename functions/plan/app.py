"""Decides: both snapshots and the memory in, a plan out, and its workflow started.

Comes with records of the table's stream (keys only: a new cluster head, or an event that asks for a plan), or by hand
with `{"cluster": "…"}`. What it does depends on what is in the table, not on the record: a second delivery finds its
tick done, or makes the same plan once more, whose execution exists.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from spillway import clock, planner
from spillway.aws import tasks, workflow
from spillway.aws.scaling import raising
from spillway.aws.table import Table, keys, memory, orphans, plans, settings, snapshots, ticks
from spillway.env import env
from spillway.errors import EventError, NotFound
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from spillway.model.policy import Mode, Policy
from spillway.model.reason import Code
from spillway.planner import clocks, unavailable
from spillway.telemetry import Metric, emit, logger

_FUNCTION = "plan"
_STARTS_NOTHING = (Mode.DRY_RUN, Mode.OFF)


class Text(BaseModel):
    S: str = Field(min_length=1)


class Keys(BaseModel):
    pk: Text
    sk: Text


class Change(BaseModel):
    keys: Keys = Field(alias="Keys")


class Record(BaseModel):
    """A stream record of the table; all else in it is ignored."""

    dynamodb: Change


class Event(BaseModel):
    records: tuple[Record, ...] = Field((), alias="Records")
    cluster: str = Field("", description="By hand: the cluster to plan for now, whatever was planned before")


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """`status`: planned, started, stopped, waiting (a snapshot is missing) or repeated (this tick is done)."""
    asked = tasks.parse(_FUNCTION, Event, event)
    if not asked.records and asked.cluster != env().cluster:
        problem = f"{asked.cluster!r} is not the cluster of this stack, {env().cluster!r}; without Records it must be named"
        raise EventError(_FUNCTION, (("cluster", problem),))
    began = clock.utcnow()
    table = Table(env().table, env().cluster)
    tick = _tick(table, asked)
    emit(table.cluster, _figures(tick, (clock.utcnow() - began).total_seconds()))
    logger.info("plan", **tick.answer)
    return tick.answer


@dataclass(frozen=True)
class Tick:
    """`vanished` nodes went within a minute of joining; `breakers` are open: groups that do not grow when they are raised."""

    answer: dict[str, Any]
    plan: Plan | None = None
    vanished: int = 0
    breakers: int = 0


def _tick(table: Table, asked: Event) -> Tick:
    switch = settings.switch(table)
    if switch.stopped:
        return Tick({"status": "stopped", "reason": f"{switch.by} threw the switch: {switch.reason or 'no reason given'}"})
    heads = dict(zip(("cluster", "fleet"), snapshots.head_ids(table), strict=True))
    if missing := [name for name, head in heads.items() if not head]:
        if asked.cluster:
            raise NotFound("the snapshot", missing[0])
        return Tick({"status": "waiting", "reason": f"no snapshot of the {' and the '.join(missing)} yet"})
    triggers = _triggers(asked, heads["cluster"])
    if triggers and all(ticks.is_done(table, trigger) for trigger in triggers):
        return Tick({"status": "repeated", "reason": f"planned before for {', '.join(triggers)}"})
    plan, policy, seen = _plan(table)
    started = plan.has_steps and policy.mode not in _STARTS_NOTHING
    if started:
        raising.plan_requests(table, plan)  # first: a plan that is made meanwhile must not ask for the same again
        workflow.start(plan)
    for trigger in triggers:
        ticks.mark_done(table, trigger)
    status = "started" if started else "planned"
    answer = {"status": status, "plan_id": plan.plan_id, "mode": policy.mode.value, "reason": _reason(plan, policy)}
    return Tick(answer, plan, len(seen.vanished), unavailable.open_breakers(seen.unavailable, plan.created_at))


def _plan(table: Table) -> tuple[Plan, Policy, Memory]:
    cluster, fleet = snapshots.latest_cluster(table), snapshots.latest_fleet(table)
    policy, _ = settings.policy(table)
    known = memory.load(table, workflow.is_running)
    now = max(cluster.taken_at, fleet.taken_at)
    seen = clocks.observe(known, cluster, fleet, policy, now)
    plan = planner.plan(cluster, fleet, seen, policy, now)
    memory.save(table, known, seen)
    plans.put(table, plan)
    orphans.sweep(table, known, plan, policy, now)
    return plan, policy, seen


def _triggers(asked: Event, cluster_head: str) -> list[str]:
    """Names of what is planned for: the head as it is now, since older ones are overwritten, and each event."""
    found = {record.dynamodb.keys.sk.S for record in asked.records}
    return sorted(f"HEAD#{cluster_head}" if sk == keys.HEAD_CLUSTER else sk for sk in found)


def _reason(plan: Plan, policy: Policy) -> str:
    summary = plan.summary
    text = (
        f"{summary.pods_pending} pods wait: {summary.nodes_new} new nodes, {summary.nodes_removed} to remove, "
        f"{summary.pods_unserved} pods unserved"
    )
    return f"{text}; mode {policy.mode} starts nothing" if policy.mode in _STARTS_NOTHING else text


def _figures(tick: Tick, seconds: float) -> dict[Metric, float]:
    summary = tick.plan.summary if tick.plan else None
    return {
        Metric.PLANS: int(tick.plan is not None),
        Metric.PLAN_SECONDS: seconds,
        Metric.PODS_UNSERVED: summary.pods_unserved if summary else 0,
        Metric.NODES_PLANNED: summary.nodes_new if summary else 0,
        Metric.NODES_TO_REMOVE: summary.nodes_removed if summary else 0,
        Metric.PRICE_PER_HOUR: summary.price_usd_h_after if summary else 0,
        Metric.NODES_VANISHED: tick.vanished,
        Metric.BREAKERS_OPEN: tick.breakers,
        Metric.REMOVALS_HELD_BACK: sum(kept.reason.code is Code.REMOVAL_LIMIT for kept in tick.plan.kept) if tick.plan else 0,
    }
