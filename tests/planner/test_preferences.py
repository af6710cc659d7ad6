"""What pods would rather have: kept while it costs nothing, given up in a known order, or ignored."""

from typing import Any

import pytest

from spillway.model.cluster import Taint
from spillway.model.plan import Plan
from spillway.model.selector import NodeSelectorTerm, PreferredTerm, Requirement
from tests.builders import Pods, ago, cluster, desired, group, node, places, plan_for, pod, policy, removed, tolerate
from tests.planner.topology.rules import HOST, ZONE, spread, term

pytestmark = pytest.mark.feature("SO-09")

SOFT = Taint(key="reserved", value="db", effect="PreferNoSchedule")
IGNORE = policy(pods={"preference_policy": "ignore"})
A, B, C = "us-east-1a", "us-east-1b", "us-east-1c"


def rather(key: str, *values: str, weight: int = 1) -> PreferredTerm:
    return PreferredTerm(
        weight=weight, term=NodeSelectorTerm(expressions=(Requirement(key=key, operator="In", values=values),))
    )


def prefers(zone: str, weight: int = 1) -> dict[str, Any]:
    return {"preferred_nodes": (rather(ZONE, zone, weight=weight),)}


def where(*objects: Any, **more: Any) -> dict[str, str]:
    """Node, or group of the new node, by pod."""
    seen = cluster(*(one for one in objects if not hasattr(one, "min_size")))
    return {name.partition("/")[2]: place for name, place in places(plan_for(*objects, **more), seen).items()}


def why(plan: Plan) -> str:
    return plan.scale_out[0].reason.text


