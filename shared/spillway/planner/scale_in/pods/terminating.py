"""Pods that are being deleted."""

from spillway.model.cluster import PodSet, PodShape, PodState
from spillway.model.reason import Code
from spillway.planner.scale_in.pods.base import Ground
from spillway.planner.scale_in.terminating import overdue
from spillway.planner.scale_in.verdict import Held, Pods, PodVerdict

RULE = (
    "A pod that is being deleted is waited for, as a drain would wait for it; one whose time, grace once more and 30 s are "
    "over is as good as gone"
)
SOURCE = "Cluster Autoscaler (the second half)"
SETTING = ""


def applies(shape: PodShape, ground: Ground) -> bool:
    return True


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    if pods.state is not PodState.TERMINATING:
        return None
    if overdue(ground.view, shape, pods) == len(pods.names):
        return Pods.SKIPPED
    until = f" until {max(pods.deletes):%Y-%m-%d %H:%M:%S} UTC" if pods.deletes else ""
    return Held(Code.BUSY, f"is being deleted and may take its time{until}")
