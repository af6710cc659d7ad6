"""What Spillway writes on nodes, and what it reads there. The names are a contract with users and other controllers."""

from collections.abc import Iterable, Mapping

import msgspec

from spillway.kube.fields import ABSENT, LONGEST_NOTE, NEVER, UNREADABLE, Part, Time
from spillway.model.cluster import Taint

CORDONED = "spillway.io/cordoned"  # label; its value is the plan's id
SEED_CORDONED = "openai/cordoned-by-autoscaler"  # label; the older autoscaler's, which never took it off again
LEAVING_TAINT = "ToBeDeletedByClusterAutoscaler"  # value: unix seconds. Cluster Autoscaler's key
NO_LOAD_BALANCER = "node.kubernetes.io/exclude-from-external-load-balancers"  # label, while the node drains
OURS = "spillway"  # its value when it is ours; controllers look at the key alone

_AUTOSCALERS = {  # by the taints with which they keep pods off a node that is to go
    LEAVING_TAINT: "cluster-autoscaler",
    "karpenter.sh/disrupted": "karpenter",
    "karpenter.sh/disruption": "karpenter",
}


class _NodeSpecFields(Part):
    unschedulable: msgspec.Raw = msgspec.field(default=ABSENT, name="f:unschedulable")


class _Fields(Part):
    spec: _NodeSpecFields | None = msgspec.field(default=None, name="f:spec")


class _Managed(Part):
    manager: str = ""
    time: Time | None = None
    fields: _Fields | None = msgspec.field(default=None, name="fieldsV1")


_managed = msgspec.json.Decoder(list[_Managed] | None)

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


def manager_of_cordon(managed_fields: bytes) -> str:
    """Who set `spec.unschedulable` last, as `metadata.managedFields` tells; "" where they do not, or do not read."""
    try:
        entries = _managed.decode(managed_fields) or [] if managed_fields else []
    except UNREADABLE:
        return ""  # no reason to lose the node
    owners = [one for one in entries if one.fields and one.fields.spec and one.fields.spec.unschedulable != ABSENT]
    return max(owners, key=lambda one: one.time or NEVER).manager if owners else ""


def autoscaler_of(taints: Iterable[Taint]) -> str:
    """The autoscaler that is about to take the node away, "" for none. One that is ours also carries our label."""
    return next((_AUTOSCALERS[taint.key] for taint in taints if taint.key in _AUTOSCALERS), "")


def rule_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Only those that a rule reads; the rest would make the snapshot large and change it for nothing."""
    read = (key for key in sorted(annotations) if key in _READ or key.startswith("spillway.io/"))
    return {key: annotations[key][:LONGEST_NOTE] for key in read}
