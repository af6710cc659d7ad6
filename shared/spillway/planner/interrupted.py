"""Nodes whose instance AWS is going to take: they are emptied before, while their pods can still leave in order."""

from spillway.model.plan import AtDeadline, ScaleIn, Why
from spillway.model.policy import Mode
from spillway.model.reason import Code, Reason
from spillway.planner.view import LiveNode, View


def is_interrupted(view: View, live: LiveNode) -> bool:
    """No budget or min holds it: it goes in any case. What forbids all scale in does, and a group that the policy ignores."""
    if live.ends_at is None or live.group is None or live.node.machine is None or live.node.deleting:
        return False
    if view.policy.mode in (Mode.SCALE_OUT_ONLY, Mode.OFF) or view.is_stale or view.policy_of(live.group).ignore:
        return False
    return live.node.name not in view.draining and live.group.region not in view.unknown_regions


def removal(view: View, live: LiveNode, step: int) -> ScaleIn:
    """The drain's deadline is the end of the instance, where the policy's is later: then the node is not given back."""
    machine, group, ends_at = live.node.machine, live.group, live.ends_at
    if machine is None or group is None or ends_at is None:
        raise ValueError(f"node {live.node.name} is not interrupted")
    left_s = max(1, int((ends_at - view.now).total_seconds()))
    text = f"node {live.node.name}: AWS takes its instance {machine.instance_id} at {ends_at:%Y-%m-%d %H:%M:%S} UTC"
    return ScaleIn(
        step=step,
        region=group.region,
        group=group.name,
        node=live.node.name,
        instance_id=machine.instance_id,
        why=Why.INTERRUPTED,
        deadline_s=min(view.policy.drain.deadline_s, left_s),
        at_deadline=AtDeadline.FORCE if left_s <= view.policy.drain.deadline_s else view.policy.drain.at_deadline,
        reason=Reason(code=Code.LEAVING, text=text),
    )
