"""Pods under PodDisruptionBudgets."""

from spillway.model.cluster import PodSet, PodShape
from spillway.model.reason import Code
from spillway.planner.scale_in.pods.base import Ground
from spillway.planner.scale_in.verdict import Held, PodVerdict

RULE = (
    "A pod stays while its PodDisruptionBudget allows no eviction, and always when it is under two; what budgets allow is "
    "counted over the whole plan and the drains under way"
)
SOURCE = "Cluster Autoscaler; Karpenter (two budgets)"
SETTING = ""


def applies(shape: PodShape, ground: Ground) -> bool:
    return bool(ground.disruptions.of(shape.id))


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    text = ground.disruptions.refusal((pods,))
    return Held(Code.DISRUPTION_BUDGET, text) if text else None
