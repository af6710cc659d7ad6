"""Who else changes a group's size, and whether the group is to be left alone for it."""

from collections.abc import Iterable

from spillway.model.fleet import NodeGroup
from spillway.model.group_state import ScalingPolicy, ScheduledAction
from spillway.model.reason import Code, Reason
from spillway.planner.view import View

_AT_REST = frozenset({"ACTIVE", "DEGRADED", "CREATE_FAILED", "DELETE_FAILED"})
"""In any other status of a node group, also one of a later date, EKS launches and drains nodes itself."""


def left_alone(view: View, group: NodeGroup) -> Iterable[tuple[Code, str]]:
    """Why the group is neither raised nor lowered, "" where it is ours to change."""
    yield Code.CHANGING, change(group)
    yield Code.OTHER_OWNER, _foreign(view, group) if view.policy.strict_ownership else ""


def is_left_alone(view: View, group: NodeGroup) -> bool:
    return any(text for _, text in left_alone(view, group))


def change(group: NodeGroup) -> str:
    """What is being done to the group as a whole: its nodes come and go by that, and soon it may launch something else."""
    if group.status:
        return f"its status is {group.status}"
    if group.refresh is not None:
        return f"an instance refresh ({group.refresh.id}) is {group.refresh.status}, {group.refresh.percent} % done"
    if group.managed is not None and group.managed.status not in _AT_REST:
        return f"EKS node group {group.managed.name} is {group.managed.status}"
    return ""


def owners(view: View, group: NodeGroup) -> tuple[str, ...]:
    """What is set on the group that changes its size by itself."""
    policies = (one for one in group.scaling_policies if _acts(one, group))
    actions = (one for one in group.scheduled_actions if _is_due(view, one, group))
    return (
        *(f"scaling policy {one.name} ({one.kind})" for one in policies),
        *(f"scheduled action {one.name} ({_when(one)})" for one in actions),
    )


def warnings(view: View) -> Iterable[Reason]:
    """Each other owner by name: two that change one size undo each other's work."""
    for group in view.groups.values():
        for owner in owners(view, group):
            yield Reason(code=Code.OTHER_OWNER, text=f"group {group.key}: {owner} changes its size as well")
        if group.max_instance_lifetime_s is not None:
            days = group.max_instance_lifetime_s / 86400
            text = (
                f"group {group.key}: Auto Scaling ends its instances, undrained, after {days:.3g} days (max instance lifetime)"
            )
            yield Reason(code=Code.OTHER_OWNER, text=text)
    for running in view.autoscalers.resize_groups:
        yield Reason(code=Code.OTHER_OWNER, text=f"{running} changes the size of this cluster's groups as well: stop it")
    for running in view.autoscalers.buy_outside_of_groups:
        yield Reason(code=Code.OTHER_OWNER, text=f"{running} buys nodes, too: both may do so for the same pods")


def _foreign(view: View, group: NodeGroup) -> str:
    found = (*owners(view, group), *view.autoscalers.resize_groups)
    if found:
        return f"{' and '.join(found)} changes its size, and the policy's strict_ownership is on"
    unknown = " and ".join(group.unknown_owners)
    return f"its {unknown} are not known, and the policy's strict_ownership is on" if unknown else ""


def _acts(policy: ScalingPolicy, group: NodeGroup) -> bool:
    """Alarms start all kinds but the predictive, which acts on its own."""
    deaf = "AlarmNotification" in group.suspended and policy.kind != "PredictiveScaling"
    return policy.enabled and not policy.forecasts_only and not deaf


def _is_due(view: View, action: ScheduledAction, group: NodeGroup) -> bool:
    over = action.ends_at is not None and action.ends_at <= view.now
    done = not action.recurrence and action.starts_at is not None and action.starts_at <= view.now
    return not over and not done and "ScheduledActions" not in group.suspended


def _when(action: ScheduledAction) -> str:
    if action.recurrence:
        return f"{action.recurrence} {action.time_zone}"
    return f"at {action.starts_at:%Y-%m-%d %H:%M} UTC" if action.starts_at else "once"
