"""Labels and taints of a group's new nodes: from what is sure, from the EKS node group, and from tags, which win."""

from collections.abc import Iterable, Mapping

from spillway.aws.shapes import Nodegroup
from spillway.model import quantity
from spillway.model.base import Labels, Resources
from spillway.model.cluster import Taint
from spillway.model.selector import UNTOLD

TEMPLATE = "k8s.io/cluster-autoscaler/node-template/"  # Cluster Autoscaler: cloudprovider/aws/aws_manager.go
SEED_LABEL = "kube/"  # kubernetes-ec2-autoscaler: autoscaling_groups.py

EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_EKS_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}
_EKS_MARKETS = {"ON_DEMAND", "SPOT", "CAPACITY_BLOCK"}

_ZONE = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone")
_REGION = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
_TYPE = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_ARCH = ("kubernetes.io/arch", "beta.kubernetes.io/arch")
_OS = ("kubernetes.io/os", "beta.kubernetes.io/os")


def of_place(region: str, zones: Iterable[str]) -> dict[str, str]:
    """That each new node is sure to carry: of several zones the group will choose one."""
    found, each = dict.fromkeys(_REGION, region), set(zones)
    return found | dict.fromkeys(_ZONE, each.pop()) if len(each) == 1 else found


def of_machine(instance_type: str, architecture: str, system: str) -> dict[str, str]:
    """That a node of one type carries; "" is a value that nobody knows."""
    every = ((_TYPE, instance_type), (_ARCH, architecture), (_OS, system))
    return {key: value or UNTOLD for keys, value in every for key in keys}


def of_nodegroup(nodegroup: Nodegroup) -> tuple[Labels, tuple[Taint, ...]]:
    """What EKS puts on nodes of the group; an effect we do not know blocks."""
    labels = {"eks.amazonaws.com/nodegroup": nodegroup.nodegroup_name, **nodegroup.labels}
    if nodegroup.capacity_type in _EKS_MARKETS:
        labels["eks.amazonaws.com/capacityType"] = nodegroup.capacity_type
    taints = (
        Taint(key=taint.key, value=taint.value, effect=_EKS_EFFECTS.get(taint.effect, "NoSchedule"))
        for taint in nodegroup.taints
    )
    return labels, tuple(taints)


def by_key(taints: Iterable[Taint]) -> dict[tuple[str, str], Taint]:
    """By key and effect, of which a node has one taint at most."""
    return {(taint.key, taint.effect): taint for taint in taints}


def of_tags(tags: Mapping[str, str]) -> Labels:
    """`node-template/label/<label>`, and the seed's `kube/<label>`."""
    found = {key.removeprefix(SEED_LABEL): value for key, value in tags.items() if key.startswith(SEED_LABEL)}
    return found | _below("label/", tags)


def taints_of_tags(tags: Mapping[str, str]) -> tuple[dict[tuple[str, str], Taint], list[str]]:
    """`node-template/taint/<key>` = `value:Effect`, and a sentence for each that says no effect we know: it blocks."""
    found: dict[tuple[str, str], Taint] = {}
    problems: list[str] = []
    for key, text in _below("taint/", tags).items():
        value, _, effect = text.rpartition(":")
        if effect not in EFFECTS:
            problems.append(f"tag {TEMPLATE}taint/{key} is {text!r}, not value:Effect; it is taken for NoSchedule")
            value, effect = text.partition(":")[0], "NoSchedule"
        found[key, effect] = Taint(key=key, value=value, effect=effect)
    return found, problems


def resources_of_tags(tags: Mapping[str, str]) -> tuple[Resources, list[str]]:
    """`node-template/resources/<name>` = quantity, the allocatable of a new node; a sentence for each that can be none."""
    found: dict[str, int] = {}
    problems: list[str] = []
    for name, text in _below("resources/", tags).items():
        try:
            amount = quantity.amount(name, text)
            if amount < 0:
                raise quantity.QuantityError(text, "is below 0")
            found[name] = amount
        except quantity.QuantityError as error:
            problems.append(f"tag {TEMPLATE}resources/{name} is passed over: {error}")
    return found, problems


def options_of_tags(tags: Mapping[str, str]) -> Labels:
    """`node-template/autoscaling-options/<option>`, as written: the planner judges them."""
    return dict(sorted(_below("autoscaling-options/", tags).items()))


def _below(part: str, tags: Mapping[str, str]) -> dict[str, str]:
    prefix = TEMPLATE + part
    return {key.removeprefix(prefix): value for key, value in tags.items() if key.startswith(prefix) and key != prefix}
