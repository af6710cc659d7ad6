"""What AWS still gives out: vCPU quotas, capacity reservations and capacity blocks, over all groups that draw on them.

Like the policy's limits they truncate and never block: as many nodes come as there is room for. A quota whose use nobody
knows bounds nothing.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from spillway.model.fleet import NodeGroup
from spillway.model.market import WHOLE, Ceiling, CeilingKind, Draw
from spillway.model.reason import Code, Reason
from spillway.planner import warm
from spillway.planner.gaps import Gap
from spillway.planner.noticed import BLOCK_CLOSES
from spillway.planner.view import View

USE_LASTS = timedelta(minutes=30)
"""An older figure of a quota's use says nothing of now: CloudWatch has one every few minutes."""

_Key = tuple[str, str]


class Ceilings:
    """`left` by region and key, in thousandths; what is not in it is unbounded. `take` books what is planned.

    `held` counts, by group's key, instances of warm pools that run: they are taken first, and draw on nothing anew.
    """

    def __init__(self, known: Mapping[_Key, Ceiling], left: Mapping[_Key, int], now: datetime, held: Mapping[str, int]) -> None:
        self._known, self._left, self._now, self._held = known, dict(left), now, dict(held)

    def copy(self) -> "Ceilings":
        return Ceilings(self._known, self._left, self._now, self._held)

    def most(self, group: NodeGroup, wanted: int) -> int:
        """How many more nodes of the group AWS would still give, at most `wanted`."""
        held = self._held_of(group)
        for draw in self._binding(group):
            wanted = min(wanted, held + sum(self._nodes(group, key, amount) for key, amount in draw.items()))
        return wanted

    def take(self, group: NodeGroup, nodes: int) -> None:
        """Books nodes, or gives them back where the number is below 0. What finds no room is booked on the last ceiling."""
        before = self._held.get(group.key, 0)
        self._held[group.key] = before - nodes
        for draw in self._binding(group):
            self._book(group, draw, max(0, nodes - before) - max(0, -before))

    def _held_of(self, group: NodeGroup) -> int:
        return max(0, self._held.get(group.key, 0))

    def _book(self, group: NodeGroup, draw: Draw, nodes: int) -> None:
        rest, last = nodes, max(draw)
        for key, amount in sorted(draw.items()):
            part = rest if key == last else min(rest, self._nodes(group, key, amount))
            self._left[group.region, key] -= part * amount
            rest -= part

    def signature(self, group: NodeGroup) -> tuple[object, ...]:
        """Equal for groups whose nodes draw the same on the same ceilings, and none of which has any that draw on nothing."""
        drawn = tuple((group.region, *sorted(draw.items())) for draw in self._binding(group))
        return (group.key, *drawn) if drawn and self._held_of(group) else drawn

    def refusal(self, group: NodeGroup) -> Reason | None:
        """Which ceiling leaves no room for one node more; None when all do."""
        for draw in () if self._held_of(group) else self._binding(group):
            if not any(self._nodes(group, key, amount) for key, amount in draw.items()):
                ceilings = [(self._known[group.region, key], amount) for key, amount in sorted(draw.items())]
                code = Code.QUOTA if ceilings[0][0].kind is CeilingKind.QUOTA else Code.RESERVATION
                return Reason(code=code, text="; ".join(self._sentence(one, amount) for one, amount in ceilings))
        return None

    def _binding(self, group: NodeGroup) -> Iterable[Draw]:
        """The draws that can be refused: AWS may take from any ceiling of a draw, so from one without bound as well."""
        return (draw for draw in group.draws if draw and all((group.region, key) in self._left for key in draw))

    def _nodes(self, group: NodeGroup, key: str, amount: int) -> int:
        return max(0, self._left[group.region, key]) // amount

    def _sentence(self, ceiling: Ceiling, amount: int) -> str:
        if ceiling.kind is CeilingKind.QUOTA:
            used = ceiling.limit - self._left[ceiling.region, ceiling.key] / WHOLE
            return (
                f"the quota {ceiling.name} ({ceiling.key}) of {ceiling.limit} vCPUs in {ceiling.region} has {used:g} used "
                f"or asked for, a node takes {amount / WHOLE:g}"
            )
        what = f"{ceiling.kind} {ceiling.name}"
        if why := _closed(ceiling, self._now):
            return f"{what} {why}"
        return f"{what} has none of its {ceiling.limit} instances free"


def ceilings(view: View, gaps: Mapping[str, Gap]) -> Ceilings:
    """Books what was asked for and does not show in AWS's figures yet."""
    known = {(one.region, one.key): one for one in view.fleet.ceilings}
    left = {key: room * WHOLE for key, one in known.items() if (room := _room(one, view.now)) is not None}
    found = Ceilings(known, left, view.now, {key: warm.prepared(group).held for key, group in view.groups.items()})
    for group in view.groups.values():
        found.take(group, gaps[group.key].coming)
        for draw in found._binding(group):
            found._book(group, draw, _unseen(group, known[group.region, max(draw)]))
    return found


def warnings(view: View) -> Iterable[Reason]:
    """Quotas that groups draw on and that bound nothing, since nobody knows how much of them is used."""
    for one in view.fleet.ceilings:
        if _room(one, view.now) is None:
            why = f"is of {one.as_of:%Y-%m-%d %H:%M} UTC" if one.used is not None and one.as_of else "is not known"
            text = (
                f"the quota {one.name} ({one.key}) of {one.limit} vCPUs in {one.region} is no ceiling: "
                f"its use {why} (CloudWatch, AWS/Usage)"
            )
            yield Reason(code=Code.QUOTA_USE_UNKNOWN, text=text)


def _room(ceiling: Ceiling, now: datetime) -> int | None:
    """What is left of it, None where that is not known."""
    if ceiling.kind is not CeilingKind.QUOTA:
        return 0 if _closed(ceiling, now) else ceiling.limit - (ceiling.used or 0)
    if ceiling.limit == 0:
        return 0  # whatever is used
    if ceiling.used is None or (ceiling.as_of is not None and now - ceiling.as_of > USE_LASTS):
        return None
    return ceiling.limit - ceiling.used


def _closed(ceiling: Ceiling, now: datetime) -> str:
    """Why a reservation takes no launch at all, "" when it does."""
    if ceiling.starts is not None and now < ceiling.starts:
        return f"begins at {ceiling.starts:%Y-%m-%d %H:%M} UTC"
    margin = BLOCK_CLOSES if ceiling.kind is CeilingKind.BLOCK else timedelta(0)
    if ceiling.ends is not None and now >= ceiling.ends - margin:
        return f"{'ended' if now >= ceiling.ends else 'ends'} at {ceiling.ends:%Y-%m-%d %H:%M} UTC"
    return "" if ceiling.open else "is not active"


def _unseen(group: NodeGroup, ceiling: Ceiling) -> int:
    """What was launched after the figure of a quota's use; a reservation's is as of the snapshot that shows the members."""
    if ceiling.kind is not CeilingKind.QUOTA or ceiling.as_of is None:
        return 0
    using = [one for one in (*group.instances, *group.warm) if one.is_member or warm.is_held(one)]
    return sum(one.launched_at > ceiling.as_of if one.launched_at else one.is_pending for one in using)
