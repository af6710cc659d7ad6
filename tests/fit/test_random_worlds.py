"""Random worlds before the checker, as `tests/cluster` has them before the real scheduler: in a second, on any machine."""

import pytest

from spillway_local.judge.features import BUILT
from spillway_local.judge.generator import generate
from spillway_local.judge.pinned import is_luck
from tests.fit.checker import left_over, refused


@pytest.mark.feature("SO-02")
@pytest.mark.feature("SO-06")
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_every_served_pod_comes_on_its_node_and_for_no_other_is_there_room(seed: int) -> None:
    """Pods that are no demand may find room or not."""
    world = generate(seed, BUILT)
    planned = world.plan()
    objects = [*world.standing(planned), *planned.nodes.values(), *planned.company]
    assert refused(objects, planned.assigned) == {}
    free = left_over(objects, planned.assigned, [pod for pod, why in planned.unserved if why])
    assert {key: node for key, nodes in free.items() for node in nodes if not is_luck(world, planned, node)} == {}
