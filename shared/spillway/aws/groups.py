"""Which Auto Scaling groups are the cluster's, and what they did of late."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from spillway import clock
from spillway.aws import clients, failures, parallel

DISCOVERY = "k8s.io/cluster-autoscaler/"  # Cluster Autoscaler's tags, so that a cluster can change over and back
# kubernetes-ec2-autoscaler's tags, autoscaler/autoscaling_groups.py: the cluster's name, and one of two tags for the role
OWNER, ROLES, WORKERS = "KubernetesCluster", ("KubernetesRole", "Role"), ("worker", "kubernetes-minion")
PAGE = 100  # the most groups that a page of DescribeAutoScalingGroups holds; without being asked for them it holds 50
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
    return {tag["Key"]: tag.get("Value") or "" for tag in group.get("Tags") or () if "Key" in tag}


def belongs(group: Mapping[str, Any], cluster: str) -> bool:
    """By both discovery tags, or by those of kubernetes-ec2-autoscaler, whose values count."""
    mine = tags(group)
    if set(discovery_tags(cluster)) <= mine.keys():
        return True
    return mine.get(OWNER) == cluster and any(mine.get(role) in WORKERS for role in ROLES)


def describe(region: str, cluster: str, names: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The groups that belong to the cluster, and those of `names` that exist, each once, by name, one without a name first.

    All ways of finding them are asked at once. Raises AwsForbidden or AwsUnavailable.
    """
    filters = [
        [{"Name": "tag-key", "Values": [tag]} for tag in discovery_tags(cluster)],
        [{"Name": f"tag:{OWNER}", "Values": [cluster]}],
    ]
    asked: list[Callable[[], Iterable[dict[str, Any]]]] = [partial(_tagged, region, cluster, one) for one in filters]
    asked.append(lambda: by_name(region, names).values())
    answers = parallel.each(lambda ask: ask(), asked)
    found = {item.get("AutoScalingGroupName", ""): item for answer in answers for item in answer}
    return [found[name] for name in sorted(found)]


def _tagged(region: str, cluster: str, filters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cluster's groups among those that pass all filters."""
    return [
        item
        for page in clients.pages("autoscaling", region, "describe_auto_scaling_groups", Filters=filters, MaxRecords=PAGE)
        for item in page["AutoScalingGroups"]
        if belongs(item, cluster)
    ]


def by_name(region: str, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The groups of these names that exist; raises AwsForbidden or AwsUnavailable."""
    return {
        item["AutoScalingGroupName"]: item
        for batch in batches(sorted(set(names)), NAMES_PER_CALL)
        for page in clients.pages("autoscaling", region, "describe_auto_scaling_groups", AutoScalingGroupNames=list(batch))
        for item in page["AutoScalingGroups"]
    }


@dataclass(frozen=True)
class Activities:
    """`items` newest first; `is_whole`: nothing that began or ended since then is missing."""

    items: list[dict[str, Any]]
    is_whole: bool


def activities(
    region: str, group: str | None = None, since: datetime | None = None, max_pages: int = 3, ids: Collection[str] = ()
) -> list[dict[str, Any]]:
    """The items of `read_activities`."""
    return read_activities(region, group, since, max_pages, ids).items


def read_activities(
    region: str, group: str | None = None, since: datetime | None = None, max_pages: int = 3, ids: Collection[str] = ()
) -> Activities:
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
    is_whole = True
    for page in islice(answers, max_pages):
        young = [item for item in page["Activities"] if _touched(item) >= oldest]
        found += young
        if is_whole := len(young) < len(page["Activities"]) or not page.get("NextToken"):
            break
    missing = sorted(set(ids) - {item["ActivityId"] for item in found})
    for batch in batches(missing, IDS_PER_CALL):
        by_id = clients.pages("autoscaling", region, "describe_scaling_activities", ActivityIds=list(batch), **request)
        found += [item for page in by_id for item in page["Activities"]]
    return Activities(found, is_whole)


def _touched(activity: Mapping[str, Any]) -> datetime:
    """When AWS last wrote to the activity; one without an end is in progress."""
    return failures.moment(activity.get("EndTime")) or clock.utcnow()