class TestNewNodes:
    def test_of_groups_of_one_price_the_one_in_the_preferred_zone_grows(self) -> None:
        groups = [group(name, zones=[zone]) for name, zone in (("ga", A), ("gb", B), ("gc", C))]
        assert desired(plan_for(pod(**prefers(B)), *groups)) == {"gb": 1}

    def test_the_weights_of_the_terms_that_hold_are_summed(self) -> None:
        terms = (rather(ZONE, A, weight=60), rather("disk", "ssd", weight=40), rather("arch", "arm", weight=30))
        groups = [group("ga", zones=[A]), group("gb", zones=[B], labels={"disk": "ssd", "arch": "arm"})]
        assert desired(plan_for(pod(preferred_nodes=terms), *groups)) == {"gb": 1}

    def test_a_soft_taint_is_avoided_by_those_who_do_not_tolerate_it(self) -> None:
        groups = [group("a-soft", taints=[SOFT]), group("open")]
        assert desired(plan_for(pod(), *groups)) == {"open": 1}
        assert desired(plan_for(pod(tolerations=(tolerate("reserved", "db"),)), *groups)) == {"a-soft": 1}
        assert desired(plan_for(pod(), groups[0])) == {"a-soft": 1}

    def test_a_soft_taint_that_a_node_sheds_while_it_starts_is_none(self) -> None:
        rules = policy(nodes={"startup_taints": ["reserved"]})
        assert desired(plan_for(pod(), group("a-soft", taints=[SOFT]), group("open"), rules=rules)) == {"a-soft": 1}

    def test_a_soft_spread_goes_where_the_fewest_are(self) -> None:
        n1 = node("n1", cpu="2", zone=A)
        web = pod("web", labels={"app": "web"}, count=2, cpu="3", spread=(spread(when="ScheduleAnyway"),))
        groups = [group("ga", nodes=[n1], zones=[A]), group("gb", zones=[B]), group("gc", zones=[C])]
        running = [pod(f"r{number}", labels={"app": "web"}, node="n1") for number in range(2)]
        assert desired(plan_for(n1, *running, web, *groups)) == {"gb": 1, "gc": 1}

    def test_a_soft_spread_over_more_nodes_than_any_zone_has_stays_even(self) -> None:
        web = pod("web", labels={"app": "web"}, count=7, cpu="3", spread=(spread(when="ScheduleAnyway"),))
        groups = [group(name, zones=[zone]) for name, zone in (("ga", A), ("gb", B), ("gc", C))]
        only_b = pod("other", cpu="3", count=2, node_selector={ZONE: B})  # tells the zones apart
        found = desired(plan_for(web, only_b, *groups))
        assert sorted([found["ga"], found["gb"] - 2, found["gc"]]) == [2, 2, 3]

    def test_a_preferred_distance_is_kept_to_pods_that_run(self) -> None:
        n1 = node("n1", cpu="1", zone=A)
        apart = pod("p", cpu="3", pod_anti_affinity=term(key=ZONE, weight=50))
        groups = [group("ga", nodes=[n1], zones=[A]), group("gb", zones=[B])]
        assert desired(plan_for(n1, pod("db", labels={"app": "db"}, node="n1"), apart, *groups)) == {"gb": 1}

    def test_the_preferences_of_pods_that_run_count_too(self) -> None:
        n1 = node("n1", cpu="1", zone=A)
        shy = pod("shy", node="n1", pod_anti_affinity=term(key=ZONE, weight=50))
        groups = [group("ga", nodes=[n1], zones=[A]), group("gb", zones=[B])]
        assert desired(plan_for(n1, shy, pod("db", cpu="3", labels={"app": "db"}), *groups)) == {"gb": 1}

    def test_a_preferred_nearness_is_kept_to_pods_that_run(self) -> None:
        n1 = node("n1", cpu="1", zone=B)
        near = pod("p", cpu="3", pod_affinity=term(key=ZONE, weight=50))
        groups = [group("ga", zones=[A]), group("gb", nodes=[n1], zones=[B])]
        assert desired(plan_for(n1, pod("db", labels={"app": "db"}, node="n1"), near, *groups)) == {"gb": 2}

    def test_pods_that_would_rather_be_apart_are_mixed_with_others_on_the_nodes_that_come_anyway(self) -> None:
        web = pod("web", labels={"app": "web"}, count=4, spread=(spread(key=HOST, when="ScheduleAnyway"),))
        found = where(web, pod("q", count=4), group("g"))
        assert sorted(found.values()) == ["g#0"] * 4 + ["g#1"] * 4
        assert [sum(place == new for name, place in found.items() if name.startswith("web")) for new in ("g#0", "g#1")] == [
            2,
            2,
        ]

    def test_pods_of_one_need_that_prefer_different_zones_change_places(self) -> None:
        pods = [pod(f"p{number}", cpu="2", **prefers((A, B)[number % 2])) for number in range(4)]
        found = where(*pods, group("ga", zones=[A]), group("gb", zones=[B]))
        assert {name: place.partition("#")[0] for name, place in found.items()} == {
            "p0": "ga", "p1": "gb", "p2": "ga", "p3": "gb",
        }  # fmt: skip

    def test_what_is_kept_and_what_is_given_up_is_said(self) -> None:
        plan = plan_for(pod(count=4, cpu="3", **prefers(B)), group("ga", zones=[A]), group("gb", zones=[B], max_size=1))
        assert {step.group: step.reason.text.partition("; ")[2] for step in plan.scale_out} == {
            "ga": "preferred node affinity is given up",
            "gb": "preferred node affinity is kept",
        }
        assert "avoidance of PreferNoSchedule is given up" in why(plan_for(pod(), group("g", taints=[SOFT])))
        assert ";" not in why(plan_for(pod(), group("g")))

    def test_wishes_about_other_pods_are_said_to_be_given_up_too(self) -> None:
        n1, n2 = node("n1", cpu="1", zone=A), node("n2", cpu="1", zone=B)
        full = [pod("r", labels={"app": "web"}, node="n1"), pod("s", node="n2")]
        web = pod("web", cpu="3", labels={"app": "web"}, spread=(spread(when="ScheduleAnyway"),))
        assert "spread with ScheduleAnyway is given up" in why(plan_for(n1, n2, *full, web, group("ga", zones=[A])))
        apart = pod("p", cpu="3", pod_anti_affinity=term(key=ZONE, app="web", weight=50))
        assert "preferred pod anti-affinity is given up" in why(plan_for(n1, n2, *full, apart, group("ga", zones=[A])))
        assert "preferred pod anti-affinity is kept" in why(plan_for(n1, n2, *full, apart, group("gb", zones=[B])))


