"""The API server's clock and ours: how old a view is hangs on neither's error."""

from datetime import datetime, timedelta

import pytest

from spillway import planner
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from spillway.planner import clocks
from tests.builders import NOW, YESTERDAY, cluster, desired, fleet, group, kept, node, pod, policy, removed

pytestmark = [pytest.mark.feature("CS-14"), pytest.mark.feature("SI-02")]

RULES = policy(scale_in={"consolidation": "empty"})


def plan(ahead_s: int, cluster_age_s: float = 0, fleet_age_s: float = 0) -> Plan:
    """Of an empty node and a pod for another group, from views of these true ages; the plan's time is the later of both."""
    seen_at = NOW - timedelta(seconds=cluster_age_s - ahead_s)
    supply_at = NOW - timedelta(seconds=fleet_age_s)
    n1 = node("n1")
    waits = pod(node_selector={"pool": "new"})
    seen = cluster(n1, waits, taken_at=seen_at, clock_ahead_s=ahead_s)
    supply = fleet(group("g", nodes=[n1]), group("new", labels={"pool": "new"}), taken_at=supply_at)
    now: datetime = max(seen_at, supply_at)
    memory = clocks.observe(Memory(), seen, supply, RULES, now, YESTERDAY)
    return planner.plan(seen, supply, memory, RULES, now)


@pytest.mark.parametrize("ahead_s", [-170, -31, 0, 31, 170])
@pytest.mark.parametrize(("cluster_age_s", "fleet_age_s"), [(0, 0), (0, 90), (90, 0), (0, 179), (179, 0)])
def test_a_clock_that_is_a_little_off_makes_no_view_stale(ahead_s: int, cluster_age_s: float, fleet_age_s: float) -> None:
    made = plan(ahead_s, cluster_age_s, fleet_age_s)
    assert "stale_view" not in kept(made).values()
    assert desired(made) == {"new": 1}
    assert removed(made) == ["n1"]


@pytest.mark.parametrize("ahead_s", [-170, -31, 0, 31, 170])
@pytest.mark.parametrize(("cluster_age_s", "fleet_age_s", "buys"), [(0, 181, True), (181, 0, False)])
def test_and_hides_none_that_is(ahead_s: int, cluster_age_s: float, fleet_age_s: float, buys: bool) -> None:
    made = plan(ahead_s, cluster_age_s, fleet_age_s)
    assert kept(made) == {"n1": "stale_view"}
    assert bool(desired(made)) is buys
