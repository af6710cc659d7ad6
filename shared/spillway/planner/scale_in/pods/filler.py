"""Pods that only fill spare room."""

from spillway.model.cluster import PodSet, PodShape
from spillway.planner.scale_in.pods.base import Ground
from spillway.planner.scale_in.verdict import Pods, PodVerdict

RULE = "A pod below the priority cutoff keeps no node and needs no place; it is still asked to go"
SOURCE = "Cluster Autoscaler"
SETTING = "pods.priority_cutoff"


def applies(shape: PodShape, ground: Ground) -> bool:
    return shape.priority < ground.view.policy.pods.priority_cutoff and not shape.is_daemon


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    return Pods.SKIPPED