class TestFreeRoom:
    def test_of_nodes_with_room_the_preferred_one_is_taken(self) -> None:
        n1, n2 = node("n1", zone=A), node("n2", zone=B)
        busy = [pod(f"r{name}", cpu="1", node=name) for name in ("n1", "n2")]
        assert where(n1, n2, *busy, pod(**prefers(B)))["p"] == "n2"
        assert where(n1, n2, *busy, pod(**prefers(A)))["p"] == "n1"

    def test_who_prefers_nothing_makes_room(self) -> None:
        n1, n2 = node("n1", zone=A, cpu="2"), node("n2", zone=B, cpu="2")
        busy = [pod(f"r{name}", cpu="1", node=name) for name in ("n1", "n2")]
        found = where(n1, n2, *busy, pod("first", age_s=900), pod("p", **prefers(A)))
        assert found == {"first": "n2", "p": "n1"}

    def test_a_node_with_a_soft_taint_is_taken_last(self) -> None:
        n1, n2 = node("n1", taints=[SOFT]), node("n2")
        busy = [pod(f"r{name}", cpu="1", node=name) for name in ("n1", "n2")]
        assert sorted(where(n1, n2, *busy, pod(count=4)).values()) == ["n1", "n2", "n2", "n2"]

    def test_of_empty_nodes_the_preferred_one_is_taken(self) -> None:
        assert where(node("n1", zone=A), node("n2", zone=B), pod(**prefers(B))) == {"p": "n2"}

    def test_of_cordoned_nodes_the_preferred_one_is_given_back(self) -> None:
        nodes = [node(f"n{number}", zone=zone, cordon="plan-1", unschedulable=True) for number, zone in enumerate((A, B))]
        groups = [
            group(f"g{number}", nodes=[one], zones=[zone]) for number, (one, zone) in enumerate(zip(nodes, (A, B), strict=True))
        ]
        assert where(*nodes, pod(**prefers(B)), *groups) == {"p": "n1"}

    def test_no_further_node_is_put_to_use(self) -> None:
        """Empty, it can go again."""
        groups = [
            group(f"g{number}", zones=[zone], desired=1, launching=1, launching_since=ago(60))
            for number, zone in enumerate((A, B))
        ]
        assert where(pod("p", **prefers(B)), pod("q", **prefers(A, 100)), *groups) == {"p": "g0#0", "q": "g0#0"}

    def test_pods_that_would_rather_be_apart_are_dealt_out(self) -> None:
        n1, n2 = node("n1"), node("n2")
        busy = [pod(f"r{name}", cpu="100m", node=name) for name in ("n1", "n2")]
        web = pod("web", labels={"app": "web"}, cpu="500m", count=4, spread=(spread(key=HOST, when="ScheduleAnyway"),))
        assert sorted(where(n1, n2, *busy, web).values()) == ["n1", "n1", "n2", "n2"]

    def test_who_had_no_place_gets_the_room_that_is_left_behind(self) -> None:
        n1, n2 = node("n1", zone=A, cpu="3"), node("n2", zone=B, cpu="3")
        busy = [pod(f"r{name}", cpu="1", node=name) for name in ("n1", "n2")]
        bound = pod("bound", node_selector={ZONE: B})
        large = pod("large", cpu="2", age_s=60)
        assert where(n1, n2, *busy, pod(**prefers(B)), bound, large) == {"p": "n2", "bound": "n2", "large": "n1"}

    def test_of_coming_nodes_the_preferred_one_is_taken(self) -> None:
        groups = [
            group(f"g{number}", zones=[zone], desired=1, launching=1, launching_since=ago(60))
            for number, zone in enumerate((A, B))
        ]
        assert where(pod(**prefers(B)), *groups) == {"p": "g1#0"}


