"""Node objects whose instance is gone, which no cloud controller deletes.

Either a run of ours died between ending the instance and deleting its node, or EC2 ended it and says so. Whether EC2 knows
the instance still is asked again by the task that deletes the object; one that was detached stays.
"""

from spillway.model.plan import Why
from spillway.model.policy import Mode
from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Goes, Verdict
from spillway.planner.view import LiveNode

RULE = "A node that is not Ready, and whose instance has ended, is taken away when EC2 confirms that"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    node, view = live.node, facts.view
    if live.group is not None or node.machine is None or node.ready or node.deleting:
        return None
    if view.policy.mode in (Mode.SCALE_OUT_ONLY, Mode.OFF) or view.is_stale or node.name in view.draining:
        return None
    if node.machine.region not in {region.name for region in view.fleet.regions if region.known}:
        return None
    instance = node.machine.instance_id
    if instance in view.fleet.ended:
        return Goes(Why.VANISHED, Code.LEAVING, f"is left over: EC2 has ended its instance {instance}")
    if node.cordon:
        text = f"was drained by {node.cordon}, whose run ended; no group has {instance} any more"
        return Goes(Why.VANISHED, Code.LEAVING, text)
    return None
