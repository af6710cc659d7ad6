"""How evenly pods must lie: over zones, nodes and any label."""

import pytest

from spillway.model.cluster import PodState, Taint
from tests.builders import desired, group, node, plan_for, pod, refusals
from tests.planner.topology.rules import HOST, labelled, spread

pytestmark = pytest.mark.feature("SO-08")

WEB = {"app": "web"}
ZONES = [group(name, zones=[f"us-east-1{name}"]) for name in "abc"]


def web(count: int, *constraints, cpu: str = "3", **rules):
    return pod("web", cpu=cpu, count=count, labels=WEB, spread=constraints or (spread(),), **rules)


def full(name: str, zone: str = "us-east-1a", of_ours: int = 0, **fields):
    """A node without room, with so many pods that the spread counts."""
    one = node(name, cpu="1", zone=zone, **fields)
    return [
        one,
        *(pod(f"{name}-{i}", cpu="100m", node=name, labels=WEB) for i in range(of_ours)),
        pod(f"{name}-rest", cpu="1", node=name),
    ]


class TestOverDomains:
    def test_all_groups_of_one_plan_are_seen_together(self):
        assert desired(plan_for(web(7), *ZONES)) == {"a": 3, "b": 2, "c": 2}

    def test_emptier_zones_first_where_the_spread_is_broken(self):
        assert desired(plan_for(*full("n", of_ours=2), web(4), *ZONES)) == {"b": 2, "c": 2}

    def test_a_zone_that_can_take_none_holds_the_others_down(self):
        plan = plan_for(*full("n", zone="us-east-1c"), web(6), *ZONES[:2])
        assert desired(plan) == {"a": 1, "b": 1}
        assert plan.unserved[0].pods == 4
        assert "us-east-1c has 0" in plan.unserved[0].reasons[0].text

    def test_a_zone_that_no_node_has_is_not_opened_where_it_would_hold_more_of_them_down_than_it_takes(self):
        a, b = group("a", zones=["us-east-1a"], max_size=5), group("b", zones=["us-east-1b"], max_size=1)
        plan = plan_for(web(6), a, b)
        assert desired(plan) == {"a": 5}
        assert plan.unserved[0].pods == 1

    def test_a_group_that_chooses_the_zone_serves_whom_any_of_its_zones_suits(self):
        wide = group("ab", zones=["us-east-1a", "us-east-1b"])
        there = [*full("na"), *full("nb", zone="us-east-1b")]
        assert desired(plan_for(*there, web(2), wide)) == {"ab": 1}  # the second might land beside the first
        for zone in wide.zones:
            other = next(one for one in wide.zones if one != zone)
            uneven = [*full("n", zone=zone, of_ours=1), *full("o", zone=other)]
            assert refusals(plan_for(*uneven, web(1), wide)) == {"ab": "topology_spread"}

    def test_a_larger_skew_leaves_more_room(self):
        assert desired(plan_for(*full("n", zone="us-east-1c"), web(6, spread(skew=2)), *ZONES[:2])) == {"a": 2, "b": 2}

    def test_while_there_are_fewer_domains_than_asked_for_none_has_more_than_the_skew(self):
        assert desired(plan_for(web(6, spread(min_domains=3)), *ZONES[:2])) == {"a": 1, "b": 1}
        assert desired(plan_for(web(6, spread(min_domains=2)), *ZONES[:2])) == {"a": 3, "b": 3}

    def test_who_is_not_counted_itself_keeps_off_where_there_are_too_many_of_those_that_are(self):
        there = [*full("na", of_ours=3), *full("nb", zone="us-east-1b")]
        other = pod("other", cpu="3", count=2, spread=(spread(),))
        assert desired(plan_for(*there, other, *ZONES[:2])) == {"b": 2}
        assert refusals(plan_for(*there, other, ZONES[0])) == {"a": "topology_spread"}

    def test_a_node_that_lacks_the_key_of_any_of_its_spreads_is_no_domain_of_the_others(self):
        racks = [group(name, zones=[f"us-east-1{name}"], labels={"rack": name}) for name in "ab"]
        both = (spread(), spread("rack", skew=9))
        assert desired(plan_for(*full("n", zone="us-east-1c"), web(4, *both), *racks)) == {"a": 2, "b": 2}
        with_rack = full("n", zone="us-east-1c", labels={"rack": "c"})
        assert desired(plan_for(*with_rack, web(4, *both), *racks)) == {"a": 1, "b": 1}

    def test_only_pods_with_the_same_value_of_a_key_count(self):
        old = [node("n", cpu="1"), *(pod(f"o{i}", cpu="100m", node="n", labels={**WEB, "rev": "1"}) for i in range(3))]
        ours = pod("web", cpu="3", count=3, labels={**WEB, "rev": "2"}, spread=(spread(match_label_keys=("rev",)),))
        assert desired(plan_for(*old, ours, *ZONES)) == {"a": 1, "b": 1, "c": 1}

    def test_nodes_that_its_selector_refuses_are_no_domains_unless_the_policy_ignores_it(self):
        pools = [group(name, zones=[f"us-east-1{name}"], labels={"pool": "web"}) for name in "ab"]
        gpu = full("gpu", zone="us-east-1c", labels={"pool": "gpu"})
        mine = {"node_selector": {"pool": "web"}}
        assert desired(plan_for(*gpu, web(4, **mine), *pools)) == {"a": 2, "b": 2}
        assert desired(plan_for(*gpu, web(4, spread(node_affinity_policy="Ignore"), **mine), *pools)) == {"a": 1, "b": 1}

    def test_nodes_with_a_taint_are_domains_unless_the_policy_honours_it(self):
        closed = full("x", zone="us-east-1c", taints=[Taint(key="closed", effect="NoSchedule")])
        assert desired(plan_for(*closed, web(4), *ZONES[:2])) == {"a": 1, "b": 1}
        assert desired(plan_for(*closed, web(4, spread(node_taints_policy="Honor")), *ZONES[:2])) == {"a": 2, "b": 2}

    def test_pods_of_other_namespaces_and_those_that_terminate_do_not_count(self):
        others = [
            node("n", cpu="1"),
            pod("o", cpu="100m", count=2, node="n", labels=WEB, namespace="other"),
            pod("t", cpu="100m", count=2, node="n", labels=WEB, state=PodState.TERMINATING),
        ]
        assert desired(plan_for(*others, web(3), *ZONES)) == {"a": 1, "b": 1, "c": 1}

    def test_over_a_key_that_no_node_has_nobody_can_be_spread(self):
        plan = plan_for(web(1, spread("nowhere")), ZONES[0])
        assert not plan.has_steps
        assert refusals(plan) == {"a": "topology_spread"}

    def test_a_wish_and_a_selector_that_finds_others_only_forbid_nothing(self):
        assert desired(plan_for(web(2, spread(when="ScheduleAnyway"), cpu="1"), *ZONES)) == {"a": 1}
        assert desired(plan_for(web(2, spread(app="db"), cpu="1"), ZONES[0])) == {"a": 1}


