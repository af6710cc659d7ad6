"""Logs and metrics. Every metric of a function is written at each run, zero when nothing happened:
a gap on a dashboard means that the function did not run, never that the value was zero.

Names, units and meanings are documented in docs/metrics.md, which a test holds against this file,
the dashboard and the alarms.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

NAMESPACE = "Spillway"

logger = Logger(service="spillway", log_uncaught_exceptions=False)


class Metric(StrEnum):
    """CloudWatch metric names, by the function that writes them."""

    # snapshot_cluster
    PODS_UNSCHEDULABLE = "PodsUnschedulable"
    PODS_BOUND = "PodsBound"
    NODES_READY = "NodesReady"
    NODES_NOT_READY = "NodesNotReady"
    CLUSTER_SNAPSHOTS = "ClusterSnapshots"
    CLUSTER_READ_SECONDS = "ClusterReadSeconds"
    CLUSTER_REQUESTS = "ClusterRequests"
    CLUSTER_BYTES = "ClusterBytes"
    CLUSTER_LISTS = "ClusterLists"
    EARLY_SNAPSHOTS = "EarlySnapshots"
    OBJECTS_SET_ASIDE = "ObjectsSetAside"
    # snapshot_fleet (also by region)
    INSTANCES_IN_SERVICE = "InstancesInService"
    INSTANCES_DESIRED = "InstancesDesired"
    REGIONS_UNKNOWN = "RegionsUnknown"
    GROUPS_UNREADABLE = "GroupsUnreadable"
    LAUNCH_FAILURES = "LaunchFailures"
    LAUNCH_FAILURES_UNKNOWN = "LaunchFailuresUnknown"
    FLEET_SNAPSHOTS = "FleetSnapshots"
    # plan
    PODS_UNSERVED = "PodsUnserved"
    NODES_PLANNED = "NodesPlanned"
    NODES_TO_REMOVE = "NodesToRemove"
    PRICE_PER_HOUR = "PricePerHour"
    PLANS = "Plans"
    PLAN_SECONDS = "PlanSeconds"
    NODES_VANISHED = "NodesVanished"
    BREAKERS_OPEN = "BreakersOpen"
    # execution (also by region where a region is concerned)
    NODES_REQUESTED = "NodesRequested"
    NODES_REFUSED = "NodesRefused"
    NODES_ARRIVED = "NodesArrived"
    NODES_GIVEN_BACK = "NodesGivenBack"
    DRAINS_STARTED = "DrainsStarted"
    DRAINS_ABANDONED = "DrainsAbandoned"
    REMOVALS_HELD_BACK = "RemovalsHeldBack"
    PODS_EVICTED = "PodsEvicted"
    INSTANCES_ENDED = "InstancesEnded"
    NODES_REMOVED = "NodesRemoved"
    # intake
    EVENTS_TAKEN = "EventsTaken"
    EVENTS_DROPPED = "EventsDropped"


# Written by functions that run only when there is something to do.
_SELDOM_BY_REGION = (
    Metric.NODES_REQUESTED, Metric.NODES_REFUSED, Metric.NODES_ARRIVED, Metric.NODES_GIVEN_BACK, Metric.INSTANCES_ENDED,
)  # fmt: skip
_SELDOM = (
    Metric.DRAINS_STARTED, Metric.DRAINS_ABANDONED, Metric.PODS_EVICTED, Metric.NODES_REMOVED, Metric.EVENTS_TAKEN,
    Metric.EVENTS_DROPPED,
)  # fmt: skip
_BYTES = {Metric.CLUSTER_BYTES}
_SECONDS = {Metric.CLUSTER_READ_SECONDS, Metric.PLAN_SECONDS}
_PLAIN = {Metric.PRICE_PER_HOUR}


def unit(metric: Metric) -> MetricUnit:
    if metric in _SECONDS:
        return MetricUnit.Seconds
    if metric in _BYTES:
        return MetricUnit.Bytes
    return MetricUnit.NoUnit if metric in _PLAIN else MetricUnit.Count


def emit(cluster: str, values: Mapping[Metric, float], region: str = "") -> None:
    """Writes one EMF line with the dimension `cluster`, and `region` when one is given."""
    metrics = EphemeralMetrics(namespace=NAMESPACE)  # `Metrics` shares its dimensions between all instances
    metrics.add_dimension("cluster", cluster)
    if region:
        metrics.add_dimension("region", region)
    for name, value in values.items():
        metrics.add_metric(name=name.value, unit=unit(name), value=value)
    metrics.flush_metrics()


@cache
def start_at_zero(cluster: str, regions: tuple[str, ...]) -> None:
    """Zeros for what only seldom happens, at each cold start of whoever calls it: a dashboard and an alarm then know the
    metric before it first counts. Not at each run, since CloudWatch is paid by the hour in which a metric is written."""
    emit(cluster, dict.fromkeys(_SELDOM, 0))
    for region in regions:
        emit(cluster, dict.fromkeys(_SELDOM_BY_REGION, 0), region)
