"""The fleet as it was seen, with what events told of it since. The snapshot is the truth: what it is newer than is dropped."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec

from spillway.model.fleet import FleetSnapshot, Instance, NodeGroup
from spillway.model.market import Ceiling, CeilingKind
from spillway.model.memory import Notice, Told

BLOCK_CLOSES = timedelta(minutes=40)
"""Before a capacity block's end AWS warns, and ten minutes later it begins to end the instances.
Source: EC2 User Guide, "Monitor Capacity Blocks using EventBridge"."""
_BLOCK_TAKES = timedelta(minutes=30)
_ENDED = frozenset({"stopping", "stopped", "shutting-down", "terminated"})  # EC2's states of an instance
_LEAVES = "Terminating"  # as Auto Scaling will call it when it has found out, and replace it

Subject = tuple[str, str]
"""Region, and id of an instance or reservation."""


def applied(fleet: FleetSnapshot, notices: Iterable[Notice], ours: frozenset[str]) -> FleetSnapshot:
    """Instances that EC2 has ended are no members any more, and blocks begin and end as events told.

    `ours` are instances of nodes that a run of ours is draining: their groups replace none of them.
    """
    news = {(one.region, one.subject): one for one in notices if one.at > fleet.taken_at}
    return msgspec.structs.replace(
        fleet,
        groups=tuple(_group(group, news, ours) for group in fleet.groups),
        ceilings=tuple(_ceiling(one, news.get((one.region, one.key))) for one in fleet.ceilings),
    )


def ends(fleet: FleetSnapshot, notices: Iterable[Notice], now: datetime) -> dict[str, datetime]:
    """When AWS takes members, by id, as far as it has told; `fleet` is the applied one.

    An instance's own warning stands in no snapshot, so it holds until the instance is gone.
    """
    warned = {(one.region, one.subject): one.ends_at for one in notices if one.told is Told.ENDS}
    closing = {
        (one.region, one.key): one.ends - _BLOCK_TAKES
        for one in fleet.ceilings
        if one.kind is CeilingKind.BLOCK and one.ends is not None and now >= one.ends - BLOCK_CLOSES
    }
    found = {}
    for group in fleet.groups:
        for instance in group.instances:
            told = warned.get((group.region, instance.id)) or closing.get((group.region, instance.reservation))
            if told is not None and instance.is_member:
                found[instance.id] = told
    return found


def _group(group: NodeGroup, news: Mapping[Subject, Notice], ours: frozenset[str]) -> NodeGroup:
    told = {one.id: notice.told for one in group.instances if (notice := news.get((group.region, one.id))) and one.is_member}
    ended = {id_ for id_, word in told.items() if word is Told.ENDED}
    gone = {one.id for one in group.instances if one.id not in ours and _is_gone(one, told.get(one.id))}
    if not ended | gone:
        return group
    members = (msgspec.structs.replace(one, lifecycle=_LEAVES) if one.id in ended | gone else one for one in group.instances)
    weight = sum(one.weight for one in group.instances if one.id in ended)
    return msgspec.structs.replace(group, desired=group.desired - weight, instances=tuple(members))


def _is_gone(instance: Instance, told: Told | None) -> bool:
    return instance.is_member and (instance.state in _ENDED or told is Told.GONE)


def _ceiling(ceiling: Ceiling, notice: Notice | None) -> Ceiling:
    if notice is None or notice.told not in (Told.DELIVERED, Told.EXPIRES):
        return ceiling
    is_open = ceiling.open or notice.told is Told.DELIVERED
    starts = None if notice.told is Told.DELIVERED else ceiling.starts
    return msgspec.structs.replace(ceiling, open=is_open, starts=starts, ends=notice.ends_at or ceiling.ends)
