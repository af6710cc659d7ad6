"""Pods with resource claims (DRA), which no rule of fit judges."""

from spillway.model.cluster import PodSet, PodShape
from spillway.model.reason import Code
from spillway.planner.scale_in.pods.base import Ground
from spillway.planner.scale_in.verdict import Held, PodVerdict

RULE = "A pod with resource claims stays: whether another node can meet them is not judged"
SOURCE = "Spillway"
SETTING = ""


def applies(shape: PodShape, ground: Ground) -> bool:
    return bool(shape.resource_claims)


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    return Held(Code.NOT_JUDGED, f"has resource claims ({', '.join(shape.resource_claims)}), which are not judged")
