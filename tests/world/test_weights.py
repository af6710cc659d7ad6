"""A group that counts by weight, from pods that wait to nothing that is left."""

from typing import Any

import pytest

from spillway_local.world import World
from spillway_local.world_dump import RawDump
from tests.world import scene
from tests.world.scene import CLUSTER, EAST, NOW, POLICY, WEST
from tests.world.test_burst import at_rest

pytestmark = pytest.mark.timeout(300)


def weighted(region: str) -> dict[str, Any]:
    """Of m5.large, which weighs 3; at most three of them."""
    group = scene.group(region, high=9)
    reference = group.pop("LaunchTemplate")
    overrides = [{"InstanceType": "m5.large", "WeightedCapacity": "3"}]
    template = {"LaunchTemplateSpecification": reference, "Overrides": overrides}
    return {**group, "MixedInstancesPolicy": {"LaunchTemplate": template, "InstancesDistribution": {}}}


@pytest.mark.feature("FS-02")
def test_its_nodes_come_by_weight_what_is_refused_spills_and_all_is_given_back() -> None:
    east = scene.region(scene.group(EAST))
    east["AutoScalingGroups"] = [weighted(EAST)]
    raw = RawDump(
        cluster=CLUSTER, home=EAST, now=NOW, objects=tuple(scene.pod(f"train-{n}") for n in range(4)),
        answers={EAST: east, WEST: scene.region(scene.group(WEST), price=0.106)}, policy=POLICY,
    )  # fmt: skip
    with World(raw, capacity={(EAST, "m5.large"): 2}, job_s=300) as world:
        world.run(until=world.all_pods_run, limit_s=900)
        assert world.instances() == {f"{EAST}/cpu": 2, f"{WEST}/cpu": 2}
        world.run(until=world.is_idle, limit_s=600)
        assert world.desired() == {f"{EAST}/cpu": 6, f"{WEST}/cpu": 2}

        first = world.plans()[0].scale_out
        assert [(step.region, step.to_desired - step.from_desired, step.nodes) for step in first] == [
            (EAST, 9, 3),
            (WEST, 1, 1),
        ]
        world.run(until=lambda: at_rest(world), limit_s=3600)
