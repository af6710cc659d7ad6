"""What goes on with a group and who else changes its size: AWS's answers, decoded. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from spillway.aws import shapes, state_shapes
from spillway.model.fleet import NodeGroup
from spillway.model.group_state import InstanceRefresh, ScalingPolicy, ScheduledAction, WarmPool

REFRESHING = frozenset({"Pending", "InProgress", "Baking", "Cancelling", "RollbackInProgress"})
"""Statuses of an instance refresh that still replaces instances, or will."""
_POLICIES, _SCHEDULES = "scaling policies", "scheduled actions"


@dataclass(frozen=True)
class State:
    """A region's answers by name of the group. What is None is not known: then that of before holds."""

    warm: Mapping[str, tuple[shapes.Member, ...]]
    refreshes: Mapping[str, InstanceRefresh] | None
    policies: Mapping[str, tuple[ScalingPolicy, ...]] | None
    schedules: Mapping[str, tuple[ScheduledAction, ...]] | None

    def added(self, group: NodeGroup, item: Mapping[str, Any], before: NodeGroup | None) -> NodeGroup:
        """The group with all that this module knows of it. Raises msgspec.ValidationError, which names the field."""
        told = shapes.read(item, state_shapes.GroupSettings)
        refreshes = self.refreshes
        known = (before.refresh if before else None) if refreshes is None else refreshes.get(group.name)
        policies = _held(self.policies, before, before.scaling_policies if before else (), _POLICIES, group.name)
        schedules = _held(self.schedules, before, before.scheduled_actions if before else (), _SCHEDULES, group.name)
        healthy = told.instance_maintenance_policy
        return msgspec.structs.replace(
            group,
            status=told.status,
            warm_pool=_warm_pool(told),
            protects_new_instances=told.new_instances_protected_from_scale_in,
            zone_distribution=told.availability_zone_distribution.capacity_distribution_strategy,
            capacity_rebalance=told.capacity_rebalance,
            max_instance_lifetime_s=told.max_instance_lifetime or None,
            min_healthy_percent=_limit(healthy.min_healthy_percentage),
            max_healthy_percent=_limit(healthy.max_healthy_percentage),
            refresh=known,
            scaling_policies=policies or (),
            scheduled_actions=schedules or (),
            unknown_owners=tuple(kind for kind, found in ((_POLICIES, policies), (_SCHEDULES, schedules)) if found is None),
        )


def read(
    warm_pools: Mapping[str, Any],
    refreshes: Iterable[Any] | None,
    policies: Iterable[Any] | None,
    schedules: Iterable[Any] | None,
) -> tuple[State, list[str]]:
    """Answers by their keys' values, and one sentence for each item that cannot be read. None: not known."""
    pools: dict[str, tuple[shapes.Member, ...]] = {}
    problems: list[str] = []
    for name in sorted(warm_pools):
        found, wrong = shapes.read_all([warm_pools[name]], state_shapes.WarmPoolAnswer, f"WarmPools.{name}")
        pools.update((name, pool.instances) for pool in found)
        problems += wrong
    current, p1 = shapes.read_all(refreshes or (), state_shapes.Refresh, "InstanceRefreshes")
    asked, p2 = shapes.read_all(policies or (), state_shapes.ScalingPolicy, "ScalingPolicies")
    planned, p3 = shapes.read_all(schedules or (), state_shapes.ScheduledAction, "ScheduledUpdateGroupActions")
    going = {one.auto_scaling_group_name: _refresh(one) for one in current if one.status in REFRESHING}
    return State(
        warm=pools,
        refreshes=None if refreshes is None else going,
        policies=None if policies is None else _by_group((one.auto_scaling_group_name, _policy(one)) for one in asked),
        schedules=None if schedules is None else _by_group((one.auto_scaling_group_name, _action(one)) for one in planned),
    ), [*problems, *p1, *p2, *p3]


T = TypeVar("T")


def _held(
    told: Mapping[str, tuple[T, ...]] | None, before: NodeGroup | None, known: tuple[T, ...], kind: str, name: str
) -> tuple[T, ...] | None:
    """Those of the group: of now, else as `known` before; None where nobody has ever told."""
    if told is not None:
        return told.get(name, ())
    return None if before is None or kind in before.unknown_owners else known


def _by_group(items: Iterable[tuple[str, T]]) -> dict[str, tuple[T, ...]]:
    found: dict[str, list[T]] = defaultdict(list)
    for group, item in items:
        found[group].append(item)
    return {group: tuple(mine) for group, mine in found.items()}


def _limit(value: int | None) -> int | None:
    """-1 is AWS's word for one that was taken back."""
    return None if value is None or value < 0 else value


def _warm_pool(told: state_shapes.GroupSettings) -> WarmPool | None:
    pool = told.warm_pool_configuration
    if pool is None:
        return None
    return WarmPool(
        state=pool.pool_state,
        size=told.warm_pool_size,
        min_size=pool.min_size,
        max_prepared=_limit(pool.max_group_prepared_capacity),
        reuses=pool.instance_reuse_policy.reuse_on_scale_in,
        deleting=pool.status == "PendingDelete",
    )


def _refresh(told: state_shapes.Refresh) -> InstanceRefresh:
    return InstanceRefresh(
        id=told.instance_refresh_id, status=told.status, started_at=told.start_time, percent=told.percentage_complete
    )


def _policy(told: state_shapes.ScalingPolicy) -> ScalingPolicy:
    return ScalingPolicy(
        name=told.policy_name,
        kind=told.policy_type,
        enabled=told.enabled,
        forecasts_only=told.policy_type == "PredictiveScaling" and told.predictive_scaling_configuration.mode == "ForecastOnly",
    )


def _action(told: state_shapes.ScheduledAction) -> ScheduledAction:
    return ScheduledAction(
        name=told.scheduled_action_name,
        recurrence=told.recurrence,
        time_zone=told.time_zone,
        starts_at=told.start_time,
        ends_at=told.end_time,
        min_size=told.min_size,
        max_size=told.max_size,
        desired=told.desired_capacity,
    )
