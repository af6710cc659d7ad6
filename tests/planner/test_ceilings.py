"""vCPU quotas, capacity reservations and capacity blocks: what AWS would not give is not planned."""

from datetime import timedelta
from typing import Any

import pytest

from spillway.model.fleet import NodeGroup
from spillway.model.market import WHOLE, CeilingKind
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from tests.builders import (
    NOW,
    ago,
    desired,
    group,
    instance,
    open_request,
    plan_for,
    pod,
    quota,
    refusals,
    reservation,
    warned,
)

STANDARD, SPOT, G_AND_VT = "L-1216C47A", "L-34B43A08", "L-DB2E81BA"


def standard(name: str, **fields: Any) -> NodeGroup:
    """A group whose nodes have 4 vCPUs of the class Standard, On-Demand."""
    return group(name, draws=({STANDARD: 4 * WHOLE},), **fields)


def reserved(name: str, **fields: Any) -> NodeGroup:
    return group(name, draws=({"cr-1": WHOLE},), **fields)


def pods(count: int, cpu: str = "3", **rules: Any) -> Any:
    """So large that a node holds one."""
    return pod("p", cpu=cpu, count=count, **rules)


def reasons(plan: Plan) -> list[str]:
    return [reason.text for reason in plan.unserved[0].reasons]


@pytest.mark.feature("FS-11")
class TestQuotas:
    def test_truncates_a_raise_to_what_the_quota_leaves_and_names_it_with_its_value_and_use(self) -> None:
        plan = plan_for(pods(5), standard("g"), ceilings=[quota(limit=64, used=54)])

        assert desired(plan) == {"g": 2}
        assert (plan.summary.pods_unserved, refusals(plan)) == (3, {"g": "quota"})
        said = (
            "the quota Running On-Demand Standard instances (L-1216C47A) of 64 vCPUs in us-east-1 "
            "has 62 used or asked for, a node takes 4"
        )
        assert reasons(plan) == [said]
        assert plan.scale_out[0].reason.text.endswith(f"; no more of them, since {said}")

    def test_bounds_all_groups_of_its_class_and_region_together(self) -> None:
        plan = plan_for(pods(5), standard("a"), standard("b"), ceilings=[quota(limit=12)])

        assert sum(desired(plan).values()) == 3

    def test_bounds_no_other_class_market_or_region(self) -> None:
        spot = group("spot", draws=({SPOT: 4 * WHOLE},), spot=True, price=0.3)
        gpu = group("gpu", draws=({G_AND_VT: 4 * WHOLE},), gpu=1)
        west = standard("west", region="us-west-2", max_size=1)
        full = [quota(limit=4, used=4), quota(SPOT, 8), quota(G_AND_VT, 4), quota(limit=8, region="us-west-2")]

        plan = plan_for(pods(3), pod("g", gpu=1), standard("g"), spot, gpu, west, ceilings=full)

        assert desired(plan) == {"spot": 2, "gpu": 1, "west": 1}
        assert plan.summary.pods_unserved == 0

    def test_holds_together_with_the_groups_own_max_and_the_policys_limits(self) -> None:
        assert desired(plan_for(pods(5), standard("g", max_size=1), ceilings=[quota(limit=8)])) == {"g": 1}
        assert desired(plan_for(pods(5), standard("g", max_size=9), ceilings=[quota(limit=8)])) == {"g": 2}

    def test_the_rest_of_the_demand_goes_to_the_next_region(self) -> None:
        plan = plan_for(pods(5), standard("east"), group("west", region="us-west-2"), ceilings=[quota(limit=8)])

        assert desired(plan) == {"east": 2, "west": 3}

    def test_a_min_is_raised_no_further_than_it(self) -> None:
        plan = plan_for(standard("g", min_size=3), ceilings=[quota(limit=8)])

        assert desired(plan) == {"g": 2}
        assert "; no more of them, since the quota " in plan.scale_out[0].reason.text

    def test_fallbacks_of_the_same_class_are_offered_only_the_room_that_the_refused_group_leaves(self) -> None:
        plan = plan_for(pods(2), standard("a", price=0.1), standard("b"), ceilings=[quota(limit=8)])

        assert [(one.group, one.nodes) for one in plan.scale_out[0].fallbacks] == [("b", 2)]

    def test_what_was_asked_for_and_is_not_in_its_use_yet_is_booked(self) -> None:
        asked = open_request(from_desired=0, to_desired=1, nodes=1)
        young = [instance("new", age_s=30), instance("old", age_s=600)]
        g = standard("g", desired=1)
        late = standard("late", instances=young, price=0.3)

        plan = plan_for(pods(9), g, late, memory=Memory(requests=(asked,)), ceilings=[quota(limit=20, used=4)])

        assert plan.summary.nodes_new == 2, "4 used, 4 coming, 4 launched after the figure: two nodes are left of 20"

    def test_without_a_known_use_it_is_no_ceiling_and_a_warning_names_it(self) -> None:
        plan = plan_for(pods(5), standard("g"), ceilings=[quota(limit=8, used=None)])

        assert desired(plan) == {"g": 5}
        (text,) = [one.text for one in plan.warnings if one.code == "quota_use_unknown"]
        assert text == (
            "the quota Running On-Demand Standard instances (L-1216C47A) of 8 vCPUs in us-east-1 is no ceiling: "
            "its use is not known (CloudWatch, AWS/Usage)"
        )

    def test_a_use_of_half_an_hour_ago_is_none(self) -> None:
        old = quota(limit=8, used=8, as_of=ago(1801))

        plan = plan_for(pods(5), standard("g"), ceilings=[old])

        assert desired(plan) == {"g": 5}
        assert "its use is of 2025-12-31 23:29 UTC" in next(w.text for w in plan.warnings if w.code == "quota_use_unknown")

    def test_a_quota_of_nothing_bounds_whatever_its_use(self) -> None:
        plan = plan_for(pods(1), standard("g"), ceilings=[quota(limit=0, used=None)])

        assert (desired(plan), warned(plan)) == ({}, set())

    def test_of_a_group_with_types_of_two_classes_either_will_do(self) -> None:
        either = group("g", draws=({STANDARD: 4 * WHOLE, G_AND_VT: 4 * WHOLE},))

        assert desired(plan_for(pods(9), either, ceilings=[quota(limit=8), quota(G_AND_VT, 4)])) == {"g": 3}
        assert desired(plan_for(pods(9), either, ceilings=[quota(limit=8), quota(G_AND_VT, 4, None)])) == {"g": 9}

    def test_a_group_of_both_markets_draws_on_both_by_its_shares(self) -> None:
        half = group("g", draws=({STANDARD: 2 * WHOLE}, {SPOT: 2 * WHOLE}))

        assert desired(plan_for(pods(9), half, ceilings=[quota(limit=64), quota(SPOT, 6)])) == {"g": 3}


