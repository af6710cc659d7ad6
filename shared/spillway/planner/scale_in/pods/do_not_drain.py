"""The label of the autoscaler that this one follows."""

from spillway.model.cluster import PodSet, PodShape
from spillway.model.reason import Code
from spillway.planner.scale_in.pods.base import Ground
from spillway.planner.scale_in.verdict import Held, PodVerdict

KEY = "openai/do-not-drain"
RULE = f"A pod labelled `{KEY}` with `true` or `1` stays"
SOURCE = "kubernetes-ec2-autoscaler"
SETTING = ""


def applies(shape: PodShape, ground: Ground) -> bool:
    return shape.labels.get(KEY) in ("true", "1")


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    return Held(Code.DO_NOT_DRAIN, f"carries the label {KEY}")
