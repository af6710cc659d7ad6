"""What an activity tells of a launch that AWS refused, and when."""

import json

import pytest

from spillway.aws import failures
from spillway.model.base import decode
from spillway.model.fleet import CapacityType, FailureClass, LaunchFailure, Scope
from tests.aws.answers import NOW, activity

ZONAL = (
    "We currently do not have sufficient p3.16xlarge capacity in the Availability Zone you requested (us-east-1a). Our system "
    "will be working on provisioning additional capacity. You can currently get p3.16xlarge capacity by not specifying an "
    "Availability Zone in your request or choosing us-east-1b, us-east-1c. Launching EC2 instance failed."
)
SPOT_NONE = (
    "Could not launch Spot Instances. InsufficientInstanceCapacity - There is no Spot capacity available that matches your "
    "request. Launching EC2 instance failed."
)
VOLUMES = (
    "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: "
    "Client.VolumeLimitExceeded: Volume limit exceeded"
)


@pytest.mark.feature("FS-08")
def test_a_text_nobody_knows_is_kept_and_concerns_the_group() -> None:
    found = failures.of_activity(activity("The moon is in the wrong place."))

    assert found is not None
    assert (found.failure, found.scope) == (FailureClass.UNKNOWN, Scope.GROUP)
    assert found.text == "The moon is in the wrong place."


def test_a_failure_is_as_old_as_its_end() -> None:
    """It began early and failed late: no earlier reading could have told."""
    started_long_ago = activity(VOLUMES, age_s=1800, took_s=1790)

    found = failures.of_activity(started_long_ago)

    assert found is not None
    assert (NOW - found.at).total_seconds() == 10


def test_the_end_that_aws_cuts_to_whole_seconds_is_not_before_the_start() -> None:
    found = failures.of_activity(activity(SPOT_NONE, age_s=60, took_s=-0.9))

    assert found is not None
    assert (NOW - found.at).total_seconds() == 60


def test_a_zonal_failure_without_a_zone_in_its_text_takes_the_activitys() -> None:
    found = failures.of_activity(activity("The requested Availability Zone is no longer supported. Please retry."))

    assert found is not None
    assert (found.scope, found.zone) == (Scope.ZONE, "us-east-1a")


@pytest.mark.feature("FS-08")
def test_a_failure_carries_the_zone_type_and_market_that_the_text_names() -> None:
    found = failures.of_activity(activity("Could not launch Spot Instances. InsufficientInstanceCapacity - " + ZONAL))

    assert found is not None
    assert (found.zone, found.instance_type, found.capacity_type) == ("us-east-1a", "p3.16xlarge", CapacityType.SPOT)


def test_a_zone_that_is_named_by_its_id_is_taken_from_the_activity() -> None:
    """AWS may say use1-az6, which no group calls its zone."""
    found = failures.of_activity(activity(ZONAL.replace("us-east-1a)", "use1-az6)")))

    assert found is not None
    assert (found.failure, found.zone) == (FailureClass.ZONAL_CAPACITY, "us-east-1a")


@pytest.mark.parametrize(
    ("stored", "meant"),
    [("quota", FailureClass.VCPU_QUOTA), ("configuration", FailureClass.TEMPLATE), ("addresses", FailureClass.ADDRESSES)],
)
def test_a_class_that_an_older_version_stored_is_still_read(stored: str, meant: FailureClass) -> None:
    text = json.dumps({"activity_id": "a", "at": "2026-01-01T12:00:00Z", "failure": stored, "scope": "group", "text": "no"})

    assert decode(text, LaunchFailure).failure is meant


def test_details_that_are_no_json_name_no_zone() -> None:
    assert failures.zone_of({"Details": "none"}) == failures.zone_of({"Details": "[]"}) == failures.zone_of({}) == ""


REBALANCING = {"Cause": "At 2026-01-01T11:00:00Z an instance was launched to aid in balancing the group's zones."}
NO_FAILURES = {
    "it succeeded": activity(status="Successful"),
    "it goes on": activity(status="InProgress"),
    "the group balances its zones, which nobody asked for": activity(ZONAL, **REBALANCING),
    "it ends an instance": activity(ZONAL, Description="Terminating EC2 instance: i-1"),
    "the spot request was cancelled": activity("Spot instance request: sir-1 has been cancelled.", "Cancelled"),
    "it was cancelled without a cause": activity("The launch is no longer needed.", "Cancelled"),
    "it refills the warm pool": activity(
        ZONAL, Description=f"Launching a new EC2 instance into warm pool.  Status Reason: {ZONAL}"
    ),
    "somebody ended the instance": activity("Termination Reason: Client.UserInitiatedShutdown: User initiated shutdown"),
    "the spot request is young": activity("Placed Spot instance request: sir-1.", "WaitingForSpotInstanceId", 299),
    "the old spot request is for balance": activity("Placed.", "WaitingForSpotInstanceId", 900, **REBALANCING),
}


@pytest.mark.feature("FS-08")
@pytest.mark.parametrize("why", NO_FAILURES)
def test_is_no_failure_when(why: str) -> None:
    assert failures.of_activity(NO_FAILURES[why], NOW) is None


@pytest.mark.feature("SO-05")
def test_a_refused_start_of_what_the_warm_pool_had_prepared_is_a_failure() -> None:
    start = activity(ZONAL, Description="Launching a new EC2 instance from warm pool: i-0ea10fdc59a07df6e")
    assert failures.of_activity(start) is not None


def test_a_cancelled_launch_with_a_cause_is_a_failure() -> None:
    assert failures.of_activity(activity(ZONAL, "Cancelled")) is not None


@pytest.mark.feature("FS-08")
def test_a_cancelled_launch_with_a_cause_that_nobody_knows_is_an_unknown_failure() -> None:
    text = "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Client.Moon: No."

    found = failures.of_activity(activity(text, "Cancelled"))

    assert found is not None
    assert found.failure is FailureClass.UNKNOWN


@pytest.mark.feature("FS-08")
def test_a_spot_request_that_waits_for_five_minutes_is_a_failure() -> None:
    waiting = activity("Placed Spot instance request: sir-1. Waiting for instance(s)", "WaitingForSpotInstanceId", 300)

    found = failures.of_activity(waiting, NOW)

    assert found is not None
    assert (found.failure, found.scope) == (FailureClass.SPOT_FULFILMENT, Scope.OFFERING)
    assert failures.of_activity(waiting) is None, "without a clock nobody can say how long it has waited"


def test_reads_the_times_of_the_cli_and_of_botocore_alike() -> None:
    assert failures.moment("2026-01-01T12:00:00+00:00") == failures.moment("2026-01-01T12:00:00Z") == failures.moment(NOW)
    assert failures.moment(NOW.replace(tzinfo=None)) == NOW
    assert failures.moment(None) is None