@pytest.mark.feature("FS-11")
class TestReservations:
    def test_a_group_grows_no_further_than_what_is_free_in_its_reservation(self) -> None:
        plan = plan_for(pods(3), reserved("res", price=0.1), group("open"), ceilings=[reservation(total=3, free=1)])

        assert desired(plan) == {"res": 1, "open": 2}

    def test_groups_that_share_one_share_what_is_free(self) -> None:
        shared = [reserved("a", price=0.1), reserved("b", price=0.1)]

        plan = plan_for(pods(3), *shared, group("open"), ceilings=[reservation(total=3, free=2)])

        assert desired(plan)["open"] == 1
        assert plan.summary.nodes_new == 3

    def test_of_several_reservations_all_that_is_free_counts(self) -> None:
        both = group("res", draws=({"cr-1": WHOLE, "cr-2": WHOLE},))

        plan = plan_for(pods(9), both, ceilings=[reservation(free=1), reservation("cr-2", free=2)])

        assert desired(plan) == {"res": 3}

    def test_what_is_on_its_way_into_it_is_booked(self) -> None:
        asked = open_request(group="res", from_desired=0, to_desired=1, nodes=1)

        plan = plan_for(
            pods(3), reserved("res", desired=1), memory=Memory(requests=(asked,)), ceilings=[reservation(total=3, free=2)]
        )

        assert plan.summary.nodes_new == 1

    def test_a_full_one_is_told_by_its_name(self) -> None:
        plan = plan_for(pods(1), reserved("res"), ceilings=[reservation(total=3, free=0)])

        assert refusals(plan) == {"res": "reservation"}
        assert reasons(plan) == ["capacity reservation cr-1 (m5.xlarge in us-east-1a) has none of its 3 instances free"]

    @pytest.mark.parametrize(
        ("fields", "why"),
        [
            ({"open": False}, "is not active"),
            ({"ends": NOW}, "ended at 2026-01-01 00:00 UTC"),
            ({"starts": NOW + timedelta(minutes=1)}, "begins at 2026-01-01 00:01 UTC"),
            ({"kind": CeilingKind.BLOCK, "ends": NOW + timedelta(minutes=40)}, "ends at 2026-01-01 00:40 UTC"),
            ({"kind": CeilingKind.BLOCK, "starts": NOW + timedelta(hours=1)}, "begins at 2026-01-01 01:00 UTC"),
        ],
        ids=["expired", "over", "not begun", "block that ends soon", "block not begun"],
    )
    def test_one_that_is_over_or_not_begun_gives_no_room(self, fields: dict[str, Any], why: str) -> None:
        plan = plan_for(pods(1), reserved("res"), ceilings=[reservation(free=3, **fields)])

        assert desired(plan) == {}
        assert reasons(plan)[0].endswith(f"cr-1 (m5.xlarge in us-east-1a) {why}")

    def test_a_block_gives_room_between_its_start_and_its_last_forty_minutes(self) -> None:
        block = reservation(kind=CeilingKind.BLOCK, free=1, starts=NOW, ends=NOW + timedelta(minutes=41))

        assert desired(plan_for(pods(3), reserved("res"), ceilings=[block])) == {"res": 1}

    def test_a_reservation_gives_room_up_to_its_end(self) -> None:
        lasting = reservation(free=1, ends=NOW + timedelta(minutes=1))

        assert desired(plan_for(pods(3), reserved("res"), ceilings=[lasting])) == {"res": 1}