class TestItCostsNothing:
    def test_a_dearer_group_is_not_taken(self) -> None:
        assert desired(plan_for(pod(**prefers(B)), group("ga", zones=[A]), group("gb", zones=[B], price=0.21))) == {"ga": 1}

    def test_no_more_nodes_are_bought(self) -> None:
        groups = [group("large", zones=[A], cpu="8", price=0.2), group("small", zones=[B], cpu="4", price=0.2)]
        assert desired(plan_for(pod(count=8, **prefers(B)), *groups)) == {"large": 1}

    def test_room_that_is_free_goes_before_a_new_node(self) -> None:
        n1 = node("n1", zone=A)
        assert not plan_for(n1, pod(**prefers(B)), group("gb", zones=[B])).scale_out

    def test_nobody_is_left_unserved(self) -> None:
        plan = plan_for(pod(count=3, cpu="3", **prefers(B)), group("ga", zones=[A]), group("gb", zones=[B], max_size=1))
        assert desired(plan) == {"ga": 2, "gb": 1}
        assert not plan.unserved

    def test_who_can_go_nowhere_else_keeps_the_room(self) -> None:
        bound = pod("bound", cpu="3", age_s=60, node_selector={ZONE: B})
        found = where(pod("p", cpu="3", **prefers(B)), bound, group("ga", zones=[A]), group("gb", zones=[B], max_size=1))
        assert found == {"p": "ga#0", "bound": "gb#0"}

    def test_room_on_a_node_with_accelerators_is_left_to_those_who_ask_for_them(self) -> None:
        n1, n2 = node("n1", zone=A), node("n2", zone=B, gpu=2)
        busy = [pod(f"r{name}", cpu="1", node=name) for name in ("n1", "n2")]
        assert where(n1, n2, *busy, pod(**prefers(B)), pod("train", gpu=1)) == {"p": "n1", "train": "n2"}

    def test_an_empty_node_that_would_go_is_not_held_back(self) -> None:
        """n1 has not been idle for long enough, n2 has."""
        n1, n2 = node("n1", zone=A, age_s=86400), node("n2", zone=B)
        groups = [group("ga", nodes=[n1], zones=[A], min_size=1), group("gb", nodes=[n2], zones=[B])]
        plan = plan_for(n1, n2, pod(**prefers(B)), *groups, idle_since=ago(3600))
        assert removed(plan) == ["n2"]

    def test_the_order_of_regions_goes_first(self) -> None:
        west = pod(preferred_nodes=(rather("topology.kubernetes.io/region", "us-west-2"),))
        groups = [group("east"), group("west", region="us-west-2")]
        assert desired(plan_for(west, *groups, rules=policy(regions=["us-east-1", "us-west-2"]))) == {"east": 1}

    def test_limits_of_groups_hold(self) -> None:
        rules = policy(groups={"gb": {"scale_out": {"limits": {"nodes": 1}}}})
        groups = [group("ga", zones=[A]), group("gb", zones=[B])]
        assert desired(plan_for(pod(count=3, cpu="3", **prefers(B)), *groups, rules=rules)) == {"ga": 2, "gb": 1}

    def test_a_node_that_is_raised_to_its_min_keeps_its_pods(self) -> None:
        groups = [group("ga", zones=[A], min_size=1), group("gb", zones=[B])]
        assert desired(plan_for(pod(**prefers(B)), *groups)) == {"ga": 1}

    def test_what_pods_demand_of_each_other_goes_first(self) -> None:
        web = pod("web", labels={"app": "web"}, count=4, cpu="3", spread=(spread(),), **prefers(B))
        assert desired(plan_for(web, group("ga", zones=[A]), group("gb", zones=[B]))) == {"ga": 2, "gb": 2}

    def test_who_is_spread_stays_even_on_free_room(self) -> None:
        n1, n2 = node("n1", zone=A), node("n2", zone=B)
        busy = [pod("r", node="n1"), pod("s", node="n2", labels={"app": "web"})]
        web = pod("web", labels={"app": "web"}, spread=(spread(),), **prefers(B))
        assert where(n1, n2, *busy, web)["web"] == "n1"

    def test_no_node_comes_in_a_zone_that_would_hold_a_spread_down(self) -> None:
        """A node in the third zone would be a domain without a pod, and the others may have no more than one above it."""
        n1, n2 = node("n1", cpu="2", zone=A), node("n2", cpu="2", zone=B)
        running = [pod(f"r{n}", cpu="1", labels={"app": "web"}, node=("n1", "n2")[n % 2]) for n in range(4)]
        web = pod("web", cpu="6", labels={"app": "web"}, count=2, spread=(spread(),))
        large = [group(f"large-{zone[-1]}", cpu="8", price=0.4, zones=[zone]) for zone in (A, B)]
        small = [group(f"small-{zone[-1]}", price=0.1, zones=[zone]) for zone in (A, C)]
        plan = plan_for(n1, n2, *running, web, pod(cpu="3", **prefers(C)), *large, *small)
        assert desired(plan) == {"large-a": 1, "large-b": 1, "small-a": 1}

    def test_within_what_pods_demand_of_each_other_preferences_are_kept(self) -> None:
        web = pod("web", labels={"app": "web"}, count=2, cpu="3", spread=(spread(),), preferred_nodes=(rather("disk", "ssd"),))
        groups = [
            group(f"g{disk}{zone[-1]}", zones=[zone], labels={"disk": disk}) for disk in ("hdd", "ssd") for zone in (A, B)
        ]
        assert desired(plan_for(web, *groups)) == {"gssda": 1, "gssdb": 1}


