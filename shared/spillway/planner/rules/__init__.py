"""The scheduler's rules, one module each, in the order in which a refusal tells most.

Resources, pod slots, host ports and attachments are amounts and live in `planner.amounts`; volumes that one pod alone may
have in `planner.exclusive`; what pods say of each other in `planner.topology`.
"""

from spillway.planner.rules import node_affinity, node_name, node_selector, taints, volumes
from spillway.planner.rules.base import Filter

FILTERS: tuple[Filter, ...] = (node_name, node_selector, node_affinity, volumes, taints)
