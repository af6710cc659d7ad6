"""What a group's activities of late tell: launches on their way, and refusals that still count."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from spillway.aws import failures
from spillway.aws.groups import WINDOW
from spillway.model.fleet import LaunchFailure, Scope

_DONE = frozenset({"Successful", "Failed", "Cancelled"})  # all other ScalingActivityStatusCodes are in progress


@dataclass(frozen=True)
class Past:
    """Launches in progress, when the oldest of them began, their ids, and refusals, newest first. `left_pool` says of instances
    when they began to leave the warm pool."""

    launching: int = 0
    launching_since: datetime | None = None
    launching_ids: tuple[str, ...] = ()
    failures: tuple[LaunchFailure, ...] = ()
    left_pool: Mapping[str, datetime] = field(default_factory=dict)


def by_group(activities: Iterable[Any], now: datetime) -> dict[str, Past]:
    """Of each group that has activities. Refusals of the last 3 hours count, until a later launch succeeds."""
    mine: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for activity in activities:
        if isinstance(activity, Mapping) and "AutoScalingGroupName" in activity:
            mine[str(activity["AutoScalingGroupName"])].append(activity)
    return {name: _past(mine[name], now) for name in sorted(mine)}


def _past(activities: list[Mapping[str, Any]], now: datetime) -> Past:
    launches = [activity for activity in activities if failures.is_launch(activity)]
    successes = [(_started(one), failures.zone_of(one)) for one in launches if one.get("StatusCode") == "Successful"]
    refused = [failure for one in launches if (failure := _failure(one, now)) and now - failure.at <= WINDOW]
    standing = [failure for failure in refused if not _is_over(failure, successes)]
    going = [one for one in launches if one.get("StatusCode") not in _DONE]
    coming = [_started(one) for one in going]
    return Past(
        launching=len(coming),
        launching_since=min((start for start in coming if start), default=None),
        launching_ids=tuple(sorted(str(one["ActivityId"]) for one in going if one.get("ActivityId"))),
        failures=tuple(sorted(standing, key=lambda failure: (-failure.at.timestamp(), failure.activity_id))),
        left_pool=_left_pool(launches),
    )


def _left_pool(launches: Iterable[Mapping[str, Any]]) -> dict[str, datetime]:
    """The last time of each: what goes back to the pool may leave it again."""
    told = ((_started(one), failures.left_pool(one)) for one in launches)
    return {name: start for start, name in sorted((start, name) for start, name in told if start and name)}


def _is_over(failure: LaunchFailure, successes: Iterable[tuple[datetime | None, str]]) -> bool:
    """A launch that began after the refusal and succeeded shows that there is room again, in a zone for that zone only."""
    return any(
        start is not None and start > failure.at and (failure.scope is not Scope.ZONE or failure.zone in ("", zone))
        for start, zone in successes
    )


def _failure(activity: Mapping[str, Any], now: datetime) -> LaunchFailure | None:
    try:
        return failures.of_activity(activity, now)
    except msgspec.ValidationError:
        return None  # a time that is none: the activity cannot be put in order


def _started(activity: Mapping[str, Any]) -> datetime | None:
    try:
        return failures.moment(activity.get("StartTime"))
    except msgspec.ValidationError:
        return None
