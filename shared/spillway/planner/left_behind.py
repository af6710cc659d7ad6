"""Node objects that a dead run of ours left: their instance is ended, and no cloud controller deletes them."""

from spillway.model.plan import ScaleIn, Why
from spillway.model.reason import Code, Reason
from spillway.planner.view import LiveNode, View


def is_left_behind(view: View, live: LiveNode) -> bool:
    """Carries our marker, answers no more, and a region that we can see lists its instance in no group.

    Whether EC2 knows the instance still is asked by the task that ends it; a detached one stays.
    """
    node = live.node
    if live.group is not None or node.machine is None or not node.cordon or node.ready or node.deleting:
        return False
    seen = {region.name for region in view.fleet.regions if region.known}
    return node.machine.region in seen and node.name not in view.draining and not view.is_stale


def removal(view: View, live: LiveNode, step: int) -> ScaleIn:
    """The rest of the drain, without a group to make smaller."""
    node, machine = live.node, live.node.machine
    if machine is None:
        raise ValueError(f"node {node.name} has no instance")
    text = f"node {node.name} was drained by {node.cordon}, whose run ended; no group has {machine.instance_id} any more"
    return ScaleIn(
        step=step,
        region=machine.region,
        group="",
        node=node.name,
        instance_id=machine.instance_id,
        why=Why.VANISHED,
        deadline_s=view.policy.drain.deadline_s,
        at_deadline=view.policy.drain.at_deadline,
        reason=Reason(code=Code.LEAVING, text=text),
    )
