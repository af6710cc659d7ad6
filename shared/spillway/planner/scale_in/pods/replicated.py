"""Pods that nobody would make again."""

from spillway.model.cluster import PodSet, PodShape
from spillway.model.reason import Code
from spillway.planner.scale_in.pods.base import Ground, controller
from spillway.planner.scale_in.verdict import Held, PodVerdict

KINDS = frozenset({"ReplicationController", "Job", "ReplicaSet", "StatefulSet"})
RULE = (
    "A pod without a controller stays; so does one whose controller is no ReplicationController, Job, ReplicaSet or "
    "StatefulSet, unless `custom_controllers` is `move`"
)
SOURCE = "Cluster Autoscaler (`--skip-nodes-with-custom-controller-pods`)"
SETTING = "scale_in.drainable.custom_controllers"


def applies(shape: PodShape, ground: Ground) -> bool:
    if not shape.owner_kind:
        return True
    return ground.policy.custom_controllers == "keep" and controller(shape) not in KINDS


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    if not shape.owner_kind:
        return Held(Code.NO_OWNER, "has no controller: nobody would make it again")
    return Held(Code.NO_OWNER, f"is made by a {shape.owner_kind}, of which it is not known whether it makes pods again")
