"""Pods of DaemonSets: one comes with every node, and goes with it."""

from spillway.model.cluster import PodSet, PodShape
from spillway.planner.scale_in.pods.base import Ground
from spillway.planner.scale_in.verdict import Pods, PodVerdict

RULE = "A DaemonSet's pod, or one annotated `cluster-autoscaler.kubernetes.io/daemonset-pod: true`, goes with its node"
SOURCE = "Cluster Autoscaler"
SETTING = ""


def applies(shape: PodShape, ground: Ground) -> bool:
    return shape.is_daemon


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    return Pods.SKIPPED