class TestWhatIsGivenUpFirst:
    """Nearness to pods, then node affinity, then spread, and last to keep off soft taints."""

    def test_node_affinity_before_a_soft_taint(self) -> None:
        groups = [group("ga", zones=[A], taints=[SOFT]), group("gb", zones=[B])]
        assert desired(plan_for(pod(**prefers(A, 100)), *groups)) == {"gb": 1}

    def test_node_affinity_before_a_spread(self) -> None:
        n1 = node("n1", cpu="1", zone=A)
        web = pod("web", cpu="3", labels={"app": "web"}, spread=(spread(when="ScheduleAnyway"),), **prefers(A, 100))
        groups = [group("ga", nodes=[n1], zones=[A]), group("gb", zones=[B])]
        assert desired(plan_for(n1, pod("r", labels={"app": "web"}, node="n1"), web, *groups)) == {"gb": 1}

    def test_nearness_to_pods_before_node_affinity(self) -> None:
        n1 = node("n1", cpu="1", zone=A)
        near = pod("p", cpu="3", pod_affinity=term(key=ZONE, weight=100), **prefers(B))
        groups = [group("ga", nodes=[n1], zones=[A]), group("gb", zones=[B])]
        assert desired(plan_for(n1, pod("db", labels={"app": "db"}, node="n1"), near, *groups)) == {"gb": 1}


@pytest.mark.parametrize(
    ("pods", "groups"),
    [
        (pod(**prefers(B)), [group("ga", zones=[A]), group("gb", zones=[B])]),
        (pod(), [group("ga", taints=[SOFT]), group("gb")]),
    ],
)
def test_a_policy_may_ignore_preferences(pods: Pods, groups: list[Any]) -> None:
    assert desired(plan_for(pods, *groups)) == {"gb": 1}
    plan = plan_for(pods, *groups, rules=IGNORE)
    assert desired(plan) == {"ga": 1}
    assert "prefer" not in why(plan).lower()
