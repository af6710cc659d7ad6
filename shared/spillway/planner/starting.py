"""Nodes that start: what they shed, and what they will have.

A node is Ready before all its taints are gone and all its devices are advertised. While it is young it counts as
what its group promises; bought again it would be bought twice.
"""

from collections.abc import Iterable

from spillway.model.base import Resources
from spillway.model.cluster import Taint
from spillway.planner.rules.taints import repels
from spillway.planner.view import LiveNode, View

# Shed while a node starts. Kubernetes' own, the cloud controller's, Cluster Autoscaler's prefixes, and agents that
# document such a taint: Cilium, the EBS and EFS CSI drivers, Karpenter.
STARTUP_TAINTS = (
    "node.kubernetes.io/not-ready", "node.kubernetes.io/network-unavailable", "node.kubernetes.io/unreachable",
    "node.cloudprovider.kubernetes.io/uninitialized", "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/", "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "node.cilium.io/agent-not-ready", "ebs.csi.aws.com/agent-not-ready", "efs.csi.aws.com/agent-not-ready",
    "karpenter.sh/unregistered",
)  # fmt: skip


def lasting(taints: tuple[Taint, ...], view: View) -> tuple[Taint, ...]:
    """Those that repel, without those that a node sheds while it starts."""
    return tuple(taint for taint in repelling(taints) if not is_startup(taint, view))


def is_startup(taint: Taint, view: View) -> bool:
    known = (*STARTUP_TAINTS, *view.policy.nodes.startup_taints)
    return any(taint.key == key or taint.key.startswith(key) for key in known)


def is_starting(view: View, live: LiveNode) -> bool:
    """Young, and not yet all that its group promises: not Ready, devices not advertised, a startup taint still on."""
    node, group = live.node, live.group
    template = view.template_of(group, live.instance) if group else None
    if group is None or template is None or not view.is_young(live.born, group):
        return False
    lacks = any(node.allocatable.get(name, 0) < amount for name, amount in devices(template.allocatable).items())
    return not node.ready or lacks or any(is_startup(taint, view) for taint in node.taints)


def is_device(resource: str) -> bool:
    """Advertised by a device plugin, some time after the node is Ready."""
    return "/" in resource


def devices(resources: Resources) -> dict[str, int]:
    return {name: amount for name, amount in resources.items() if is_device(name)}


def promised(have: Resources, template: Resources) -> dict[str, int]:
    """What a starting node will have: its own figures where it has any, devices as its group promises."""
    names = have.keys() | template.keys()
    return {
        name: max(have.get(name, 0), template.get(name, 0)) if is_device(name) else have.get(name) or template.get(name, 0)
        for name in sorted(names)
    }


def repelling(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    return tuple(sorted((t for t in taints if repels(t)), key=lambda t: (t.key, t.effect, t.value)))


def soft(taints: Iterable[Taint], view: View) -> tuple[Taint, ...]:
    """Those with PreferNoSchedule that stay."""
    found = (t for t in taints if t.effect == "PreferNoSchedule" and not is_startup(t, view))
    return tuple(sorted(found, key=lambda t: (t.key, t.value)))
