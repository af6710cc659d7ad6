"""What goes on with groups and who else changes their size, as AWS answers it.

Policies and schedules of a region come in one list each, however many groups there are. Warm pools and refreshes are told
for one group at a time, so only those are asked for that may have one.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from spillway.aws import clients, parallel
from spillway.aws.memo import Memo

Item = Mapping[str, Any]

_MINUTES = timedelta(minutes=5)  # as long as a user would wait for what was set to count
_policies: Memo[str, list[Item]] = Memo(_MINUTES)
_schedules: Memo[str, list[Item]] = Memo(_MINUTES)

_PAGES = {"PageSize": 100}  # the most that DescribePolicies and DescribeScheduledActions give at once


def scaling_policies(region: str) -> list[Item]:
    """ScalingPolicies of all groups of the region. Raises AwsForbidden or AwsUnavailable."""

    def fetch(_: list[str]) -> dict[str, list[Item]]:
        pages = clients.pages("autoscaling", region, "describe_policies", PaginationConfig=_PAGES)
        return {region: [policy for page in pages for policy in page["ScalingPolicies"]]}

    return _policies.get([region], fetch)[region]


def scheduled_actions(region: str) -> list[Item]:
    """ScheduledUpdateGroupActions of all groups of the region. Raises AwsForbidden or AwsUnavailable."""

    def fetch(_: list[str]) -> dict[str, list[Item]]:
        pages = clients.pages("autoscaling", region, "describe_scheduled_actions", PaginationConfig=_PAGES)
        return {region: [action for page in pages for action in page["ScheduledUpdateGroupActions"]]}

    return _schedules.get([region], fetch)[region]


def warm_pools(region: str, items: Iterable[Item]) -> dict[str, Item]:
    """DescribeWarmPool's answers, their pages joined, of the groups that have one. Raises AwsForbidden or AwsUnavailable."""

    def of(name: str) -> Item:
        pages = list(clients.pages("autoscaling", region, "describe_warm_pool", AutoScalingGroupName=name))
        found = {"Instances": [instance for page in pages for instance in page["Instances"]]}
        return {**found, "WarmPoolConfiguration": pages[0].get("WarmPoolConfiguration", {})}

    names = [item["AutoScalingGroupName"] for item in items if item.get("WarmPoolConfiguration")]
    return dict(zip(names, parallel.each(of, names), strict=True))


def instance_refreshes(region: str, names: Sequence[str]) -> list[Item]:
    """The latest InstanceRefreshes of each of the groups. Raises AwsForbidden or AwsUnavailable."""

    def of(name: str) -> list[Item]:
        answer = clients.ask("autoscaling", region, "describe_instance_refreshes", AutoScalingGroupName=name)
        return list(answer["InstanceRefreshes"])

    return [refresh for found in parallel.each(of, names) for refresh in found]
