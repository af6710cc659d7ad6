"""What AWS takes is emptied first, from the event that says so to the pods on another node."""

from datetime import timedelta

import pytest

from spillway.model.plan import Why
from tests.world import scene
from tests.world.scene import EAST

pytestmark = pytest.mark.timeout(300)
WARNING = "EC2 Capacity Reservation Instance Interruption Warning"


@pytest.mark.feature("EV-07")
def test_a_node_whose_instance_its_reservation_takes_is_drained_within_the_notice_and_replaced() -> None:
    with scene.world(pods=1, capacity={}) as world:
        world.run(until=world.all_pods_run, limit_s=900)
        world.run(until=world.is_idle, limit_s=900)
        (doomed,) = world.machines()
        at = world.clock.now()
        detail = {
            "instance-id": doomed.instance_id, "instance-action": "terminate",
            "instance-termination-time": f"{at + timedelta(minutes=2):%Y-%m-%dT%H:%M:%SZ}",
        }  # fmt: skip
        world.aws.launches.emit(EAST, "aws.ec2", WARNING, detail, [])
        world.run(until=lambda: doomed.instance_id not in {machine.instance_id for machine in world.machines()}, limit_s=120)

        world.run(until=world.all_pods_run, limit_s=300)
        (step,) = [step for plan in world.plans() for step in plan.scale_in if step.instance_id == doomed.instance_id]
        assert step.why is Why.INTERRUPTED
        world.run(until=world.is_idle, limit_s=300)
        assert world.desired()[f"{EAST}/cpu"] == 1
