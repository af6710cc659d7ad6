"""What live nodes show of the next one: for each group, definition and instance type the least that was seen.

What is seen beats what was computed, but for amounts that tags of the group state. A node shows something once it is whole:
Ready, without startup taints, with every device that its type has; a device plugin that is down must not teach that a
type has no GPUs. Memory that hypervisor and kernel keep is a type's own, and counts for other groups of that type, too.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from spillway.model import quantity
from spillway.model.base import Labels, Resources
from spillway.model.cluster import Taint
from spillway.model.fleet import Choice, Instance, NodeGroup
from spillway.model.memory import LearnedTemplate
from spillway.planner.rules.base import ZONE_KEYS
from spillway.planner.rules.taints import repels
from spillway.planner.starting import is_device, is_startup
from spillway.planner.taught import Key, shared_labels, shared_taints
from spillway.planner.view import LiveNode, View

FORGET_AFTER = timedelta(days=60)  # Karpenter's, for the memory of a type (pkg/cache)
_AGREE = 2
"""Nodes that must share a label or a taint: what people put on a single one by hand is not its group's."""

_OF_ONE_NODE = (*ZONE_KEYS, "kubernetes.io/hostname")
_OF_NODES = ("topology.k8s.aws/", "spillway.io/", "openai/", "alpha.eksctl.io/instance-id")  # prefixes
_CONDITIONS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")  # the control plane's own taints
_AUTOSCALERS = ("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler", "karpenter.sh/", "spillway.io/")


def observe(seen: View) -> tuple[LearnedTemplate, ...]:
    """All that is known after this tick, by region, group and type."""
    groups = {group.key: group for group in seen.fleet.groups}  # as AWS answered, without what was learned
    shown: dict[Key, list[_Shown]] = defaultdict(list)
    for live in seen.nodes:
        group = groups.get(live.group.key) if live.group else None
        choice = _choice_of(group, live.instance)
        if group and choice and _is_whole(seen, live, choice):
            shown[group.region, group.name, choice.instance_type].append(_Shown(live, group, choice))
    before = {one.key: one for one in seen.memory.templates if _holds(seen, groups, one)}
    found = {key: _record(seen, shown[key], before.get(key)) if key in shown else before[key] for key in before | shown}
    return tuple(found[key] for key in sorted(found))


class _Shown(NamedTuple):
    """A node that is whole, and what it was launched as."""

    live: LiveNode
    group: NodeGroup
    choice: Choice


def _choice_of(group: NodeGroup | None, instance: Instance | None) -> Choice | None:
    """What launched the instance, if the group would launch that again."""
    if group is None or group.template is None or instance is None or not instance.definition:
        return None
    choice = group.template.choice_of(instance.instance_type, instance.definition)
    return choice if choice and choice.definition == instance.definition else None


def _is_whole(seen: View, live: LiveNode, choice: Choice) -> bool:
    node = live.node
    if not node.ready or live.is_leaving or node.name in seen.draining:
        return False
    lacks = any(node.allocatable.get(name, 0) < amount for name, amount in choice.allocatable.items() if is_device(name))
    return not lacks and not any(is_startup(taint, seen) for taint in node.taints)


def _holds(seen: View, groups: Mapping[str, NodeGroup], record: LearnedTemplate) -> bool:
    """Not of an older definition, and not too old. Of a group that is not to be seen it holds until it is too old."""
    group = groups.get(f"{record.region}/{record.group}")
    template = group.template if group else None
    is_young = seen.now - record.seen_at < FORGET_AFTER
    return is_young and (template is None or template.fingerprint == record.fingerprint)


def _record(seen: View, shown: Sequence[_Shown], old: LearnedTemplate | None) -> LearnedTemplate:
    _, group, choice = shown[0]
    gaps = [gap for one in shown if (gap := _overhead(one)) is not None]
    if old and old.overhead_bytes is not None:
        gaps.append(old.overhead_bytes)
    labels, taints = [_lasting_labels(one.live) for one in shown], [_lasting_taints(one.live) for one in shown]
    if len(shown) < _AGREE:
        labels.append(old.labels if old else {})
        taints.append(old.taints if old else ())
    return LearnedTemplate(
        region=group.region,
        group=group.name,
        instance_type=choice.instance_type,
        fingerprint=group.template.fingerprint if group.template else "",
        seen_at=seen.cluster.taken_at,
        allocatable=_least([one.live.node.allocatable for one in shown], old),
        labels=dict(sorted(shared_labels(labels).items())),
        taints=shared_taints(taints),
        overhead_bytes=max(gaps, default=None),
    )


def _least(shown: Sequence[Resources], old: LearnedTemplate | None) -> Resources:
    """What all have now, and never more than was seen before; of devices what all have now, since they are mended."""
    before = old.allocatable if old else {}
    return {
        name: amount if is_device(name) else min(amount, before.get(name, amount))
        for name, amount in quantity.smallest(*shown).items()
        if amount or not is_device(name)
    }


def _overhead(one: _Shown) -> int | None:
    """Memory that EC2 names and the node does not have. A kubelet keeps some of what there is: figures that are equal were
    made up, as those of a simulated node."""
    node, named = one.live.node, one.choice.memory_bytes
    if not named or node.memory_bytes <= node.allocatable.get("memory", 0):
        return None
    return max(0, named - node.memory_bytes)


def _lasting_labels(live: LiveNode) -> Labels:
    """Without those that are one node's own, by their name or because their value names it."""
    node, instance = live.node, live.instance
    own = {node.name, *node.dns_names, *((instance.id, instance.private_dns, instance.zone) if instance else ())} - {""}
    return {
        key: value
        for key, value in node.labels.items()
        if key not in _OF_ONE_NODE and not key.startswith(_OF_NODES) and not any(name in value for name in own)
    }


def _lasting_taints(live: LiveNode) -> tuple[Taint, ...]:
    return tuple(t for t in live.node.taints if repels(t) and not t.key.startswith((*_CONDITIONS, *_AUTOSCALERS)))
