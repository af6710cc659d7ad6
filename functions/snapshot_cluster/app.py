"""Every minute: what the API server shows, stored as the newest view of the cluster. A failed read stores nothing.

In watch mode it stays for most of the minute and stores another view soon after pods turn unschedulable.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pydantic import BaseModel

from spillway import clock
from spillway.aws.access import access
from spillway.aws.table import Table, leases, settings, snapshots
from spillway.aws.table.leases import Lease
from spillway.aws.tasks import parse
from spillway.env import env
from spillway.errors import (
    ClusterEmpty,
    ClusterError,
    ClusterForbidden,
    ClusterStale,
    ClusterUnauthorized,
    LeaseHeld,
    SpillwayError,
)
from spillway.kube import watch
from spillway.kube.follow import follow
from spillway.kube.objects import paused_gc
from spillway.kube.read import Reading
from spillway.kube.session import Session, connect
from spillway.model.cluster import PodState
from spillway.model.policy import Policy
from spillway.telemetry import Metric, emit, logger

_LOGGED = 20  # the snapshot has all of them
_WATCHES = timedelta(seconds=55)  # from a tick: until 5 s before the next
_SPARE = timedelta(seconds=4)  # for the last view, and before Lambda's own limit
_STORES = timedelta(seconds=2)  # of that, to store what was read and to say what was not: 150,000 pods take 0.5 s


class Tick(BaseModel):
    """The Scheduler's own event: the cluster is the stack's. `time` is when the tick was due, now where it does not say."""

    time: datetime | None = None


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Raises AccessError, the cluster's errors and AwsUnavailable; then no snapshot is written."""
    tick = parse("snapshot_cluster", Tick, event)
    table = Table(env().table, env().cluster)
    now = clock.utcnow()
    ends = now + timedelta(milliseconds=context.get_remaining_time_in_millis()) if context is not None else None
    if not env().watch_mode:
        with _connected(ends) as session, _zero_of_a_failure():
            return _store(table, session)
    end = min(tick.time or now, now) + _WATCHES
    if ends is not None:
        end = min(end, ends - _SPARE)
    try:
        lease = leases.watch(table, getattr(context, "aws_request_id", "by hand"), max(now, end) + _SPARE)
    except LeaseHeld as held:
        logger.warning("another invocation watches", extra={"problem": str(held)})
        emit(table.cluster, {Metric.CLUSTER_SNAPSHOTS: 0, Metric.EARLY_SNAPSHOTS: 0})
        return {"ended": str(held)}
    try:
        return _watch(table, lease, end, ends)
    finally:
        leases.release(table, lease)


def _watch(table: Table, lease: Lease, end: datetime, ends: datetime | None) -> dict[str, Any]:
    """A server that does not answer for a while is asked again until the end, less and less often; when nothing was stored at
    all its error is raised. One that refuses us at once, or goes on refusing, is not asked again."""
    views, refused, answer = 0, 0, dict[str, Any]()
    problem: ClusterError | None = None
    with _connected(ends) as session:
        for _ in watch.wanted(session, end):
            if not leases.is_held(table, lease):
                return {**answer, "views": views, "ended": "another invocation has taken over"}
            try:
                with _zero_of_a_failure():
                    answer = _store(table, session, lease, early=views > 0)
                views, refused = views + 1, 0
            except ClusterError as error:
                refused = refused + 1 if isinstance(error, ClusterForbidden | ClusterUnauthorized) else 0
                if refused == (watch.REFUSALS if views else 1):
                    raise
                problem = error
                logger.warning("the cluster was not read", extra={"problem": str(error)})
    if problem and not views:
        raise problem
    return {**answer, "views": views}


@contextmanager
def _connected(ends: datetime | None) -> Iterator[Session]:
    """A session that is done with its requests before Lambda ends the function, which would say nothing of why."""
    with _zero_of_a_failure():
        session = connect(partial(access, env()))
    with session.limited(ends - _STORES if ends else None):
        yield session


def _store(table: Table, session: Session, lease: Lease | None = None, early: bool = False) -> dict[str, Any]:
    """One view of the cluster, with a lease as its holder only."""
    started = clock.utcnow()
    with paused_gc():  # the objects of a large cluster are millions, and looking through them costs half a second each time
        reading = _read(session, settings.policy(table)[0])
        session.in_time("store what was read")
        head = snapshots.store_cluster(table, reading.snapshot, lease.token if lease else None)
        counts = _count(reading)
    emit(
        table.cluster,
        {
            Metric.CLUSTER_SNAPSHOTS: 1,
            Metric.EARLY_SNAPSHOTS: int(early),
            Metric.CLUSTER_READ_SECONDS: (clock.utcnow() - started).total_seconds(),
            Metric.CLUSTER_REQUESTS: reading.requests,
            Metric.CLUSTER_BYTES: reading.wire_bytes,
            Metric.CLUSTER_LISTS: reading.lists,
            Metric.OBJECTS_SET_ASIDE: counts["set_aside"],
            Metric.PODS_UNSCHEDULABLE: counts["pods_unschedulable"],
            Metric.PODS_BOUND: counts["pods_bound"],
            Metric.NODES_READY: counts["nodes_ready"],
            Metric.NODES_NOT_READY: counts["nodes"] - counts["nodes_ready"],
        },
    )
    if reading.snapshot.warnings:
        logger.warning("not all reads", extra={"warnings": [one.text for one in reading.snapshot.warnings[:_LOGGED]]})
    return {"head": head, **counts}


def _read(session: Session, policy: Policy) -> Reading:
    reading = follow(session, policy.pod_label_keys)
    seen = reading.snapshot
    if not seen.nodes and (seen.unread_nodes or not policy.may_be_empty):
        example = next((one.text for one in seen.warnings if one.text.startswith("node ")), "")
        raise ClusterEmpty(env().cluster, len(seen.unread_nodes), example)
    age_s = (clock.utcnow() - reading.snapshot.taken_at).total_seconds()
    if abs(age_s) > policy.max_snapshot_age_s:
        # Also one that is ahead: every later view would be older than it, and refused until then.
        where = f"{age_s:.0f} s ago" if age_s > 0 else f"{-age_s:.0f} s ahead"
        problem = f"{where} by our clock, more than max_snapshot_age_s ({policy.max_snapshot_age_s} s)"
        raise ClusterStale(env().cluster, reading.snapshot.taken_at.isoformat(), problem)
    return reading


@contextmanager
def _zero_of_a_failure() -> Iterator[None]:
    try:
        yield
    except SpillwayError:
        emit(env().cluster, {Metric.CLUSTER_SNAPSHOTS: 0, Metric.EARLY_SNAPSHOTS: 0})
        raise


def _count(reading: Reading) -> dict[str, int]:
    seen = reading.snapshot

    def pods(*states: PodState) -> int:
        return sum(len(pod.names) for pod in seen.pods if not states or pod.state in states)

    return {
        "nodes": len(seen.nodes),
        "nodes_ready": sum(node.ready for node in seen.nodes),
        "pods": pods(),
        "pods_bound": pods(PodState.BOUND, PodState.TERMINATING),
        "pods_unschedulable": pods(PodState.UNSCHEDULABLE),
        "set_aside": seen.set_aside,
        "warnings": len(seen.warnings),
        "requests": reading.requests,
        "bytes": reading.wire_bytes,
        "lists": reading.lists,
    }
