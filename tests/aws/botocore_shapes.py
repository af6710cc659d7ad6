"""What a test feeds in as AWS's answer is held against botocore's model of it: a field that AWS does not know, or one of
another type, fails the test that made it up."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.validate import ParamValidator

# The operation that each top-level key of a dump is the answer of (docs/dump.md), where it is that alone.
OPERATIONS = {
    "AutoScalingGroups": ("autoscaling", "DescribeAutoScalingGroups"),
    "Activities": ("autoscaling", "DescribeScalingActivities"),
    "LaunchConfigurations": ("autoscaling", "DescribeLaunchConfigurations"),
    "ScalingPolicies": ("autoscaling", "DescribePolicies"),
    "ScheduledUpdateGroupActions": ("autoscaling", "DescribeScheduledActions"),
    "InstanceRefreshes": ("autoscaling", "DescribeInstanceRefreshes"),
    "LaunchTemplateVersions": ("ec2", "DescribeLaunchTemplateVersions"),
    "Images": ("ec2", "DescribeImages"),
    "InstanceTypes": ("ec2", "DescribeInstanceTypes"),
    "InstanceTypeOfferings": ("ec2", "DescribeInstanceTypeOfferings"),
    "Reservations": ("ec2", "DescribeInstances"),
    "InstanceStatuses": ("ec2", "DescribeInstanceStatus"),
    "SpotPriceHistory": ("ec2", "DescribeSpotPriceHistory"),
    "CapacityReservations": ("ec2", "DescribeCapacityReservations"),
    "Quotas": ("service-quotas", "ListServiceQuotas"),
    "MetricDataResults": ("cloudwatch", "GetMetricData"),
}

_BOUNDS = ("Invalid length", "Invalid range")  # of what one sends: AWS itself answers with an empty VPCZoneIdentifier


def checked(service: str, shape: str, value: dict[str, Any]) -> dict[str, Any]:
    """`value` itself when it is a whole `shape`, as in `checked("autoscaling", "Instance", {…})`."""
    return _validated(_model(service).shape_for(shape), value)


def answer(service: str, operation: str, value: dict[str, Any]) -> dict[str, Any]:
    """`value` itself when it could be what `operation` returns, as in `answer("ec2", "DescribeInstances", {…})`."""
    return _validated(_model(service).operation_model(operation).output_shape, value)


def region(answers: Mapping[str, Any]) -> Mapping[str, Any]:
    """A region of a dump when each of its keys could be AWS's answer."""
    for key, value in answers.items():
        if key in OPERATIONS:
            answer(*OPERATIONS[key], {key: [_without_ours(item) for item in value]})
    for pool in answers.get("WarmPools", {}).values():
        answer("autoscaling", "DescribeWarmPool", pool)
    for nodegroup in answers.get("Nodegroups", ()):
        answer("eks", "DescribeNodegroup", nodegroup)
    return answers


def _without_ours(item: Mapping[str, Any]) -> dict[str, Any]:
    """Without what a dump says beside AWS's own words (docs/dump.md)."""
    return {field: value for field, value in item.items() if field != "LatestVersion"}


@cache
def _model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


def _validated(shape: Any, value: dict[str, Any]) -> dict[str, Any]:
    report = ParamValidator().validate(value, shape).generate_report()
    problems = [line for line in report.splitlines() if not line.startswith(_BOUNDS)]
    assert not problems, "\n".join(problems)
    return value
