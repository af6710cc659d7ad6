"""Warm pools: what is prepared goes before what must be launched, and is counted where AWS would count it."""

from typing import Any

import pytest

from spillway.model.fleet import Instance, NodeGroup
from spillway.model.group_state import WarmPool
from spillway.model.market import WHOLE
from spillway.model.memory import Memory, Unavailable
from spillway.model.plan import Plan
from tests.builders import (
    ago,
    desired,
    group,
    instance,
    node,
    open_request,
    plan_for,
    pod,
    policy,
    quota,
    refusals,
    reservation,
)

pytestmark = pytest.mark.feature("SO-05")

OFFERING = Unavailable(
    scope="offering", key="us-east-1/on-demand/m5.xlarge", since=ago(60), until=ago(-240), reason="capacity: none"
)


def warm(name: str, state: str = "Stopped", count: int = 2, **fields: Any) -> NodeGroup:
    """A group with so many instances in its pool."""
    prepared = tuple(instance(f"{name}-w{number}", lifecycle=f"Warmed:{state}") for number in range(count))
    return group(name, **{"warm": prepared, "warm_pool": WarmPool(state=state, size=count), **fields})


def nodes(count: int) -> Any:
    """Pods so large that each takes a node."""
    return pod("p", cpu="3", count=count)


def texts(plan: Plan) -> dict[str, str]:
    return {step.group: step.reason.text.partition(" at ")[0] for step in plan.scale_out}


class TestOrder:
    def test_live_and_coming_and_cordoned_nodes_go_first_and_then_warm_ones_and_then_new_ones(self) -> None:
        """Of seven pods each of the first three takes one; of what the pool has one instance is the coming node."""
        live, cordoned = node("live"), node("cordoned", unschedulable=True, cordon="an-old-plan")
        ours = warm("ours", nodes=[live, cordoned], desired=3, launching=1, launching_since=ago(30), count=3)

        plan = plan_for(live, cordoned, nodes(7), ours, group("a-other"))

        assert (plan.summary.pods_on_free_room, plan.summary.pods_on_coming_nodes) == (2, 1)
        assert desired(plan) == {"a-other": 2, "ours": 5}
        assert texts(plan)["ours"] == "group ours: 2 new and 1 uncordoned nodes of which 2 from the warm pool"

    @pytest.mark.parametrize("state", ["Stopped", "Running", "Hibernated"])
    def test_of_groups_that_are_as_good_one_with_warm_instances_is_asked_first(self, state: str) -> None:
        plan = plan_for(nodes(2), group("a"), warm("b", state), group("c"))
        assert desired(plan) == {"b": 2}
        assert texts(plan) == {"b": "group b: 2 new nodes of which 2 from the warm pool"}

    def test_also_where_its_nodes_differ_and_pods_fill_them_as_well(self) -> None:
        assert desired(plan_for(nodes(1), group("a", labels={"x": "y"}), warm("b"))) == {"b": 1}

    def test_what_is_beyond_the_pool_is_shared_evenly_as_ever(self) -> None:
        assert desired(plan_for(nodes(6), group("a"), warm("b", count=2), group("c"))) == {"a": 2, "b": 2, "c": 2}

    def test_two_pools_are_taken_evenly_as_far_as_each_goes(self) -> None:
        assert desired(plan_for(nodes(4), warm("a", count=3), warm("b", count=1), group("c"))) == {"a": 3, "b": 1}

    def test_a_node_that_reaches_the_groups_min_takes_of_the_pool_too(self) -> None:
        assert desired(plan_for(nodes(3), group("a"), warm("b", count=1, min_size=1))) == {"a": 2, "b": 1}

    def test_a_cheaper_group_without_a_pool_is_asked_all_the_same(self) -> None:
        assert desired(plan_for(nodes(1), group("a", price=0.19), warm("b", price=0.2))) == {"a": 1}

    def test_of_fallbacks_that_cost_the_same_the_warm_one_is_first(self) -> None:
        [step] = plan_for(nodes(1), group("a", price=0.1), group("b"), warm("c")).scale_out
        assert [other.group for other in step.fallbacks] == ["c", "b"]


class TestWhichAreReady:
    @pytest.mark.parametrize(
        "lifecycle", ["Warmed:Pending", "Warmed:Pending:Wait", "Warmed:Pending:Proceed", "Warmed:Terminating:Wait"]
    )
    def test_none_that_is_on_its_way_into_the_pool_or_out_of_it(self, lifecycle: str) -> None:
        moving = (instance("w", lifecycle=lifecycle),)
        plan = plan_for(nodes(1), group("a"), group("b", warm=moving, warm_pool=WarmPool()))
        assert texts(plan) == {"a": "group a: 1 new node"}

    def test_none_that_is_ill(self) -> None:
        ill: tuple[Instance, ...] = (instance("w", lifecycle="Warmed:Stopped", healthy=False),)
        assert desired(plan_for(nodes(1), group("a"), group("b", warm=ill, warm_pool=WarmPool()))) == {"a": 1}

    def test_none_of_a_pool_that_is_being_deleted(self) -> None:
        assert desired(plan_for(nodes(1), group("a"), warm("b", warm_pool=WarmPool(deleting=True)))) == {"a": 1}

    def test_none_that_a_node_which_comes_will_take(self) -> None:
        coming = {"desired": 1, "launching": 1, "launching_since": ago(20)}
        plan = plan_for(nodes(3), warm("b", count=2, **coming))
        assert texts(plan) == {"b": "group b: 2 new nodes of which 1 from the warm pool"}


