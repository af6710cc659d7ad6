"""What the text of a refused launch means. AWS gives no code here: this table is the only place that reads prose.

The first pattern that is found counts, so inner reasons stand before the wrappers that quote them.
Sources of the texts: [D] the EC2 Auto Scaling User Guide, "Troubleshoot: EC2 instance launch failures", "AMI issues",
"Availability Zone rebalancing"; [E] the EC2 API reference, "Error codes"; [S] texts seen in public issue threads
(kops #15778, elastic-ci-stack-for-aws #851, cortex #1258, aws-ethereum-miner #23, deepracer-on-the-spot #55);
[O] texts that kubernetes-ec2-autoscaler was written against (2016 to 2019).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from spillway.model.fleet import FailureClass, LaunchFailure, Scope

SPOT_WAIT = timedelta(seconds=300)  # a spot request that waits longer will not be filled soon [O]


@dataclass(frozen=True)
class Failure:
    """`zone` is "" when the text names none."""

    failure: FailureClass
    scope: Scope
    zone: str = ""


_ZONE = r"\((?P<zone>[a-z]{2}[a-z0-9-]*-\d[a-z0-9-]*)\)"

_TABLE: tuple[tuple[FailureClass, Scope, tuple[str, ...]], ...] = (
    (FailureClass.CAPACITY, Scope.ZONE, (
        rf"do not have sufficient \S+ capacity in the Availability Zone you requested {_ZONE}",  # [D]
    )),
    (FailureClass.CAPACITY, Scope.GROUP, (
        r"InsufficientInstanceCapacity",  # [E] [S] of spot and on-demand fleets
        r"no Spot capacity available that matches your request",  # [S]
        r"UnfulfillableCapacity",  # [S]
        r"Insufficient(Host|Outpost|ReservedInstance|CapacityBlock)?\s?Capacity\b",  # [E] [O]
        r"ReservationCapacityExceeded",  # [E] the reservation is used up
        r"Server\.SpotInstanceTermination",  # [D] reclaimed while it started
    )),
    (FailureClass.QUOTA, Scope.QUOTA, (
        r"VcpuLimitExceeded",  # [E]
        r"requested more vCPU capacity than your current vCPU limit",  # [S]
        r"MaxSpotInstanceCountExceeded",  # [E]
        r"Max spot instance count exceeded",  # [O] [S]
        r"InstanceLimitExceeded",  # [E]
        r"requested more instances \(\d+\) than your current instance limit",  # [O]
    )),
    (FailureClass.VOLUME_LIMIT, Scope.REGION, (  # a quota of the region, whatever the group
        r"VolumeLimitExceeded",  # [E] [O]
        r"Volume limit exceeded",  # [O]
        r"MaxIOPSLimitExceeded",  # [E]
    )),
    (FailureClass.SPOT_PRICE, Scope.GROUP, (
        r"SpotMaxPriceTooLow",  # [E]
        r"lower than the minimum required Spot request fulfillment price",  # [D]
    )),
    (FailureClass.ADDRESSES, Scope.GROUP, (
        r"InsufficientFreeAddressesInSubnet",  # [E]
        r"InsufficientAddressCapacity",  # [E]
        r"not enough free addresses in subnet",  # [E] the message of the first
    )),
    (FailureClass.CONFIGURATION, Scope.ZONE, (
        rf"not supported in your requested Availability Zone {_ZONE}",  # [D] [S]
        r"requested Availability Zone .*no longer supported",  # [D]
    )),
    (FailureClass.CONFIGURATION, Scope.GROUP, (  # until somebody changes the group
        r"requested configuration is currently not supported",  # [D]
        r"InvalidFleetConfig|InvalidLaunchTemplate",  # [E] [S]
        r"security group \S+ does not exist|InvalidGroup\.NotFound|InvalidSecurityGroupID",  # [D] [E]
        r"key pair \S+ does not exist|InvalidKeyPair",  # [D] [E]
        r"AMI ID \S+ does not exist|AMI \S+ is pending|InvalidAMIID|image id \S+ does not exist",  # [D] [E]
        r"subnet ID \S+ does not exist|InvalidSubnet",  # [E]
        r"IAM ?Instance ?Profile",  # [E]
        r"Client\.InternalError|KMSKey",  # [D] [E] the key of the volume cannot be used
        r"not authorized to (perform|use)|UnauthorizedOperation|AuthFailure|OptInRequired",  # [E]
        r"device name \S+ is invalid|invalid device name|block device mapping",  # [D]
        r"placement group.* (may not|unknown|does not exist)|InvalidPlacementGroup",  # [D] [E]
        r"architecture .*(does not match|not supported)",  # [D] [E]
        r"InvalidParameter|InvalidUserData|MissingParameter|\bUnsupported\b",  # [E]
        r"Lifecycle Action .*was abandoned",  # [D] a hook refused the instance
        r"Client\.InstanceInitiatedShutdown",  # [D] it shut itself down at boot
    )),
    (FailureClass.REBALANCE, Scope.ZONE, (
        r"aid in balancing the group's zones",  # [D] in the cause of the activity
    )),
)  # fmt: skip

_PATTERNS = tuple(
    (re.compile(pattern, re.IGNORECASE), failure, scope) for failure, scope, patterns in _TABLE for pattern in patterns
)

# Launches that nobody misses: [O] a cancelled spot request, [D] desired was reached meanwhile, or somebody ended the instance.
_NO_FAILURE = re.compile(
    r"Spot instance request: \S+ has been cancelled|instance\(s\) are already running|Client\.UserInitiatedShutdown",
    re.IGNORECASE,
)


def classify(text: str) -> Failure:
    """Unknown texts are UNKNOWN and concern the group."""
    for pattern, failure, scope in _PATTERNS:
        if match := pattern.search(text):
            return Failure(failure, scope, match.groupdict().get("zone") or "")
    return Failure(FailureClass.UNKNOWN, Scope.GROUP)


def is_launch(activity: Mapping[str, Any]) -> bool:
    return str(activity.get("Description", "")).startswith("Launching")


def of_activity(activity: Mapping[str, Any], now: datetime | None = None) -> LaunchFailure | None:
    """The refusal that an item of DescribeScalingActivities tells of, None when it tells of none.

    `at` is the end of the activity: one that began early and failed late is a failure of now. With `now`, a spot
    request that has waited for 5 minutes counts as well. Balancing between zones asks for nothing, so its
    failures are none; a cancelled launch is one only where its text names a cause.
    """
    status, text = activity.get("StatusCode"), _text(activity)
    if not is_launch(activity) or _is_rebalancing(activity) or _NO_FAILURE.search(text):
        return None
    if status == "WaitingForSpotInstanceId":
        return _stuck(activity, text, now)
    if status not in ("Failed", "Cancelled"):
        return None
    found = classify(text)
    if status == "Cancelled" and found.failure is FailureClass.UNKNOWN:
        return None
    return _failure(activity, found, text)


def moment(value: Any) -> datetime | None:
    """A time of botocore (datetime) or of the AWS CLI (text); None when there is none. Raises msgspec.ValidationError."""
    if value is None:
        return None
    read: datetime = value if isinstance(value, datetime) else msgspec.convert(value, datetime)
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)


def _text(activity: Mapping[str, Any]) -> str:
    return str(activity.get("StatusMessage") or activity.get("Description") or "")


def _is_rebalancing(activity: Mapping[str, Any]) -> bool:
    return classify(str(activity.get("Cause", ""))).failure is FailureClass.REBALANCE


def _stuck(activity: Mapping[str, Any], text: str, now: datetime | None) -> LaunchFailure | None:
    started = moment(activity.get("StartTime"))
    if now is None or started is None or now - started < SPOT_WAIT:
        return None
    return _failure(activity, Failure(FailureClass.CAPACITY, Scope.GROUP), text)


def _failure(activity: Mapping[str, Any], found: Failure, text: str) -> LaunchFailure | None:
    times = [moment(activity.get(key)) for key in ("StartTime", "EndTime")]
    at = max((time for time in times if time), default=None)  # AWS cuts the end to whole seconds, not the start
    if at is None:
        return None
    return LaunchFailure(
        activity_id=str(activity.get("ActivityId", "")),
        at=at,
        failure=found.failure,
        scope=found.scope,
        text=text,
        zone=found.zone or (zone_of(activity) if found.scope is Scope.ZONE else ""),
    )


def zone_of(activity: Mapping[str, Any]) -> str:
    """The zone in the activity's `Details` (JSON in a string), "" when it names none."""
    try:
        details = msgspec.json.decode(activity.get("Details") or "{}")
    except msgspec.DecodeError:
        return ""  # the field is documented as free text
    return str(details.get("Availability Zone", "")) if isinstance(details, dict) else ""
