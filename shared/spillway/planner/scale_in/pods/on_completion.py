"""Pods that say themselves that their end is to be waited for."""

from spillway.model.cluster import PodSet, PodShape
from spillway.model.reason import Code
from spillway.planner.scale_in.pods.base import Ground
from spillway.planner.scale_in.pods.safe import KEY
from spillway.planner.scale_in.verdict import Held, PodVerdict

RULE = f"A pod annotated `{KEY}: on-completion` is waited for until it ends, or until the hard grace is over"
SOURCE = "Cluster Autoscaler; Escalator (hard grace)"
SETTING = "scale_in.batch_ends_s"


def applies(shape: PodShape, ground: Ground) -> bool:
    return shape.annotations.get(KEY) == "on-completion"


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    return None if ground.batch_is_over else Held(Code.BATCH, "is to be waited for until it ends (on-completion)")
