"""What many groups did of late, in as few calls as that takes.

DescribeScalingActivities of the whole region serves all groups with a page, but is slower, and shows other clusters'
activities as well (its API reference); so a few groups are asked one by one, all at once.
"""

from collections.abc import Collection, Mapping
from typing import Any

from spillway.aws import groups, parallel

ONE_BY_ONE = parallel.AT_ONCE
PAGES = 10  # of the region, a hundred activities each, one after the other

Item = Mapping[str, Any]


def of_groups(region: str, wanted: Mapping[str, Collection[str]]) -> list[Item]:
    """Activities of the wanted groups, each group's newest first. `wanted`: by name, the ids that must be among them.

    Where the pages of the region end before what still counts, groups of which they show nothing are asked by name.
    Raises AwsForbidden or AwsUnavailable.
    """
    if len(wanted) <= ONE_BY_ONE:
        return _one_by_one(region, wanted)
    ids = [one for of in wanted.values() for one in of]
    read = groups.read_activities(region, max_pages=PAGES, ids=ids)
    found: list[Item] = [item for item in read.items if item.get("AutoScalingGroupName") in wanted]
    if read.is_whole:
        return found
    seen = {item["AutoScalingGroupName"] for item in found}
    return found + _one_by_one(region, {name: () for name in wanted if name not in seen})


def _one_by_one(region: str, wanted: Mapping[str, Collection[str]]) -> list[Item]:
    found = parallel.each(lambda name: groups.activities(region, name, ids=wanted[name]), list(wanted))
    return [item for of in found for item in of]
