"""AWS's times are UTC, also in a dump whose writer left that out."""

from datetime import datetime
from typing import Any

import pytest

from spillway import planner
from spillway.aws import fleet
from spillway.model.memory import Memory
from spillway.model.policy import Policy
from tests.aws.answers import CLUSTER, NOW, activity, group, member, mixed, region
from tests.builders import cluster, pod

HOME = "us-east-1"
AGO, SOON = "2026-01-01T11:30:00", "2026-01-02T12:00:00"


def answers(zone: str) -> dict[str, Any]:
    """Every time that is read, as text with this zone."""
    ago, soon = AGO + zone, SOON + zone
    spot = {"InstanceType": "m5.large", "AvailabilityZone": "us-east-1a", "ProductDescription": "Linux/UNIX"}
    reserved = {"CapacityReservationPreference": "capacity-reservations-only"}
    on_demand = {"QuotaCode": "L-1216C47A", "QuotaName": "On-Demand Standard", "Value": 64.0}
    spot_quota = {"QuotaCode": "L-34B43A08", "QuotaName": "Spot Standard", "Value": 64.0}
    return region(
        group("g", DesiredCapacity=1, Instances=[member("a")]),
        group("reserved", CapacityReservationSpecification=reserved),
        group("spot", **mixed("spot", ["m5.large"], 0)),
        Reservations=[{"Instances": [{"InstanceId": "i-a", "LaunchTime": ago}]}],
        Activities=[
            {**activity("Insufficient capacity."), "StartTime": ago, "EndTime": ago},
            {**activity(status="InProgress"), "StartTime": ago},
        ],
        SpotPriceHistory=[
            {**spot, "SpotPrice": "0.05", "Timestamp": AGO + "Z"},
            {**spot, "SpotPrice": "0.04", "Timestamp": "2026-01-01T11:40:00" + zone},
        ],
        Quotas=[on_demand, spot_quota],
        MetricDataResults=[{"Id": "l_1216c47a", "Timestamps": [ago], "Values": [10.0]}],
        CapacityReservations=[
            {
                "CapacityReservationId": "cr-1", "InstanceType": "m5.large", "AvailabilityZone": "us-east-1a",
                "TotalInstanceCount": 3, "AvailableInstanceCount": 1, "State": "active", "ReservationType": "capacity-block",
                "StartDate": ago, "EndDate": soon,
            }
        ],
        InstanceRefreshes=[
            {"InstanceRefreshId": "r", "AutoScalingGroupName": "g", "Status": "InProgress", "StartTime": ago}
        ],
        ScheduledUpdateGroupActions=[
            {"AutoScalingGroupName": "g", "ScheduledActionName": "once", "MinSize": 1, "StartTime": ago, "EndTime": soon}
        ],
    )  # fmt: skip


def as_datetimes(value: Any) -> Any:
    """As botocore answers, in place of the AWS CLI's text."""
    if isinstance(value, dict):
        return {key: as_datetimes(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_datetimes(one) for one in value]
    is_time = isinstance(value, str) and value.startswith(("2026-01-01T", "2026-01-02T"))
    return datetime.fromisoformat(value) if is_time else value


@pytest.mark.feature("FS-01")
@pytest.mark.parametrize("read", [lambda said: said, as_datetimes], ids=["text", "datetimes"])
def test_a_time_without_a_zone_is_one_in_utc_and_the_plan_is_the_same(read: Any) -> None:
    zoned, bare = (fleet.reduce(CLUSTER, HOME, NOW, {HOME: read(answers(zone))}) for zone in ("+00:00", ""))

    assert bare == zoned
    assert bare.warnings == ()
    assert bare.groups[0].instances[0].launched_at == datetime.fromisoformat(AGO + "+00:00")
    world = cluster(pod("new"), taken_at=NOW)
    plans = [planner.plan(world, one, Memory(), Policy(), NOW) for one in (zoned, bare)]
    assert plans[0] == plans[1]
