"""Limits of growth: what runs and what comes, over all nodes or over the groups that an override names, and per plan;
and beside the policy's limits AWS's own ceilings.

A limit truncates and never blocks: as many whole nodes come as it leaves room for.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from spillway.model import quantity
from spillway.model.base import Resources
from spillway.model.fleet import NodeGroup
from spillway.model.policy import Limits
from spillway.model.reason import Code, Reason
from spillway.planner.ceilings import Ceilings, ceilings
from spillway.planner.gaps import Gap
from spillway.planner.view import View

NODES = "nodes"
NODES_PER_PLAN = "nodes_per_plan"


@dataclass
class _Limit:
    """`left` of each resource for the groups in `keys`; below 0 when the limit was crossed before us."""

    name: str
    keys: frozenset[str]
    most: dict[str, int]
    left: dict[str, int]


class Ledger:
    """What the policy's limits and AWS's ceilings still allow. `take` books what is planned."""

    def __init__(self, limits: Iterable[_Limit], ceilings: Ceilings) -> None:
        self._limits, self._ceilings = list(limits), ceilings

    def copy(self) -> "Ledger":
        limits = (_Limit(one.name, one.keys, one.most, dict(one.left)) for one in self._limits)
        return Ledger(limits, self._ceilings.copy())

    def most(self, group: NodeGroup, wanted: int) -> int:
        """How many more nodes of the group are allowed, at most `wanted`."""
        for limit in self._of(group):
            for name, amount in self._amounts(group, limit).items():
                wanted = min(wanted, max(0, limit.left[name]) // amount)
        return self._ceilings.most(group, wanted)

    def take(self, group: NodeGroup, nodes: int) -> None:
        for limit in self._of(group):
            for name, amount in self._amounts(group, limit).items():
                limit.left[name] -= nodes * amount
        self._ceilings.take(group, nodes)

    def signature(self, group: NodeGroup) -> tuple[object, ...]:
        """Equal for groups whose nodes weigh the same under the same limits."""
        limits = ((limit.name, *sorted(self._amounts(group, limit).items())) for limit in self._of(group))
        return (*limits, *self._ceilings.signature(group))

    def refusal(self, group: NodeGroup) -> Reason | None:
        """Which limit or ceiling leaves no room for one node more; None when all do."""
        text = self._limit_refusal(group)
        return Reason(code=Code.LIMIT, text=text) if text else self._ceilings.refusal(group)

    def ceiling(self, group: NodeGroup) -> Reason | None:
        """As `refusal`, of AWS's ceilings alone."""
        return self._ceilings.refusal(group)

    def _limit_refusal(self, group: NodeGroup) -> str:
        for limit in self._of(group):
            for name, amount in self._amounts(group, limit).items():
                if limit.left[name] < amount:
                    left, most = quantity.show(name, max(0, limit.left[name])), quantity.show(name, limit.most[name])
                    if name in (NODES, NODES_PER_PLAN):
                        return f"the limit of {most} {name} ({limit.name}) leaves {left}"
                    need = quantity.show(name, amount)
                    return f"the limit of {most} {name} ({limit.name}) leaves {left}, a node has {need}"
        return ""

    def _of(self, group: NodeGroup) -> Iterable[_Limit]:
        return (limit for limit in self._limits if group.key in limit.keys)

    @staticmethod
    def _amounts(group: NodeGroup, limit: _Limit) -> dict[str, int]:
        have: Resources = group.template.allocatable if group.template else {}
        amounts = {NODES: 1, NODES_PER_PLAN: 1, **{name: have.get(name, 0) for name in limit.left if name in have}}
        return {name: amounts[name] for name in limit.left if amounts.get(name, 0) > 0}


def ledger(view: View, gaps: dict[str, Gap]) -> Ledger:
    """Books all that runs and comes against the policy's limits, those of overrides, and AWS's ceilings."""
    found = [_limit(view, gaps, view.policy.scale_out.limits, "policy", frozenset(view.groups))]
    for name, override in sorted(view.policy.groups.items()):
        if "limits" in override.scale_out:
            limits = Limits.model_validate(override.scale_out["limits"])
            keys = frozenset(key for key, group in view.groups.items() if fnmatchcase(group.name, name))
            found.append(_limit(view, gaps, limits, f"groups {name}", keys))
    return Ledger((limit for limit in found if limit.most), ceilings(view, gaps))


def _limit(view: View, gaps: dict[str, Gap], limits: Limits, name: str, keys: frozenset[str]) -> _Limit:
    most = {resource: quantity.amount(resource, value) for resource, value in limits.resources.items()}
    for resource, value in (("cpu", limits.cpu), ("memory", limits.memory), (NODES, limits.nodes)):
        if value is not None:
            most[resource] = quantity.amount(resource, value)
    used = quantity.total(_present(view, gaps, keys)) if most else {}
    left = {resource: amount - used.get(resource, 0) for resource, amount in most.items()}
    if limits.nodes_per_plan is not None:
        most[NODES_PER_PLAN] = left[NODES_PER_PLAN] = limits.nodes_per_plan
    return _Limit(name, keys, most, left)


def _present(view: View, gaps: dict[str, Gap], keys: frozenset[str]) -> Iterable[Resources]:
    """Amounts of each node of the groups: as it says itself when it has joined and reads, else as its group promises."""
    whole = len(keys) == len(view.groups)  # then nodes of no group count, too: it is the cluster that is limited
    for live in view.nodes:
        mine = whole if live.group is None else live.group.key in keys
        if mine and not live.is_leaving:
            yield {**live.node.allocatable, NODES: 1}
    for key in sorted(keys):
        group = view.groups[key]
        have = group.template.allocatable if group.template else {}
        absent = sum(1 for i in group.instances if i.is_member and (i.id not in view.joined or i.id in view.unread))
        for _ in range(absent + gaps[key].coming):
            yield {**have, NODES: 1}
