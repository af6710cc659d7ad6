"""Which Auto Scaling groups are the cluster's, and what they did of late."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, TypeVar

from spillway import clock
from spillway.aws import clients

DISCOVERY = "k8s.io/cluster-autoscaler/"  # Cluster Autoscaler's tags, so that a cluster can change over and back
NAMES_PER_CALL = 50  # DescribeAutoScalingGroups refuses more names
IDS_PER_CALL = 50  # and DescribeScalingActivities more ids
WINDOW = timedelta(hours=3)  # a refusal of long ago tells nothing of now; Cluster Autoscaler forgets after 3 h, too

T = TypeVar("T")


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Consecutive slices; none for no items, since an empty filter would mean all."""
    return (items[start : start + size] for start in range(0, len(items), size))


def discovery_tags(cluster: str) -> tuple[str, str]:
    """A group with both tags, whatever their values, is the cluster's."""
    return DISCOVERY + "enabled", DISCOVERY + cluster


def tags(group: Mapping[str, Any]) -> dict[str, str]:
    """Tags of a DescribeAutoScalingGroups item by key."""
    return {tag["Key"]: tag.get("Value") or "" for tag in group.get("Tags") or ()}


def belongs(group: Mapping[str, Any], cluster: str) -> bool:
    return set(discovery_tags(cluster)) <= tags(group).keys()


def describe(region: str, cluster: str, names: Iterable[str] = ()) -> list[dict[str, Any]]:
    """All groups with both discovery tags, and those of `names` that exist, by name; raises AwsForbidden or AwsUnavailable."""
    filters = [{"Name": "tag-key", "Values": [tag]} for tag in discovery_tags(cluster)]
    found = {
        item["AutoScalingGroupName"]: item
        for page in clients.pages("autoscaling", region, "describe_auto_scaling_groups", Filters=filters)
        for item in page["AutoScalingGroups"]
        if belongs(item, cluster)
    }
    found |= by_name(region, [name for name in names if name not in found])
    return [found[name] for name in sorted(found)]


def by_name(region: str, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The groups of these names that exist; raises AwsForbidden or AwsUnavailable."""
    return {
        item["AutoScalingGroupName"]: item
        for batch in batches(sorted(set(names)), NAMES_PER_CALL)
        for page in clients.pages("autoscaling", region, "describe_auto_scaling_groups", AutoScalingGroupNames=list(batch))
        for item in page["AutoScalingGroups"]
    }


def activities(
    region: str, group: str | None = None, since: datetime | None = None, max_pages: int = 3, ids: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Scaling activities of a group (None: of all groups), newest first, that began since `since` (default: 3 hours ago).

    AWS lists those in progress first, then by start time: reading goes on to the first page with one that ended before
    `since`, at most `max_pages` of 100. Those of `ids` that these pages do not show are asked for by id: whoever saw them
    in progress thus learns how they ended, however many began and ended since.
    Raises AwsForbidden or AwsUnavailable.
    """
    oldest = since or clock.utcnow() - WINDOW
    request = {"AutoScalingGroupName": group} if group else {}
    answers = clients.pages("autoscaling", region, "describe_scaling_activities", **request)
    found: list[dict[str, Any]] = []
    for page in islice(answers, max_pages):
        young = [item for item in page["Activities"] if _touched(item) >= oldest]
        found += young
        if len(young) < len(page["Activities"]):
            break
    missing = sorted(set(ids) - {item["ActivityId"] for item in found})
    for batch in batches(missing, IDS_PER_CALL):
        by_id = clients.pages("autoscaling", region, "describe_scaling_activities", ActivityIds=list(batch), **request)
        found += [item for page in by_id for item in page["Activities"]]
    return found


def _touched(activity: Mapping[str, Any]) -> datetime:
    """When AWS last wrote to the activity; one without an end is in progress."""
    moment: datetime = activity.get("EndTime") or clock.utcnow()
    return moment
