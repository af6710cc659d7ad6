"""Running pods of Jobs: work that would begin anew."""

from spillway.model.cluster import PodSet, PodShape
from spillway.model.reason import Code
from spillway.planner.scale_in.pods.base import Ground, controller
from spillway.planner.scale_in.verdict import Held, PodVerdict

RULE = "A Job's pod is waited for until it ends, or until the hard grace is over, unless the policy lets Jobs be evicted"
SOURCE = "kubernetes-ec2-autoscaler (batch); Escalator (hard grace)"
SETTING = "scale_in.batch, scale_in.batch_ends_s"


def applies(shape: PodShape, ground: Ground) -> bool:
    return ground.batch_waits and controller(shape) == "Job"


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    if ground.batch_is_over:
        return None
    ends = "" if ground.batch_ends_s is None else f", at most {ground.batch_ends_s} s from when the node was unneeded"
    return Held(Code.BATCH, f"is a Job's and waited for until it ends{ends}")
