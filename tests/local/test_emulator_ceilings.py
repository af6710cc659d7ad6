"""Quotas, their use and capacity reservations are answered in AWS's own shapes, by operations that moto still lacks."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from moto import mock_aws

from spillway.aws import clients
from spillway_local.emulator.ceilings import PAGE, ceilings
from spillway_local.emulator.patching import MotoMoved
from tests.aws import botocore_shapes

REGION = "us-east-1"
STANDARD, SPOT = "L-1216C47A", "L-34B43A08"
ARN = "arn:aws:resource-groups:us-east-1:123456789012:group/blocks"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def quota(code: str, kind: str) -> dict[str, Any]:
    metric = {"MetricNamespace": "AWS/Usage", "MetricName": "ResourceCount", "MetricDimensions": {"Class": kind}}
    return {"QuotaCode": code, "QuotaName": kind, "Value": 64.0, "UsageMetric": metric}


OTHERS = [{"QuotaCode": f"L-{number:08}", "QuotaName": "another", "Value": 1.0} for number in range(PAGE)]
FLEET = {
    REGION: {
        "Quotas": [*OTHERS, quota(STANDARD, "Standard/OnDemand"), quota(SPOT, "Standard/Spot")],
        "CapacityReservations": [{"CapacityReservationId": "cr-1", "InstanceType": "m5.large", "State": "active"}],
        "CapacityReservationGroups": {ARN: ["cr-1"]},
    }
}


@pytest.fixture(autouse=True)
def _account(aws_credentials: None) -> Iterator[None]:
    clients.clear()
    with mock_aws(config={"core": {"reset_boto3_session": False}}), ceilings(FLEET, {"m5.large": 2}):
        yield
    clients.clear()


def whole(service: str, operation: str, method: str, **request: Any) -> dict[str, Any]:
    """The answer of one call, in the shape of AWS's."""
    found = getattr(clients.client(service, REGION), method)(**request)
    return botocore_shapes.answer(service, operation, {key: value for key, value in found.items() if key != "ResponseMetadata"})


def test_service_quotas_come_in_pages() -> None:
    first = whole("service-quotas", "ListServiceQuotas", "list_service_quotas", ServiceCode="ec2")
    rest = whole("service-quotas", "ListServiceQuotas", "list_service_quotas", ServiceCode="ec2", NextToken=first["NextToken"])

    assert first["Quotas"] + rest["Quotas"] == FLEET[REGION]["Quotas"]
    assert "NextToken" not in rest


def test_the_use_of_a_quota_is_what_runs_of_its_class_and_market() -> None:
    ec2 = clients.client("ec2", REGION)
    ran = ec2.run_instances(ImageId="ami-12c6146b", InstanceType="m5.large", MinCount=3, MaxCount=3)["Instances"]
    ec2.terminate_instances(InstanceIds=[ran[0]["InstanceId"]])

    assert used("Standard/OnDemand") == [4.0]
    assert used("Standard/Spot") == [0.0]
    assert used("NoSuch/Class") == []


def used(kind: str) -> list[float]:
    metric = {"Namespace": "AWS/Usage", "MetricName": "ResourceCount", "Dimensions": [{"Name": "Class", "Value": kind}]}
    query = {"Id": "a", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Maximum"}}
    times = {"StartTime": NOW - timedelta(minutes=30), "EndTime": NOW}
    answer = whole("cloudwatch", "GetMetricData", "get_metric_data", MetricDataQueries=[query], **times)
    values: list[float] = answer["MetricDataResults"][0]["Values"]
    return values


def test_capacity_reservations_are_those_of_the_dump() -> None:
    answer = whole("ec2", "DescribeCapacityReservations", "describe_capacity_reservations")
    assert answer["CapacityReservations"] == FLEET[REGION]["CapacityReservations"]


def test_a_resource_group_names_its_members_by_arn() -> None:
    answer = whole("resource-groups", "ListGroupResources", "list_group_resources", Group=ARN)
    (member,) = [item["Identifier"]["ResourceArn"] for item in answer["Resources"]]
    assert member == "arn:aws:ec2:us-east-1:123456789012:capacity-reservation/cr-1"


def test_an_operation_that_moto_has_by_now_is_not_added_over_it() -> None:
    with pytest.raises(MotoMoved, match="list_service_quotas"), ceilings({}, {}):
        pass
