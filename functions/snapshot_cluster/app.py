"""Every minute: what the API server shows, stored as the newest view of the cluster. A failed read stores nothing."""

from functools import partial
from typing import Any

from pydantic import BaseModel

from spillway import clock
from spillway.aws.access import access
from spillway.aws.table import Table, settings, snapshots
from spillway.aws.tasks import parse
from spillway.env import env
from spillway.errors import ClusterEmpty, ClusterStale, SpillwayError
from spillway.kube.read import Reading, read
from spillway.kube.session import connect
from spillway.model.cluster import PodState
from spillway.model.policy import Policy
from spillway.telemetry import Metric, emit, logger

_LOGGED = 20  # the snapshot has all of them


class Tick(BaseModel):
    """The Scheduler's own event, of which nothing is needed: the cluster is the stack's."""


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Raises AccessError, the cluster's errors and AwsUnavailable; then no snapshot is written."""
    parse("snapshot_cluster", Tick, event)
    cluster = env().cluster
    table = Table(env().table, cluster)
    started = clock.utcnow()
    try:
        reading = _read(settings.policy(table)[0])
        head = snapshots.store_cluster(table, reading.snapshot)
    except SpillwayError:
        emit(cluster, {Metric.CLUSTER_SNAPSHOTS: 0})
        raise
    counts = _count(reading)
    emit(
        cluster,
        {
            Metric.CLUSTER_SNAPSHOTS: 1,
            Metric.CLUSTER_READ_SECONDS: (clock.utcnow() - started).total_seconds(),
            Metric.PODS_UNSCHEDULABLE: counts["pods_unschedulable"],
            Metric.PODS_BOUND: counts["pods_bound"],
            Metric.NODES_READY: counts["nodes_ready"],
            Metric.NODES_NOT_READY: counts["nodes"] - counts["nodes_ready"],
        },
    )
    if reading.snapshot.warnings:
        logger.warning("not all reads", extra={"warnings": [one.text for one in reading.snapshot.warnings[:_LOGGED]]})
    return {"head": head, **counts}


def _read(policy: Policy) -> Reading:
    reading = read(connect(partial(access, env())), policy.pod_label_keys)
    if not reading.snapshot.nodes and not policy.may_be_empty:
        raise ClusterEmpty(env().cluster)
    age_s = (clock.utcnow() - reading.snapshot.taken_at).total_seconds()
    if age_s > policy.max_snapshot_age_s:
        problem = f"{age_s:.0f} s ago by our clock, more than max_snapshot_age_s ({policy.max_snapshot_age_s} s)"
        raise ClusterStale(env().cluster, reading.snapshot.taken_at.isoformat(), problem)
    return reading


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
        "warnings": len(seen.warnings),
        "requests": reading.requests,
        "bytes": reading.body_bytes,
    }
