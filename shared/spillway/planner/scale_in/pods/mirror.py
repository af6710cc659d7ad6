"""Static pods: the kubelet makes them from a file of the node, and they go with it."""

from spillway.model.cluster import PodSet, PodShape
from spillway.planner.scale_in.pods.base import Ground
from spillway.planner.scale_in.verdict import Pods, PodVerdict

RULE = "A mirror pod (`kubernetes.io/config.mirror`) goes with its node"
SOURCE = "Cluster Autoscaler"
SETTING = ""


def applies(shape: PodShape, ground: Ground) -> bool:
    return shape.mirror


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    return Pods.SKIPPED
