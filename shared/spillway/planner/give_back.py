"""Desired that nothing will fill is lowered to what is really there. No instance ends by it."""

from collections.abc import Mapping

from spillway.model.plan import GiveBack
from spillway.model.policy import Mode
from spillway.model.reason import Code, Reason
from spillway.planner.gaps import Gap
from spillway.planner.ownership import is_left_alone
from spillway.planner.view import View


def give_back(view: View, gaps: Mapping[str, Gap], first: int) -> list[GiveBack]:
    """Only what no open request owns, in regions that answered and groups that are ours to change.

    Never below a min or what runs and is pending.
    """
    if view.policy.mode is Mode.OFF or view.is_stale:
        return []
    found: list[GiveBack] = []
    for key, group in view.groups.items():
        gap = gaps[key]
        target = max(view.min_of(group), group.desired - gap.abandoned)
        skipped = group.region in view.unknown_regions or view.policy_of(group).ignore
        if not group.is_countable:
            continue  # fewer instances than desired are the rule there, and lowering it would end some
        if not gap.is_phantom or skipped or target >= group.desired or is_left_alone(view, group):
            continue
        text = (
            f"group {group.name}: {group.desired - target} of desired {group.desired} are not there and do not come: {gap.why}"
        )
        found.append(
            GiveBack(
                step=first + len(found),
                region=group.region,
                group=group.name,
                from_desired=group.desired,
                to_desired=target,
                reason=Reason(code=Code.NOTHING_COMES, text=text),
            )
        )
    return found
