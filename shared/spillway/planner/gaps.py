"""Desired above what is there: which of it is coming, and which will never come.

A gap counts only while somebody expects it to close: an open request of ours, or the group itself, at work on it
and not refused since. Everything else is a phantom that would swallow demand.
"""

from dataclasses import dataclass
from datetime import datetime

from spillway.model.fleet import FailureClass, Instance, LaunchFailure, NodeGroup
from spillway.model.memory import OpenRequest, RequestState
from spillway.planner.unavailable import proven_since
from spillway.planner.view import View

TYPE = "node.kubernetes.io/instance-type"
_LATE = "the request is older than the provision time"


@dataclass(frozen=True)
class Gap:
    """`coming` nodes without an instance yet; `abandoned` units of desired that nobody expects to be filled, and `why` not.

    `overdue` units do not come in time, either; the open request that asked for them gives them back by itself. A unit is an
    instance, but in a weighted group.
    """

    coming: int = 0
    abandoned: int = 0
    overdue: int = 0
    why: str = ""
    desired: int = 0  # units, with what open requests are about to add

    @property
    def is_phantom(self) -> bool:
        return self.abandoned > 0

    @property
    def lost(self) -> int:
        """Units that desired counts and that will not be there, whoever gives them back."""
        return self.abandoned + self.overdue


def gap_of(view: View, group: NodeGroup) -> Gap:
    requests = [r for r in view.memory.requests if (r.region, r.group) == (group.region, group.name)]
    owned_by_run = [r for r in requests if not r.orphan]
    ours = [r for r in owned_by_run if view.is_young(r.asked_at, group)]
    late = [r for r in owned_by_run if r not in ours and r.state == RequestState.OPEN]
    unseen = [r for r in ours if r.state == RequestState.PLANNED]
    seen_at = view.seen_at(group.region)
    # What a dead run raised counts, too, until the fleet shows what came of it; what it only planned never comes.
    unseen += [
        r for r in requests if r.state == RequestState.OPEN and r.asked_at > seen_at and view.is_young(r.asked_at, group)
    ]
    planned = _planned(group, unseen)
    missing = max(0, group.desired - group.units)
    owned = min(missing, sum(_units(group, r, r.nodes - r.missing) for r in ours if r not in unseen))
    overdue = min(missing - owned, sum(_units(group, r, r.nodes - r.missing) for r in late))
    why = _nobody(view, group, requests) if missing > owned + overdue else ""
    coming = owned if why else missing - overdue
    abandoned = missing - overdue - coming
    nodes = group.nodes(coming) + max(0, group.nodes(planned) - _joined_unseen(view, group, seen_at))
    return Gap(nodes, abandoned, overdue, why or (_LATE if overdue else ""), group.desired + planned)


def _planned(group: NodeGroup, requests: list[OpenRequest]) -> int:
    """Units that requests which the fleet's snapshot cannot show yet add to desired: planned, or raised since it was taken.

    A request knows the desired capacity that it leads to from the moment at which the group is about to be raised.
    """
    begun = [r for r in requests if r.to_desired > r.from_desired]
    raised = max((r.to_desired - _units(group, r, r.missing) for r in begun), default=group.desired)
    return max(0, raised - group.desired) + sum(_units(group, r, r.nodes) for r in requests if r not in begun)


def _joined_unseen(view: View, group: NodeGroup, seen_at: datetime) -> int:
    """Nodes of its types that came since the region answered last: they are there, though in no group that is known."""
    if group.region not in view.unknown_regions or group.template is None:
        return 0
    types = group.template.instance_types
    strays = (live.node for live in view.nodes if live.group is None and live.born > seen_at)
    return sum(1 for one in strays if one.machine and one.machine.region == group.region and one.labels.get(TYPE) in types)


def _units(group: NodeGroup, request: OpenRequest, nodes: int) -> int:
    """What so many of its nodes count for: as they were asked for, or as they will be."""
    raised = request.to_desired - request.from_desired
    each = raised // max(1, request.nodes) if raised > 0 else group.node_units
    return max(0, nodes) * each


def _nobody(view: View, group: NodeGroup, requests: list[OpenRequest]) -> str:
    """Why the rest of the gap is not expected to close; "" when it is."""
    if "Launch" in group.suspended:
        return "its Launch process is suspended"
    refused = refusal_of(group)
    if refused and not _began_after(group, refused) and (group.launching == 0 or view.is_young(refused.at, group)):
        return f"AWS refused at {refused.at:%Y-%m-%d %H:%M:%S}: {refused.text}"
    if group.launching:
        if group.launching_since is None or view.is_young(group.launching_since, group):
            return ""
        age_s = round((view.now - group.launching_since).total_seconds())
        return f"its launch began {age_s} s ago and brought nothing"
    if any(r.orphan and r.state == RequestState.OPEN and not view.is_young(r.asked_at, group) for r in requests):
        return _LATE
    return ""  # raised a moment ago: the group has not begun yet


def _began_after(group: NodeGroup, refused: LaunchFailure) -> bool:
    """All launches under way were asked for anew: the refusal was about another raise."""
    return group.launching > 0 and group.launching_since is not None and group.launching_since > refused.at


def refusal_of(group: NodeGroup) -> LaunchFailure | None:
    """The latest refused launch that no later success disproves. Balancing between zones asks for nothing new."""
    refused = (f for f in group.failures if f.failure is not FailureClass.REBALANCE)
    return next((f for f in refused if not proven_since(group.instances, f.at)), None)


def is_coming(view: View, group: NodeGroup, instance: Instance) -> bool:
    """An instance that has no node yet and may still become one."""
    if not instance.is_member or not instance.healthy:
        return False
    if instance.launched_at is None:
        return instance.is_pending
    return view.is_young(instance.launched_at, group)
