"""Pods whose controller is gone, or wants so few of them that each counts."""

from spillway.model.cluster import PodSet, PodShape
from spillway.model.reason import Code
from spillway.planner.scale_in.pods.base import Ground, controller
from spillway.planner.scale_in.verdict import Held, PodVerdict

RULE = (
    "A pod whose controller is not in the cluster any more would not be made again; one whose controller wants fewer pods "
    "than `min_replicas` stays. Both hold also for pods that are said to be safe to evict"
)
SOURCE = "Cluster Autoscaler (`--min-replica-count`)"
SETTING = "scale_in.drainable.min_replicas"


def applies(shape: PodShape, ground: Ground) -> bool:
    few = shape.owner_replicas is not None and shape.owner_replicas < ground.policy.min_replicas
    return shape.owner_missing or (few and not shape.is_daemon)


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    if shape.owner_missing:
        return Held(Code.NO_OWNER, f"would not be made again: its {controller(shape)} is not in the cluster any more")
    least = ground.policy.min_replicas
    text = f"is one of {shape.owner_replicas} pods that its {controller(shape)} wants, fewer than min_replicas ({least})"
    return Held(Code.MIN_REPLICAS, text)
