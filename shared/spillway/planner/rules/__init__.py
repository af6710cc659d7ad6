"""The scheduler's rules, one module each, in the order in which a refusal tells most.

Resources, pod slots and host ports are amounts and live in `planner.amounts`.
"""

from collections.abc import Callable, Mapping

from spillway.model.cluster import PodShape
from spillway.planner.rules import node_affinity, node_name, node_selector, taints, volumes
from spillway.planner.rules.base import Filter

FILTERS: tuple[Filter, ...] = (node_name, node_selector, node_affinity, volumes, taints)

UNJUDGED: Mapping[str, Callable[[PodShape], bool]] = {
    "pod affinity": lambda shape: any(term.weight == 0 for term in shape.pod_affinity),
    "pod anti-affinity": lambda shape: any(term.weight == 0 for term in shape.pod_anti_affinity),
    "topology spread": lambda shape: any(s.when_unsatisfiable == "DoNotSchedule" for s in shape.spread),
    "volumes that several wait for and one may have": lambda shape: any(
        need.exclusive and need.shared and not need.problem for need in shape.volumes
    ),
}
"""Rules that a shape may carry and no filter knows yet: its pods are planned by the others, and a warning says so."""
