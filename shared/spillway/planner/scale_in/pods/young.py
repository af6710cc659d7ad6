"""Pods that started lately: what was moved a moment ago is not moved again."""

from spillway.model.cluster import PodSet, PodShape
from spillway.model.reason import Code
from spillway.planner.scale_in.pods.base import Ground, age_s
from spillway.planner.scale_in.verdict import Held, PodVerdict

RULE = "A pod that started less than `young_s` ago stays, so that none is moved from node to node"
SOURCE = "kubernetes-ec2-autoscaler (drain grace, one hour); Karpenter (consolidateAfter)"
SETTING = "scale_in.drainable.young_s"


def applies(shape: PodShape, ground: Ground) -> bool:
    return ground.policy.young_s > 0


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    age, least = age_s(pods, ground), ground.policy.young_s
    return Held(Code.YOUNG_POD, f"started {age:.0f} s ago, less than {least} s") if age < least else None
