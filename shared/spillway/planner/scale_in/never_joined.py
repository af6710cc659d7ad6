"""Instances that run and never became nodes: they are ended by id, never by lowering desired, which would end others.

So many at once that it is not they who are ill, but our view of the cluster, and none is ended: the API server may be another
cluster's. Source of the breaker's figures: Cluster Autoscaler's --max-total-unready-percentage and --ok-total-unready-count.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from spillway.model.fleet import Instance, NodeGroup
from spillway.model.policy import Mode
from spillway.model.reason import Code, Reason
from spillway.planner.ownership import is_left_alone
from spillway.planner.view import View

_OK_COUNT = 3
_MOST_PERCENT = 45


class Lost(NamedTuple):
    """`since` its time to join was over."""

    group: NodeGroup
    instance: Instance
    since: datetime


def lost(view: View) -> list[Lost]:
    """Oldest first. Those of groups and regions that are ours to change, and that we can see."""
    found = []
    seen = {node.instance_id: node.last_seen for node in view.memory.nodes if node.instance_id}
    for group in view.groups.values():
        if group.region in view.unknown_regions or view.policy_of(group).ignore:
            continue
        wait = timedelta(seconds=view.policy_of(group).scale_out.provision_time_s)
        for one in group.instances:
            if one.lifecycle != "InService" or one.id in view.joined or one.launched_at is None:
                continue
            over = max(one.launched_at, seen.get(one.id, one.launched_at)) + wait
            if over <= view.now:
                found.append(Lost(group, one, over))
    return sorted(found, key=lambda one: (one.since, one.instance.id))


def ended(view: View, found: list[Lost]) -> list[Lost]:
    """Those that may be ended, as far as limits allow."""
    if view.policy.mode in (Mode.SCALE_OUT_ONLY, Mode.OFF) or view.is_stale or are_too_many(view, found):
        return []
    return [one for one in found if _may_end(view, one)]


def are_too_many(view: View, found: list[Lost]) -> bool:
    members = sum(one.is_member for group in view.groups.values() for one in group.instances)
    return len(found) > max(_OK_COUNT, members * _MOST_PERCENT // 100)


def warnings(view: View, found: list[Lost]) -> Iterable[Reason]:
    """By group: each is a template, a network or a permission that somebody has to mend."""
    if are_too_many(view, found):
        text = (
            f"{len(found)} instances run and are no nodes, more than {_MOST_PERCENT} % of all: none is ended, as the API "
            "server may be another cluster's; look why they do not join"
        )
        yield Reason(code=Code.NEVER_JOINED, text=text)
        return
    groups = {one.group.key: one.group for one in found}
    for key, group in groups.items():
        ids = [one.instance.id for one in found if one.group.key == key]
        wait_s = view.policy_of(group).scale_out.provision_time_s
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        text = (
            f"group {key}: {', '.join(ids[:3])}{more} did not join within {wait_s} s; look into the instance's console output, "
            "its role, its network and what its user data names"
        )
        yield Reason(code=Code.NEVER_JOINED, text=text)


def _may_end(view: View, one: Lost) -> bool:
    scale_in = view.policy_of(one.group).scale_in
    if not scale_in.enabled or (one.instance.protected and scale_in.respect_protection):
        return False
    return "Terminate" not in one.group.suspended and not is_left_alone(view, one.group)
