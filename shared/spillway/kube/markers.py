"""What Spillway writes on nodes, and what it reads there. The names are a contract with users and other controllers."""

from collections.abc import Mapping

CORDONED = "spillway.io/cordoned"  # label; its value is the plan's id
SEED_CORDONED = "openai/cordoned-by-autoscaler"  # label; the older autoscaler's, which never took it off again
LEAVING_TAINT = "ToBeDeletedByClusterAutoscaler"  # value: unix seconds. Cluster Autoscaler's key
NO_LOAD_BALANCER = "node.kubernetes.io/exclude-from-external-load-balancers"  # label, while the node drains
OURS = "spillway"  # its value when it is ours; controllers look at the key alone

_READ = frozenset(
    {
        "cluster-autoscaler.kubernetes.io/scale-down-disabled",
        "karpenter.sh/do-not-disrupt",
        "atlassian.com/no-delete",
    }
)


def cordoned_by(labels: Mapping[str, str], unschedulable: bool) -> str:
    """The plan that cordoned the node, "" when none of ours did.

    The older autoscaler left its label on when it uncordoned, so that counts only while the node is cordoned.
    """
    if labels.get(CORDONED):
        return labels[CORDONED]
    return SEED_CORDONED if unschedulable and SEED_CORDONED in labels else ""


def rule_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Only those that a rule reads; the rest would make the snapshot large and change it for nothing."""
    return {key: value for key, value in sorted(annotations.items()) if key in _READ or key.startswith("spillway.io/")}
