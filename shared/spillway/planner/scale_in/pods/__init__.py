"""Which pods let their node go: Cluster Autoscaler's rules in its order, with those of others where they belong.

The first that says something decides; pods of which none does may be moved. `docs/drainability.md` is made from these rules.
"""

from spillway.planner.scale_in.pods import (
    claims,
    daemon,
    disruption_budget,
    do_not_disrupt,
    do_not_drain,
    filler,
    job,
    local_storage,
    mirror,
    not_safe,
    on_completion,
    owner,
    replicated,
    safe,
    system,
    terminating,
    young,
)
from spillway.planner.scale_in.pods.base import PodRule

RULES: tuple[PodRule, ...] = (
    filler,
    mirror,
    terminating,
    owner,
    daemon,
    claims,
    do_not_disrupt,
    do_not_drain,
    young,
    safe,
    on_completion,
    job,
    replicated,
    system,
    not_safe,
    local_storage,
    disruption_budget,
)
