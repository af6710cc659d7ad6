"""Which groups may be asked for nodes, how many, and why not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spillway.model.fleet import NodeGroup
from spillway.model.memory import Unavailable
from spillway.model.policy import RegionMode
from spillway.model.reason import Code, Reason
from spillway.planner import ceilings, group_warnings, ownership, prices, warm
from spillway.planner.amounts import has_accelerator
from spillway.planner.fit import Fit
from spillway.planner.gaps import Gap
from spillway.planner.new_nodes import NewNodes
from spillway.planner.preferences.wishes import Preferences
from spillway.planner.unavailable import passed_over
from spillway.planner.view import View


@dataclass(frozen=True)
class Source:
    """A group that may be asked. `room` nodes are left to its max; `host` is its nodes' kind in Fit, `like` in Preferences.

    The first `warm` of them come from its warm pool. Where it is `closed`, it launches none for this reason, and `room` is what
    runs in the pool.
    """

    group: NodeGroup
    room: int
    host: int
    like: int
    have: tuple[int, ...]
    price: float
    accelerated: bool
    warm: int = 0
    closed: Reason | None = None


@dataclass(frozen=True)
class Supply:
    """`sources` by group's key. `refused` says of others why not; a group in neither is at its max."""

    sources: Mapping[str, Source]
    refused: Mapping[str, Reason]


def region_order(view: View) -> tuple[str, ...]:
    """The policy's, else the home region and then the others by name."""
    if view.policy.regions:
        return view.policy.regions
    regions = {group.region for group in view.groups.values()} - {view.fleet.home_region}
    return (view.fleet.home_region, *sorted(regions))


def region_ranks(view: View) -> list[frozenset[str]]:
    """Regions that are asked together, in the order in which they are asked."""
    order = region_order(view)
    if view.policy.region_mode is RegionMode.IN_ORDER:
        return [frozenset({region}) for region in order]
    return [frozenset(order)]


def supply(view: View, gaps: Mapping[str, Gap], new_nodes: NewNodes, fit: Fit, preferences: Preferences) -> Supply:
    sources: dict[str, Source] = {}
    refused: dict[str, Reason] = {}
    for key, group in view.groups.items():
        pool = warm.left(group, gaps[key])
        refusal = passed_over(group, view.memory.unavailable, view.now)
        is_held = refusal is not None and pool.held > 0 and warm.is_spared(refusal)
        reason = _refusal(view, group, gaps[key], None if is_held else refusal)
        room = (view.max_of(group) - gaps[key].desired) // group.node_units
        room = min(room, pool.held) if is_held else room
        if reason is not None:
            refused[key] = reason
        elif group.template is not None and room > 0:
            host, have = new_nodes.of(group, group.template)
            sources[key] = Source(
                group=group,
                room=room,
                host=fit.host_kind(host),
                like=preferences.like(host),
                have=have,
                price=prices.weight(view, group),
                accelerated=has_accelerator(group.template.allocatable),
                warm=min(room, pool.ready),
                closed=_unavailable(refusal) if refusal and is_held else None,
            )
    return Supply(sources, refused)


def _refusal(view: View, group: NodeGroup, gap: Gap, record: Unavailable | None) -> Reason | None:
    """`record` is of the refusal for which it is passed over."""
    for code, text in _obstacles(view, group, gap, record):
        if text:
            return Reason(code=code, text=text)
    return None


def _obstacles(view: View, group: NodeGroup, gap: Gap, record: Unavailable | None) -> Iterable[tuple[Code, str]]:
    """What keeps a group from being asked, the most lasting first; "" where it does not."""
    region = group.region
    yield Code.DISABLED, "" if view.may_grow else f"the policy's mode is {view.policy.mode}"
    yield Code.IGNORED, "the policy ignores this group" if view.policy_of(group).ignore else ""
    foreign = view.is_eks and region != view.fleet.home_region
    yield Code.SINGLE_REGION, f"nodes of an EKS cluster live in its own region {view.fleet.home_region}" if foreign else ""
    excluded = region not in region_order(view)
    yield Code.REGION_EXCLUDED, f"region {region} is not in the policy's regions" if excluded else ""
    yield Code.REGION_UNKNOWN, f"region {region} did not answer" if region in view.unknown_regions else ""
    unreadable = group.problem or "its template cannot be read"
    yield Code.NO_TEMPLATE, unreadable if group.problem or group.template is None else ""
    unweighed = "it counts in weighted units, and what its types weigh is not known"
    yield Code.NO_TEMPLATE, "" if group.is_countable else unweighed
    yield Code.SUSPENDED, "its Launch process is suspended" if "Launch" in group.suspended else ""
    yield from ownership.left_alone(view, group)
    yield Code.UNAVAILABLE, _unavailable(record).text if record else ""
    yield (
        Code.UNAVAILABLE,
        f"{gap.lost} {'units' if group.weighted else 'nodes'} asked for do not come: {gap.why}" if gap.lost else "",
    )
    age_s, limit_s = view.cluster_age.total_seconds(), view.policy.max_snapshot_age_s
    old = f"the view of the cluster is {age_s:.0f} s old, more than {limit_s} s: what its pods need now is not known"
    yield Code.STALE_VIEW, old if age_s > limit_s else ""


def _unavailable(record: Unavailable) -> Reason:
    text = f"unavailable until {record.until:%Y-%m-%d %H:%M:%S} UTC ({record.key}, {record.reason})"
    return Reason(code=Code.UNAVAILABLE, text=text)


def warnings(view: View) -> Iterable[Reason]:
    """What people should know of the fleet as a whole."""
    foreign = sorted({group.region for group in view.groups.values()} - {view.fleet.home_region})
    if view.is_eks and foreign:
        yield Reason(
            code=Code.SINGLE_REGION,
            text=f"groups in {', '.join(foreign)} are refused: nodes of an EKS cluster must be in its own VPC, "
            f"in {view.fleet.home_region}; spread over groups, types, markets and zones of that region instead",
        )
    yield from prices.warnings(view)
    yield from ceilings.warnings(view)
    yield from group_warnings.warnings(view)
    if view.memory.vanished:
        named = ", ".join(view.memory.vanished[:5])
        yield Reason(
            code=Code.NODES_VANISH,
            text=f"{len(view.memory.vanished)} nodes went within a minute of joining while their instance runs ({named}): "
            "a cloud controller that does not know the region deletes them; switch it off or let it know the region",
        )
