"""Views that are old or in part: nothing goes by them."""

from spillway.model.reason import Code
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.verdict import Stays, Verdict
from spillway.planner.view import LiveNode

RULE = "Nothing goes while the view of the cluster or of the fleet is old, or the node's region does not answer"


def verdict(live: LiveNode, facts: Facts) -> Verdict | None:
    view = facts.view
    if live.group is not None and live.group.region in view.unknown_regions:
        return Stays(Code.REGION_UNKNOWN, f"is in region {live.group.region}, which did not answer")
    old = f"is seen in a view older than {view.policy.max_snapshot_age_s} s"
    return Stays(Code.STALE_VIEW, old) if view.is_stale else None
