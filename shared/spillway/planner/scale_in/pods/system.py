"""Pods of kube-system that no budget guards."""

from spillway.model.cluster import PodSet, PodShape
from spillway.model.reason import Code
from spillway.planner.scale_in.pods.base import Ground
from spillway.planner.scale_in.verdict import Held, Pods, PodVerdict

RULE = (
    "A pod of kube-system that no disruption budget selects stays for `system_pods_s`, null for ever, 0 not at all; "
    "after that no rule below holds it"
)
SOURCE = "Cluster Autoscaler (`--skip-nodes-with-system-pods`, `--blocking-system-pod-distruption-timeout`)"
SETTING = "scale_in.drainable.system_pods_s"


def applies(shape: PodShape, ground: Ground) -> bool:
    return shape.namespace == "kube-system" and ground.policy.system_pods_s != 0 and not ground.disruptions.of(shape.id)


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    limit = ground.policy.system_pods_s
    if limit is None:
        return Held(Code.SYSTEM_POD, "is a pod of kube-system without a disruption budget")
    age_s = (ground.at - max(pods.created)).total_seconds()
    if age_s > limit:
        return Pods.MOVABLE
    return Held(
        Code.SYSTEM_POD, f"is a pod of kube-system without a disruption budget, {age_s:.0f} s old: it stays for {limit} s"
    )
