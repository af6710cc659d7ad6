"""Scaling activities: what Auto Scaling tells of each launch and end, in AWS's own words."""

import json
import uuid
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Activity = dict[str, Any]

IN_PROGRESS, SUCCESSFUL, FAILED = "InProgress", "Successful", "Failed"


def no_capacity(instance_type: str, zone: str, others: tuple[str, ...], market: str) -> str:
    """EC2 Auto Scaling User Guide, "Troubleshoot: EC2 instance launch failures"; the spot text as seen in the field."""
    if market == "spot":
        return (
            "Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request "
            "configuration. Please adjust your request and try again. Launching EC2 instance failed."
        )
    instead = f" or choosing {', '.join(others)}" if others else ""
    return (
        f"We currently do not have sufficient {instance_type} capacity in the Availability Zone you requested ({zone}). "
        "Our system will be working on provisioning additional capacity. "
        f"You can currently get {instance_type} capacity by not specifying an Availability Zone in your request{instead}. "
        "Launching EC2 instance failed."
    )


def no_quota(limit: int) -> str:
    """As seen in kops #15778."""
    return (
        f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance bucket that "
        "the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an "
        "adjustment to this limit. Launching EC2 instance failed."
    )


def grown(now: datetime, before: int, after: int) -> str:
    return (
        f"At {now:%Y-%m-%dT%H:%M:%SZ} an instance was started in response to a difference between desired and actual "
        f"capacity, increasing the capacity from {before} to {after}."
    )


def shrunk(now: datetime, before: int, after: int) -> str:
    return (
        f"At {now:%Y-%m-%dT%H:%M:%SZ} an instance was taken out of service in response to a difference between desired and "
        f"actual capacity, shrinking the capacity from {before} to {after}."
    )


def taken_by_user(now: datetime) -> str:
    return f"At {now:%Y-%m-%dT%H:%M:%SZ} instance was taken out of service in response to a user request."


@dataclass
class ActivityLog:
    """Activities by region, each group's in the order in which they began."""

    _by_region: dict[str, list[Activity]] = field(default_factory=lambda: defaultdict(list))

    def begin(self, group: Any, now: datetime, description: str, cause: str, zone: str) -> Activity:
        """`group` is moto's; the activity is in progress until `end`."""
        known = self._by_region[group.region]
        activity: Activity = {
            "ActivityId": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{group.region}/{group.name}/{len(known)}")),
            "AutoScalingGroupName": group.name, "AutoScalingGroupARN": group.arn, "Description": description, "Cause": cause,
            "StartTime": now, "StatusCode": IN_PROGRESS, "Progress": 30,
            "Details": json.dumps({"Availability Zone": zone}),
        }  # fmt: skip
        known.append(activity)
        return activity

    @staticmethod
    def end(activity: Activity, now: datetime, status: str, message: str = "") -> None:
        activity |= {"StatusCode": status, "EndTime": now, "Progress": 100}
        if message:
            activity["StatusMessage"] = message

    def list(self, region: str, group: str | None = None, ids: tuple[str, ...] = ()) -> "list[Activity]":
        """Those in progress first, then the newest first, as AWS documents it for DescribeScalingActivities."""
        found = [
            item
            for item in reversed(self._by_region[region])
            if group in (None, item["AutoScalingGroupName"]) and (not ids or item["ActivityId"] in ids)
        ]
        return sorted(found, key=lambda item: item["StatusCode"] != IN_PROGRESS)


def event_detail(activity: Mapping[str, Any], instance_id: str) -> dict[str, Any]:
    """`detail` of Auto Scaling's EventBridge events, which hold the activity under the same names."""
    return {
        "StatusCode": activity["StatusCode"], "AutoScalingGroupName": activity["AutoScalingGroupName"],
        "ActivityId": activity["ActivityId"], "RequestId": activity["ActivityId"],
        "Description": activity["Description"], "Cause": activity["Cause"],
        "StatusMessage": activity.get("StatusMessage", ""), "EC2InstanceId": instance_id,
        "StartTime": f"{activity['StartTime']:%Y-%m-%dT%H:%M:%S.000Z}",
        "EndTime": f"{activity['EndTime']:%Y-%m-%dT%H:%M:%S.000Z}",
        "Details": json.loads(activity["Details"]),
    }  # fmt: skip
