"""DescribeInstances with the fields that an autoscaler reads. Stock moto spends 15 ms on the network cards, volumes and
tags of each instance, which is most of a tick with two hundred of them."""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses.instances import InstanceResponse

from spillway_local.emulator.patching import Patch


def short_instances() -> Patch:
    """Filters, paging and errors stay stock moto's; the answers are as EC2 gives them, but for what nobody reads."""
    stock = InstanceResponse.describe_instances

    def describe_instances(self: Any) -> ActionResult:
        answer: Any = stock(self)
        found = [_reservation(reservation) for reservation in answer.result["Reservations"]]
        return ActionResult({**answer.result, "Reservations": found})

    return Patch(InstanceResponse, "describe_instances", describe_instances)


def _reservation(reservation: Any) -> dict[str, Any]:
    return {
        "ReservationId": reservation.id,
        "OwnerId": reservation.owner_id,
        "Instances": [_instance(instance) for instance in reservation.instances],
    }


def _instance(instance: Any) -> dict[str, Any]:
    return {
        "InstanceId": instance.id,
        "InstanceType": instance.instance_type,
        "ImageId": instance.image_id,
        "LaunchTime": instance.launch_time,
        "Placement": {"AvailabilityZone": instance.placement.zone},
        "State": {"Code": instance.state_code, "Name": instance.state},
        "PrivateDnsName": instance.private_dns_name,
    }
