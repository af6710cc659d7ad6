"""The checker of `tests/fit` says of every pod what the real scheduler does, also where the planner is wrong.

The worlds need not be of features that the planner judges: its plan is only what both are asked about.
"""

import pytest

from spillway_local.judge import pinned
from spillway_local.judge.features import BETWEEN_PODS, BUILT, Feature
from spillway_local.judge.generator import generate
from spillway_local.judge.scene import key_of
from spillway_local.judge.stage import Stage
from tests.fit.checker import left_over, refused

SETS = {
    "built": BUILT,
    "pod_affinity": BUILT | {Feature.POD_AFFINITY},
    "pod_anti_affinity": BUILT | {Feature.POD_ANTI_AFFINITY},
    "topology_spread": BUILT | {Feature.TOPOLOGY_SPREAD},
    "between_pods": BUILT | BETWEEN_PODS,
    "all_but_preemption": frozenset(Feature) - {Feature.PREEMPTION},  # the checker leaves out who is to give way
}
WORLDS = 5


@pytest.mark.cluster
@pytest.mark.feature("RS-07")
@pytest.mark.parametrize("features", SETS.values(), ids=SETS)
def test_the_checker_and_the_scheduler_agree_on_every_pod_of_a_plan(stage: Stage, features: frozenset[Feature]) -> None:
    """Which of two that exclude each other comes is the scheduler's choice: all that came may come, no other may then."""
    plans, found = pinned.come_true(stage, [generate(seed, features) for seed in range(WORLDS)])
    stage.clear()

    for world, planned in plans:
        objects = [*world.standing(planned), *planned.nodes.values(), *planned.company]
        came = [(pod, node) for pod, node in planned.assigned if found[key_of(pod)].node]
        kept_away = {key_of(pod): node for pod, node in planned.assigned if not found[key_of(pod)].node}
        assert refused(objects, came) == {}
        free = left_over(objects, came, [pod for pod, _ in planned.assigned if key_of(pod) in kept_away])
        assert [key for key, node in kept_away.items() if node in free.get(key, ())] == []
