"""Karpenter's annotation: never, or for some time since the pod's start."""

from spillway.model.cluster import PodSet, PodShape
from spillway.model.reason import Code
from spillway.planner.durations import duration_s
from spillway.planner.scale_in.pods.base import Ground, age_s
from spillway.planner.scale_in.verdict import Held, PodVerdict

KEY = "karpenter.sh/do-not-disrupt"
RULE = (
    f"A pod annotated `{KEY}` with `true`, or with a duration since its start that is not over, stays; other values say nothing"
)
SOURCE = "Karpenter"
SETTING = ""


def applies(shape: PodShape, ground: Ground) -> bool:
    value = shape.annotations.get(KEY, "")
    return value == "true" or duration_s(value) is not None


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    value = shape.annotations[KEY]
    if value == "true":
        return Held(Code.DO_NOT_DISRUPT, f"carries {KEY}")
    left_s = (duration_s(value) or 0.0) - age_s(pods, ground)
    return Held(Code.DO_NOT_DISRUPT, f"carries {KEY}={value}, of which {left_s:.0f} s are left") if left_s > 0 else None