class TestBounds:
    def test_the_pools_largest_size_bounds_what_is_prepared_and_not_desired(self) -> None:
        small = WarmPool(size=2, max_prepared=2)
        assert desired(plan_for(nodes(5), warm("g", warm_pool=small))) == {"g": 5}

    def test_the_groups_max_and_the_policys_limits_bound_them_as_any_node(self) -> None:
        assert desired(plan_for(nodes(5), warm("g", count=4, max_size=3))) == {"g": 3}
        assert desired(plan_for(nodes(5), warm("g", count=4), rules=policy(scale_out={"limits": {"nodes": 2}}))) == {"g": 2}

    def test_a_quota_counts_what_is_started_and_not_what_runs_already(self) -> None:
        full = [quota(limit=8, used=8)]
        draws = ({"L-1216C47A": 4 * WHOLE},)
        assert desired(plan_for(nodes(5), warm("g", "Running", count=2, draws=draws), ceilings=full)) == {"g": 2}
        assert desired(plan_for(nodes(5), warm("g", "Stopped", count=2, draws=draws), ceilings=full)) == {}

    def test_beyond_them_it_bounds_what_is_launched(self) -> None:
        one = [reservation(free=1)]
        running = warm("g", "Running", count=2, draws=({"cr-1": WHOLE},))
        plan = plan_for(nodes(5), running, ceilings=one)
        assert desired(plan) == {"g": 3}
        assert refusals(plan) == {"g": "reservation"}

    def test_what_comes_takes_of_those_that_run_and_not_of_the_quota(self) -> None:
        coming = {"desired": 1, "launching": 1, "launching_since": ago(20)}
        running = warm("g", "Running", count=1, draws=({"L-1216C47A": 4 * WHOLE},), **coming)
        assert desired(plan_for(nodes(3), running, ceilings=[quota(limit=8, used=4)])) == {"g": 2}

    def test_groups_with_pools_under_one_quota_keep_what_is_theirs(self) -> None:
        draws = ({"L-1216C47A": 4 * WHOLE},)
        groups = [warm(name, "Running", count=count, draws=draws) for name, count in (("a", 1), ("b", 1), ("c", 3))]
        assert desired(plan_for(nodes(9), *groups, ceilings=[quota(limit=20, used=20)])) == {"a": 1, "b": 1, "c": 3}

    def test_a_quota_is_no_reason_while_something_runs_in_the_pool(self) -> None:
        running = warm("g", "Running", count=2, max_size=1, draws=({"L-1216C47A": 4 * WHOLE},))
        assert refusals(plan_for(nodes(3), running, ceilings=[quota(limit=8, used=8)])) == {"g": "at_max"}

    def test_an_instance_that_came_into_the_pool_after_the_figure_of_the_quota_counts_as_used(self) -> None:
        young = (instance("w", lifecycle="Warmed:Running", age_s=30),)
        grown = group("g", warm=young, warm_pool=WarmPool(state="Running"), draws=({"L-1216C47A": 4 * WHOLE},))
        assert desired(plan_for(nodes(3), grown, ceilings=[quota(limit=8, used=0)])) == {"g": 2}


class TestRefusals:
    def test_where_aws_has_no_capacity_those_that_run_are_still_there_and_no_more(self) -> None:
        memory = Memory(unavailable=(OFFERING,))
        plan = plan_for(nodes(3), warm("g", "Running", count=2), memory=memory)
        assert desired(plan) == {"g": 2}
        assert refusals(plan) == {"g": "unavailable"}
        assert "m5.xlarge, capacity: none" in plan.unserved[0].reasons[0].text

    @pytest.mark.parametrize("state", ["Stopped", "Hibernated"])
    def test_those_that_must_be_started_need_it_as_a_launch_does(self, state: str) -> None:
        """Auto Scaling counts such a start as a failed launch, and ends the instance."""
        plan = plan_for(nodes(1), warm("g", state), memory=Memory(unavailable=(OFFERING,)))
        assert (desired(plan), refusals(plan)) == ({}, {"g": "unavailable"})

    @pytest.mark.parametrize("scope", ["group", "breaker"])
    def test_what_is_wrong_with_the_group_is_so_for_its_warm_instances_too(self, scope: str) -> None:
        record = Unavailable(scope=scope, key="us-east-1/g", since=ago(60), until=ago(-240), reason="hook: abandoned")
        assert desired(plan_for(nodes(1), warm("g", "Running"), memory=Memory(unavailable=(record,)))) == {}

    def test_it_is_no_fallback_then_since_it_may_have_to_launch(self) -> None:
        cheap = group("a", price=0.1, types=["c5.xlarge"])
        [step] = plan_for(nodes(1), cheap, warm("g", "Running"), memory=Memory(unavailable=(OFFERING,))).scale_out
        assert (step.group, step.fallbacks) == ("a", ())


def test_they_cost_nothing_before_they_are_taken_and_the_price_of_a_node_then() -> None:
    plan = plan_for(nodes(1), warm("g", count=2, price=0.2))
    assert (plan.summary.price_usd_h_before, plan.summary.price_usd_h_new) == (0, 0.2)


def test_what_was_raised_and_is_still_in_the_pool_is_coming_and_not_bought_twice() -> None:
    raised = warm("g", desired=2)
    plan = plan_for(nodes(2), raised, memory=Memory(requests=(open_request(),)))
    assert not plan.has_steps
    assert plan.summary.pods_on_coming_nodes == 2
