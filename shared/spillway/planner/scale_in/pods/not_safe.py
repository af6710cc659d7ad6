"""Pods that are said not to be safe to evict."""

from spillway.model.cluster import PodSet, PodShape
from spillway.model.reason import Code
from spillway.planner.scale_in.pods.base import Ground
from spillway.planner.scale_in.pods.safe import KEY
from spillway.planner.scale_in.verdict import Held, PodVerdict

RULE = f"A pod annotated `{KEY}: false` stays"
SOURCE = "Cluster Autoscaler"
SETTING = ""


def applies(shape: PodShape, ground: Ground) -> bool:
    return shape.annotations.get(KEY) == "false"


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    return Held(Code.NOT_SAFE, f"carries {KEY}=false")
