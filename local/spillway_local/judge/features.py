"""What random worlds may be made of, one switch each.

To turn a feature on once the planner judges it: add it to `BUILT`. All that reads a feature asks the set that it is
handed, so that a test may also name any set of its own.
"""

from enum import StrEnum


class Feature(StrEnum):
    """A kind of rule or object. What is said in brackets comes with it."""

    RESOURCES = "resources"  # beyond cpu and memory: disk, devices, huge pages, init containers, sidecars, overhead, slots
    SELECTORS = "selectors"
    NODE_AFFINITY = "node_affinity"
    PREFERRED = "preferred"  # node affinity that only prefers, and PreferNoSchedule
    TAINTS = "taints"
    UNSCHEDULABLE = "unschedulable"  # nodes that a person cordoned, or an earlier plan of ours
    HOST_PORTS = "host_ports"
    PRIORITIES = "priorities"  # of classes that never preempt
    LIMITS = "limits"  # groups near their max, limits of the policy
    EXISTING = "existing"  # nodes that are there already, with pods on them
    POD_AFFINITY = "pod_affinity"
    POD_ANTI_AFFINITY = "pod_anti_affinity"
    TOPOLOGY_SPREAD = "topology_spread"
    PREEMPTION = "preemption"  # classes that preempt, and filler below the policy's cutoff
    VOLUMES = "volumes"  # claims bound and unbound, attach limits; a new node has those of its group's weakest
    SHARED_VOLUMES = "shared_volumes"  # [volumes] claims that all pods of a workload share, of which no volume is made yet
    FREE_VOLUMES = "free_volumes"  # [volumes] a few volumes of zones that wait for a claim, of a class that makes none
    DAEMONSETS = "daemonsets"  # and their pods on every node, new ones too
    MIXED_TYPES = "mixed_types"  # groups of several instance types and architectures: a new node's is not known beforehand


BUILT = frozenset({
    Feature.RESOURCES, Feature.SELECTORS, Feature.NODE_AFFINITY, Feature.PREFERRED, Feature.TAINTS, Feature.UNSCHEDULABLE,
    Feature.HOST_PORTS, Feature.PRIORITIES, Feature.LIMITS, Feature.EXISTING, Feature.VOLUMES, Feature.DAEMONSETS,
    Feature.MIXED_TYPES, Feature.SHARED_VOLUMES,
    Feature.POD_AFFINITY, Feature.POD_ANTI_AFFINITY, Feature.TOPOLOGY_SPREAD,
})  # fmt: skip
"""What the planner judges today: in worlds of these features it must never be wrong."""

BETWEEN_PODS = frozenset({Feature.POD_AFFINITY, Feature.POD_ANTI_AFFINITY, Feature.TOPOLOGY_SPREAD})
"""Rules that pods have about each other."""
NODE_LOCAL = frozenset({
    Feature.RESOURCES, Feature.SELECTORS, Feature.NODE_AFFINITY, Feature.PREFERRED, Feature.TAINTS, Feature.UNSCHEDULABLE,
    Feature.HOST_PORTS,
})  # fmt: skip
"""What one pod and one node decide between themselves; pairs know no others."""
