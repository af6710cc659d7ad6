"""What people should know of a group: it works otherwise than its sizes let one expect."""

from collections.abc import Iterable, Mapping

from spillway.model.fleet import NodeGroup
from spillway.model.reason import Code, Reason
from spillway.planner import ownership
from spillway.planner.view import View

# EC2 Auto Scaling User Guide, "Suspend and resume Amazon EC2 Auto Scaling processes". Without AZRebalance, InstanceRefresh,
# AlarmNotification and ScheduledActions a group does less behind our back, which nobody has to be warned of.
SUSPENDED: Mapping[str, str] = {
    "Launch": "it gets no nodes",
    "Terminate": "none of its nodes goes",
    "ReplaceUnhealthy": "a node that fails is not replaced and counts on",
    "HealthCheck": "a node that fails is not found and counts on",
    "AddToLoadBalancer": "its new nodes get no traffic from its load balancers",
}


def warnings(view: View) -> Iterable[Reason]:
    for group in view.groups.values():
        yield from _of(group)
    yield from ownership.warnings(view)


def _of(group: NodeGroup) -> Iterable[Reason]:
    for process, what in SUSPENDED.items():
        if process in group.suspended:
            yield Reason(code=Code.SUSPENDED, text=f"group {group.key}: its {process} process is suspended, so {what}")
    if change := ownership.change(group):
        yield Reason(code=Code.CHANGING, text=f"group {group.key} is left alone: {change}")
    if group.desired > group.max_size:
        yield _out_of_bounds(group, f"above its max of {group.max_size}")
    if group.desired < group.min_size:
        yield _out_of_bounds(group, f"below its min of {group.min_size}")
    if group.managed is not None and group.managed.issues:
        issues = "; ".join(group.managed.issues)
        text = f"group {group.key}: EKS node group {group.managed.name} is {group.managed.status}: {issues}"
        yield Reason(code=Code.DEGRADED, text=text)


def _out_of_bounds(group: NodeGroup, how: str) -> Reason:
    return Reason(code=Code.OUT_OF_BOUNDS, text=f"group {group.key}: its desired capacity of {group.desired} is {how}")
