"""Which nodes go, and why the others stay: the first rule that says something decides.

The states are those of kubernetes-ec2-autoscaler, what makes a candidate is Cluster Autoscaler's, the reasons to go are
Karpenter's. What is not ours comes first, then what forbids any removal, then what is wrong with the node, then its work.
Limits, which removals reach together, and a place for the pods are looked at after, in the order in which nodes go.
"""

from spillway.planner.scale_in.rules import (
    annotated,
    busy,
    changing,
    dead,
    deleting,
    detached,
    disabled,
    draining,
    empty,
    foreign,
    human_cordon,
    ignored,
    interrupted,
    no_member,
    not_ready,
    pending_pods,
    protected,
    scarce,
    starting,
    suspended,
    undrainable,
    unneeded,
    unseen,
    vanished,
)
from spillway.planner.scale_in.rules.base import NodeRule

RULES: tuple[NodeRule, ...] = (
    vanished,
    foreign,
    ignored,
    detached,
    deleting,
    draining,
    interrupted,
    no_member,
    disabled,
    unseen,
    suspended,
    changing,
    protected,
    human_cordon,
    annotated,
    starting,
    dead,
    not_ready,
    pending_pods,
    empty,
    busy,
    undrainable,
    scarce,
    unneeded,
)
