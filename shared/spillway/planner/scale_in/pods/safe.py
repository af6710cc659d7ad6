"""Pods that are said to be safe to evict: no rule after this one holds them."""

from spillway.model.cluster import PodSet, PodShape
from spillway.planner.scale_in.pods.base import Ground
from spillway.planner.scale_in.verdict import Pods, PodVerdict

KEY = "cluster-autoscaler.kubernetes.io/safe-to-evict"
RULE = f"A pod annotated `{KEY}: true` may go, whatever the rules below say; a disruption budget is still waited for"
SOURCE = "Cluster Autoscaler"
SETTING = ""


def applies(shape: PodShape, ground: Ground) -> bool:
    return shape.annotations.get(KEY) == "true"


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    return Pods.MOVABLE
