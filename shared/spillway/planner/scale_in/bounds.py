"""What removals of one plan may not cross together: windows, mins, the cluster's minimum, spare nodes, budgets, limits of a
plan and of an hour."""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

from spillway.model import quantity
from spillway.model.base import Resources
from spillway.model.fleet import NodeGroup
from spillway.model.plan import Why
from spillway.model.policy import RemovalLimits
from spillway.model.reason import Code, Reason
from spillway.planner.gaps import Gap
from spillway.planner.scale_in.budgets import Budgets, closed
from spillway.planner.view import LiveNode, View

_HOUR = timedelta(hours=1)
OUR_WISH = frozenset({Why.EMPTY, Why.UNDERUTILISED, Why.REPLACED, Why.DRIFTED, Why.EXPIRED})
"""Reasons that can wait for a window."""


class Leaver(NamedTuple):
    """What is to go, as in `node n1`: what it has, and its units of the group's desired."""

    who: str
    group: NodeGroup
    why: Why
    weight: int = 1
    have: Resources = {}
    live: LiveNode | None = None


def leaver(live: LiveNode, group: NodeGroup, why: Why) -> Leaver:
    return Leaver(f"node {live.node.name}", group, why, _weight(live), live.node.allocatable if live.node.ready else {}, live)


class Bounds:
    """Counts down from what is there, without what leaves already; `take` books a removal.

    `lost` instances never became nodes: they count where a budget is a percentage.
    """

    def __init__(self, view: View, gaps: Mapping[str, Gap], lost: int = 0) -> None:
        self._view = view
        own = [live for live in view.nodes if live.group is not None]
        leaving = [live for live in own if live.node.name in view.draining or live.is_leaving]
        self._budgets = Budgets(view, len(own) + lost, len(leaving))
        self._size = {key: group.desired - gaps[key].lost for key, group in view.groups.items()}
        for live in own:
            goes = live.ends_at is not None or (live.node.name in view.draining and not live.is_leaving)
            if live.group is not None and goes:
                self._size[live.group.key] -= _weight(live)
        staying = [live for live in own if live not in leaving and live.node.ready]
        self._taken, self._lately = 0, sum(view.now - one.at < _HOUR for one in view.memory.removals)
        self._total = quantity.total({**live.node.allocatable, "nodes": 1} for live in staying)
        self._idle = Counter(key for live in staying if (key := self._spare_key(live)) and not live.workload)

    def refusal(self, one: Leaver) -> Reason | None:
        for code, text in (
            (Code.WINDOW, self._outside_windows(one)),
            (Code.AT_MIN, self._at_min(one)),
            (Code.SPARE, self._spare(one)),
        ):
            if text:
                return Reason(code=code, text=f"{one.who} stays: {text}")
        spent = self._budgets.refusal(one.why, self._view.policy_of(one.group).scale_in.budgets)
        if spent:
            return Reason(code=Code.BUDGET, text=f"{one.who} waits: {spent}")
        limit = self._limited(self._view.policy_of(one.group).scale_in.limits)
        return Reason(code=Code.REMOVAL_LIMIT, text=f"{one.who} waits: {limit}") if limit else None

    def take(self, one: Leaver) -> None:
        self._budgets.take(one.why)
        self._taken += 1
        self._size[one.group.key] -= one.weight
        if one.live is not None:
            self._idle[self._spare_key(one.live)] -= not one.live.workload
        if one.have:
            for resource, amount in {**one.have, "nodes": 1}.items():
                self._total[resource] = self._total.get(resource, 0) - amount

    def _limited(self, limits: RemovalLimits) -> str:
        """The task that begins a removal holds to the same."""
        most = limits.nodes_per_plan
        if most is not None and self._taken >= most:
            return f"the policy allows {most} removals a plan (scale_in.limits.nodes_per_plan)"
        most = limits.nodes_per_hour
        if most is not None and self._lately + self._taken >= most:
            return f"the policy allows {most} removals an hour (scale_in.limits.nodes_per_hour), {self._lately} have begun"
        return ""

    def _at_min(self, one: Leaver) -> str:
        """A dead node is no capacity: its group replaces it where it may not shrink."""
        if one.why is Why.DEAD:
            return ""
        least = self._view.min_of(one.group)
        if self._size[one.group.key] - one.weight < least:
            return f"group {one.group.name} is at its min of {least}"
        return self._below_minimum(one) if one.have else ""

    def _below_minimum(self, one: Leaver) -> str:
        least = self._view.policy.scale_in.cluster_minimum
        wanted = {"nodes": least.nodes, "cpu": least.cpu, "memory": least.memory}
        for resource, value in wanted.items():
            if value is None:
                continue
            floor = quantity.amount(resource, value)
            after = self._total.get(resource, 0) - (1 if resource == "nodes" else one.have.get(resource, 0))
            if after < floor:
                return f"the cluster's minimum is {quantity.show(resource, floor)} {resource}"
        return ""

    def _outside_windows(self, one: Leaver) -> str:
        return closed(self._view.policy_of(one.group).scale_in.windows, self._view) if one.why in OUR_WISH else ""

    def _spare(self, one: Leaver) -> str:
        """The last idle nodes of a group, or of a type in it, stay longer."""
        if one.why is not Why.EMPTY or one.live is None:
            return ""
        policy = self._view.policy_of(one.group).scale_in
        idle_since = self._view.clock_of(one.live).idle_since or self._view.now
        if not policy.spare_nodes or self._view.now - idle_since >= timedelta(seconds=policy.spare_idle_s):
            return ""
        if self._idle[self._spare_key(one.live)] > policy.spare_nodes:
            return ""
        of = one.live.instance.instance_type if policy.spare_per == "instance_type" and one.live.instance else one.group.name
        return f"{policy.spare_nodes} idle nodes of {of} are kept for {policy.spare_idle_s} s"

    def _spare_key(self, live: LiveNode) -> tuple[str, str]:
        if live.group is None:
            return "", ""
        by_type = self._view.policy_of(live.group).scale_in.spare_per == "instance_type"
        return live.group.key, live.instance.instance_type if by_type and live.instance else ""


def _weight(live: LiveNode) -> int:
    """Units of its group's desired, min and max."""
    return live.instance.weight if live.instance else 1
