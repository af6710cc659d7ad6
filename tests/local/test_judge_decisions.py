"""When a reason of ours and the scheduler's message are of one kind. The messages are worded as the scheduler of 1.37 does."""

import pytest

from spillway_local.judge.decisions import agree

NARROWED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
SELECTOR = "node(s) didn't match Pod's node affinity/selector"
TAINTED = "node(s) had untolerated taint(s)"


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ({"labels"}, f"0/4 nodes are available: 1 {SELECTOR}, 3 {NARROWED}.", True),
        ({"taints"}, f"0/4 nodes are available: 1 {TAINTED}, 3 {NARROWED}.", True),
        ({"taints"}, f"0/4 nodes are available: 1 node(s) were unschedulable, 3 {NARROWED}.", True),
        ({"room"}, f"0/4 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 3 {NARROWED}.", True),
        ({"room"}, f"0/4 nodes are available: 1 Too many pods, 3 {NARROWED}.", True),
        ({"labels", "room"}, f"0/4 nodes are available: 1 {SELECTOR}, 3 {NARROWED}.", True),
        ({"labels"}, f"0/4 nodes are available: 1 {TAINTED}, 3 {NARROWED}.", False),
        ({"room"}, f"0/4 nodes are available: 1 {SELECTOR}, 3 {NARROWED}.", False),
        ({"labels"}, f"0/4 nodes are available: 1 Insufficient cpu, 3 {NARROWED}.", False),
        ({"labels"}, f"0/4 nodes are available: 1 node(s) had volume node affinity conflict, 3 {NARROWED}.", False),
        ({"labels"}, "no word", False),
        ({"taints"}, "", False),
        (set(), f"0/3 nodes are available: 3 {NARROWED}.", False),
    ],
)
def test_one_reason_of_ours_must_be_the_one_that_the_scheduler_names(ours: set[str], theirs: str, same: bool) -> None:
    assert agree(ours, theirs) is same
