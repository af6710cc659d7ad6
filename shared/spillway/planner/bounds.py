"""What removals of one plan may not cross together: mins, the cluster's minimum, budgets, limits of a plan and of an hour."""

from collections.abc import Mapping
from datetime import timedelta

from spillway.model import quantity
from spillway.model.plan import Why
from spillway.model.policy import RemovalLimits
from spillway.model.reason import Code, Reason
from spillway.planner.budgets import Budgets
from spillway.planner.gaps import Gap
from spillway.planner.view import LiveNode, View

_HOUR = timedelta(hours=1)


class Bounds:
    """Counts down from what is there, without what leaves already; `take` books a removal."""

    def __init__(self, view: View, gaps: Mapping[str, Gap]) -> None:
        self._view = view
        own = [live for live in view.nodes if live.group is not None]
        leaving = [live for live in own if live.node.name in view.draining or live.is_leaving]
        self._budgets = Budgets(view, len(own), len(leaving))
        self._size = {key: group.desired - gaps[key].lost for key, group in view.groups.items()}
        for live in own:
            goes = live.ends_at is not None or (live.node.name in view.draining and not live.is_leaving)
            if live.group is not None and goes:
                self._size[live.group.key] -= _weight(live)
        staying = [live for live in own if live not in leaving and live.node.ready]
        self._taken, self._lately = 0, sum(view.now - one.at < _HOUR for one in view.memory.removals)
        self._total = quantity.total({**live.node.allocatable, "nodes": 1} for live in staying)

    def refusal(self, live: LiveNode) -> Reason | None:
        name, group = live.node.name, live.group
        if group is None:
            return None
        least = self._view.min_of(group)
        if self._size[group.key] - _weight(live) < least:
            return Reason(code=Code.AT_MIN, text=f"node {name} stays: group {group.name} is at its min of {least}")
        short = self._below_minimum(live)
        if short:
            return Reason(code=Code.AT_MIN, text=f"node {name} stays: {short}")
        spent = self._budgets.refusal(Why.EMPTY, self._view.policy_of(group).scale_in.budgets)
        if spent:
            return Reason(code=Code.BUDGET, text=f"node {name} waits: {spent}")
        limit = self._limited(self._view.policy_of(group).scale_in.limits)
        return Reason(code=Code.REMOVAL_LIMIT, text=f"node {name} waits: {limit}") if limit else None

    def take(self, live: LiveNode) -> None:
        self._budgets.take(Why.EMPTY)
        self._taken += 1
        if live.group is not None:
            self._size[live.group.key] -= _weight(live)
        for resource, amount in {**live.node.allocatable, "nodes": 1}.items():
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

    def _below_minimum(self, live: LiveNode) -> str:
        least = self._view.policy.scale_in.cluster_minimum
        wanted = {"nodes": least.nodes, "cpu": least.cpu, "memory": least.memory}
        for resource, value in wanted.items():
            if value is None:
                continue
            floor = quantity.amount(resource, value)
            after = self._total.get(resource, 0) - (1 if resource == "nodes" else live.node.allocatable.get(resource, 0))
            if after < floor:
                return f"the cluster's minimum is {quantity.show(resource, floor)} {resource}"
        return ""


def _weight(live: LiveNode) -> int:
    """Units of its group's desired, min and max."""
    return live.instance.weight if live.instance else 1
