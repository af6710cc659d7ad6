"""What goes on with a group and who else changes its size: AWS's answers, decoded. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from spillway.aws import shapes, state_shapes
from spillway.model.fleet import NodeGroup
from spillway.model.group_state import InstanceRefresh, ScalingPolicy, ScheduledAction, WarmPool

_OVER = frozenset({"Successful", "Failed", "Cancelled", "RollbackFailed", "RollbackSuccessful"})
"""Statuses of an instance refresh that replaces no instance any more; one of a later date may."""
_POLICIES, _SCHEDULES = "scaling policies", "scheduled actions"


T = TypeVar("T")
S = TypeVar("S", state_shapes.Refresh, state_shapes.ScalingPolicy, state_shapes.ScheduledAction)


@dataclass(frozen=True)
class Told(Generic[T]):
    """Items of one kind by name of the group. `is_answered` False: the call failed, and nothing is known now.

    `unread` are groups of which an item does not read; None: it may be one of any group.
    """

    by_group: Mapping[str, tuple[T, ...]]
    is_answered: bool = True
    unread: frozenset[str] | None = frozenset()

    def of(self, group: str) -> tuple[T, ...]:
        return self.by_group.get(group, ())

    def is_whole(self, group: str) -> bool:
        return self.is_answered and self.unread is not None and group not in self.unread


@dataclass(frozen=True)
class State:
    """A region's answers by name of the group. What is not known is as before."""

    warm: Mapping[str, tuple[shapes.Member, ...]]
    refreshes: Told[InstanceRefresh]
    policies: Told[ScalingPolicy]
    schedules: Told[ScheduledAction]

    def added(self, group: NodeGroup, item: Mapping[str, Any], before: NodeGroup | None) -> NodeGroup:
        """The group with all that this module knows of it. Raises msgspec.ValidationError, which names the field."""
        told = shapes.read(item, state_shapes.GroupSettings)
        going = self.refreshes.of(group.name)
        held = before.refresh if before and not self.refreshes.is_whole(group.name) else None
        policies = self.policies.of(group.name)
        if before and not self.policies.is_answered:
            policies = before.scaling_policies
        schedules = self.schedules.of(group.name)
        if before and not self.schedules.is_answered:
            schedules = before.scheduled_actions
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
            refresh=going[0] if going else held,
            scaling_policies=policies,
            scheduled_actions=schedules,
            unknown_owners=tuple(
                kind
                for kind, answer in ((_POLICIES, self.policies), (_SCHEDULES, self.schedules))
                if not _is_known(answer, kind, group.name, before)
            ),
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
    current, p1 = _told(refreshes, state_shapes.Refresh, "InstanceRefreshes", _refresh)
    asked, p2 = _told(policies, state_shapes.ScalingPolicy, "ScalingPolicies", _policy)
    planned, p3 = _told(schedules, state_shapes.ScheduledAction, "ScheduledUpdateGroupActions", _action)
    return State(warm=pools, refreshes=current, policies=asked, schedules=planned), [*problems, *p1, *p2, *p3]


def _is_known(answer: Told[Any], kind: str, group: str, before: NodeGroup | None) -> bool:
    """Whether AWS has told all of a kind of the group: now, or before where it does not answer now."""
    if answer.is_answered:
        return answer.is_whole(group)
    return before is not None and kind not in before.unknown_owners


def _told(items: Iterable[Any] | None, kind: type[S], what: str, made: Callable[[S], T | None]) -> tuple[Told[T], list[str]]:
    """What is `made` of the items, None: nothing; and a sentence for each that does not read."""
    if items is None:
        return Told({}, is_answered=False), []
    known = list(items)
    read, problems = shapes.read_all(known, kind, what)
    found: dict[str, list[T]] = defaultdict(list)
    for one in read:
        if (item := made(one)) is not None:
            found[one.auto_scaling_group_name].append(item)
    names = [_group_of(item) for item in known if not shapes.reads(item, kind)] if problems else []
    unread = None if "" in names else frozenset(names)
    return Told({group: tuple(mine) for group, mine in found.items()}, unread=unread), problems


def _group_of(item: object) -> str:
    """ "" where it does not say."""
    name = item.get("AutoScalingGroupName") if isinstance(item, Mapping) else None
    return name if isinstance(name, str) else ""


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


def _refresh(told: state_shapes.Refresh) -> InstanceRefresh | None:
    if told.status in _OVER:
        return None
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