class TestOverNodes:
    def test_as_many_a_node_as_the_skew_says_beside_a_full_one_that_has_none(self):
        assert desired(plan_for(*full("n"), web(4, spread(HOST), cpu="500m"), ZONES[0])) == {"a": 4}
        assert desired(plan_for(*full("n"), web(4, spread(HOST, skew=2), cpu="500m"), ZONES[0])) == {"a": 2}

    def test_as_many_nodes_as_domains_are_asked_for_before_any_has_more_than_the_skew(self):
        assert desired(plan_for(web(4, spread(HOST, min_domains=3), cpu="500m"), ZONES[0])) == {"a": 3}
        assert desired(plan_for(web(4, spread(HOST), cpu="500m"), ZONES[0])) == {"a": 1}

    def test_and_no_further_nodes_than_hold_them_once_there_are_so_many_domains(self):
        large = group("large", max_size=99)
        assert desired(plan_for(web(40, spread(HOST, min_domains=3), cpu="500m"), large)) == {"large": 5}

    def test_nor_for_the_sake_of_others_that_wait(self):
        """A node that others need, too, takes as many as the rest."""
        large = group("large", max_size=99)
        assert desired(plan_for(web(40, spread(HOST), cpu="500m"), pod("x", cpu="1"), large)) == {"large": 6}

    def test_the_cheaper_of_few_full_nodes_and_of_many_that_hold_the_skew_is_bought(self):
        """Two apps that lie on few nodes each lie on different ones, and more are bought for what they lack of each other."""
        apps = [pod(app, cpu="500m", count=8, labels={"app": app}, spread=(spread(HOST, app=app),)) for app in ("web", "api")]
        sizes = [group("small", max_size=99), group("large", cpu="16", price=0.8, max_size=99)]
        assert desired(plan_for(*apps, pod("x", cpu="2", count=3), *sizes)) == {"small": 8}

    def test_nodes_that_have_one_each_take_the_next_ones(self):
        live = [node(f"n{i}") for i in range(3)]
        running = [pod(f"r{i}", cpu="1", node=f"n{i}", labels=WEB) for i in range(3)]
        assert not plan_for(*live, *running, web(5, spread(HOST), cpu="500m"), ZONES[0]).has_steps

    def test_new_nodes_are_filled_as_far_as_the_full_ones_are(self):
        assert desired(plan_for(*full("n", of_ours=1), web(6, spread(HOST), cpu="500m"), ZONES[0])) == {"a": 3}

    def test_new_nodes_for_others_stay_without_and_hold_them_down(self):
        big = pod("big", cpu="4")
        assert desired(plan_for(*full("n", of_ours=1), big, web(4, spread(HOST), cpu="500m"), ZONES[0])) == {"a": 5}

    def test_over_zones_and_nodes_at_once(self):
        both = (spread(), spread(HOST, skew=2))
        there = [one for name in "abc" for one in full(f"n{name}", zone=f"us-east-1{name}")]
        assert desired(plan_for(*there, web(9, *both, cpu="500m"), *ZONES)) == {"a": 2, "b": 2, "c": 2}


def test_order_of_input_never_matters():
    pods = [web(5), pod("x", labels=WEB, spread=(spread(selector=labelled(app="web")),)), pod("y", cpu="2", count=3)]
    assert desired(plan_for(*pods, *ZONES)) == desired(plan_for(*reversed(pods), *reversed(ZONES)))


class TestPodsThatOthersCount:
    """Who has no spread goes wherever it likes, and counts where it is."""

    def test_they_come_after_those_that_count_them(self):
        """They lie three in one zone, which the spread would not have: it had its pods placed before."""
        plan = plan_for(web(2), pod("plain", cpu="1", count=3, labels=WEB), *ZONES[:2])
        assert not plan.unserved
        spread_first = plan.placements[:2]
        assert {place.target for place in spread_first} == {"us-east-1/a#0", "us-east-1/b#0"}
        assert {place.shape for place in spread_first}.isdisjoint(place.shape for place in plan.placements[2:])

    def test_of_higher_priority_they_come_first_and_the_spread_takes_what_they_leave(self):
        heavy = pod("plain", cpu="3", count=3, labels=WEB, priority=10, node_selector={"zone": "a"})
        groups = [group(name, zones=[f"us-east-1{name}"], labels={"zone": name}) for name in "ab"]
        plan = plan_for(heavy, web(3), *groups)
        assert desired(plan) == {"a": 3, "b": 3}
        assert not plan.unserved
