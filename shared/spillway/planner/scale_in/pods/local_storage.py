"""Pods with data on the node's own disks."""

from spillway.model.cluster import PodSet, PodShape
from spillway.model.reason import Code
from spillway.planner.scale_in.pods.base import Ground
from spillway.planner.scale_in.verdict import Held, PodVerdict

RULE = (
    "A pod with a hostPath volume, or an emptyDir that is not in memory, stays unless every such volume is named in "
    "`cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes`, or `local_storage` is `move`"
)
SOURCE = "Cluster Autoscaler (`--skip-nodes-with-local-storage`)"
SETTING = "scale_in.drainable.local_storage"


def applies(shape: PodShape, ground: Ground) -> bool:
    return bool(shape.local_storage) and ground.policy.local_storage == "keep"


def verdict(shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
    return Held(Code.LOCAL_STORAGE, f"would lose its local storage ({', '.join(shape.local_storage)})")
