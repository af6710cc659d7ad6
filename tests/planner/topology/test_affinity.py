"""Who must be beside whom, and who must be apart: on nodes, in zones, by any label."""

import pytest

from spillway import planner
from spillway.model.cluster import PodState
from spillway.model.memory import Memory
from spillway.model.policy import Policy
from spillway.model.workloads import Namespace
from tests.builders import NOW, cluster, desired, fleet, group, node, places, plan_for, pod, refusals
from tests.planner.topology.rules import HOST, ZONE, labelled, term

pytestmark = pytest.mark.feature("SO-07")

A = group("a", zones=["us-east-1a"])
B = group("b", zones=["us-east-1b"])
AB = group("ab", zones=["us-east-1a", "us-east-1b"])
DB = {"app": "db"}


def unserved(plan):
    return {one.examples[0]: one.pods for one in plan.unserved}


class TestApart:
    def test_pods_that_avoid_their_own_kind_get_a_node_each(self):
        assert desired(plan_for(pod(count=3, labels=DB, pod_anti_affinity=term()), A)) == {"a": 3}

    def test_and_nodes_of_the_size_that_one_needs(self):
        """By their amounts a large one would hold all of them for less."""
        small, large = group("small", cpu="2"), group("large", cpu="8", price=0.5)
        assert desired(plan_for(pod(cpu="1", count=4, labels=DB, pod_anti_affinity=term()), small, large)) == {"small": 4}

    def test_pods_that_avoid_others_share_a_node_among_themselves(self):
        shy = pod("shy", cpu="1", count=3, pod_anti_affinity=term())
        assert desired(plan_for(shy, pod("db", labels=DB), A)) == {"a": 2}

    @pytest.mark.parametrize(("cpu", "count"), [("1", 4), ("2", 2)])
    def test_and_nodes_of_the_size_that_each_kind_needs(self, cpu: str, count: int):
        middle, large = group("middle", cpu="4"), group("large", cpu="8", price=0.35)
        shy, others = pod("shy", cpu=cpu, count=count, pod_anti_affinity=term()), pod("db", cpu="1", count=4, labels=DB)
        assert desired(plan_for(shy, others, middle, large)) == {"middle": 2}

    def test_one_that_would_rather_be_apart_is_not_kept_apart(self):
        assert desired(plan_for(pod(cpu="1", count=2, labels=DB, pod_anti_affinity=term(weight=50)), A)) == {"a": 1}

    def test_a_running_pod_keeps_away_whom_it_avoids_though_the_newcomer_says_nothing(self):
        live = node("n1")
        shy = pod("shy", node="n1", pod_anti_affinity=term())
        assert desired(plan_for(live, shy, pod("db", labels=DB), group("g", nodes=[live]))) == {"g": 2}
        assert desired(plan_for(live, shy, pod("web"), group("g", nodes=[live]))) == {}

    def test_a_pod_that_terminates_is_still_in_the_way(self):
        live = node("n1")
        going = pod("old", node="n1", labels=DB, state=PodState.TERMINATING)
        shy = pod("shy", pod_anti_affinity=term())
        assert desired(plan_for(live, going, shy, group("g", nodes=[live]))) == {"g": 2}

    def test_one_a_zone_where_they_avoid_their_own_kind_there(self):
        plan = plan_for(pod(count=3, labels=DB, pod_anti_affinity=term(ZONE)), A, B)
        assert desired(plan) == {"a": 1, "b": 1}
        assert unserved(plan) == {"default/p-2": 1}

    def test_a_zone_that_a_running_pod_avoids_is_left_out(self):
        live = node("n1", cpu="1")
        shy = pod("shy", cpu="1", node="n1", pod_anti_affinity=term(ZONE))
        assert desired(plan_for(live, shy, pod("db", labels=DB), A, B)) == {"b": 1}

    def test_two_kinds_that_wait_keep_to_a_zone_each(self):
        shy = pod("shy", count=2, pod_anti_affinity=term(ZONE))
        assert desired(plan_for(shy, pod("db", count=2, labels=DB), A, B)) == {"a": 1, "b": 1}

    def test_by_any_label_and_nodes_without_it_are_in_nobodys_way(self):
        racks = [group(name, labels={"rack": name}) for name in ("r1", "r2")]
        shy = pod(count=3, labels=DB, pod_anti_affinity=term("rack"))
        assert desired(plan_for(shy, *racks)) == {"r1": 1, "r2": 1}
        assert desired(plan_for(shy, group("plain"))) == {"plain": 1}

    def test_a_group_that_chooses_the_zone_serves_whom_any_of_its_zones_suits(self):
        """The first one, wherever it lands; the second might land beside it."""
        plan = plan_for(pod(count=2, labels=DB, pod_anti_affinity=term(ZONE)), AB)
        assert desired(plan) == {"ab": 1}
        assert unserved(plan) == {"default/p-1": 1}

    @pytest.mark.parametrize("zone", AB.zones)
    def test_and_not_whom_any_of_them_does_not_suit(self, zone: str):
        live = node("n1", cpu="1", zone=zone)
        plan = plan_for(live, pod("db", cpu="1", node="n1", labels=DB), pod("shy", pod_anti_affinity=term(ZONE)), AB)
        assert refusals(plan) == {"ab": "pod_anti_affinity"}

    def test_daemons_of_a_new_node_keep_away_who_avoids_them(self):
        agents = [pod("agent", cpu="100m", labels=DB, owner="DaemonSet")]
        assert refusals(plan_for(pod("shy", pod_anti_affinity=term()), A, daemons=agents)) == {"a": "pod_anti_affinity"}


class TestBeside:
    def test_one_that_would_rather_be_beside_others_goes_without(self):
        assert desired(plan_for(pod("p", pod_affinity=term(weight=50)), A)) == {"a": 1}

    def test_on_the_node_of_a_running_pod_while_there_is_room(self):
        live = node("n1")
        plan = plan_for(live, pod("db", node="n1", labels=DB), pod("p", cpu="3", pod_affinity=term()), A)
        assert not plan.has_steps
        assert not plan.unserved

    def test_not_on_a_new_node_when_there_is_none(self):
        live = node("n1")
        plan = plan_for(live, pod("db", cpu="2", node="n1", labels=DB), pod("p", cpu="3", pod_affinity=term()), A)
        assert not plan.has_steps
        assert refusals(plan) == {"a": "pod_affinity"}

    def test_in_the_zone_of_a_running_pod_on_a_new_node(self):
        live = node("n1", cpu="1", zone="us-east-1b")
        assert desired(plan_for(live, pod("db", cpu="1", node="n1", labels=DB), pod("p", pod_affinity=term(ZONE)), A, B)) == {
            "b": 1
        }

    def test_beside_pods_that_wait_too_on_one_new_node(self):
        plan = plan_for(pod("p", cpu="1", count=2, pod_affinity=term()), pod("db", cpu="2", labels=DB), A)
        assert desired(plan) == {"a": 1}
        assert not plan.unserved

    def test_each_that_is_looked_for_takes_as_many_as_fit_beside_it(self):
        plan = plan_for(pod("p", cpu="1", count=4, pod_affinity=term()), pod("db", cpu="2", count=3, labels=DB), A)
        assert desired(plan) == {"a": 3}
        assert not plan.unserved

    def test_the_first_of_its_kind_may_be_alone_and_the_others_join_it(self):
        own = pod("p", cpu="1", count=6, labels=DB, pod_affinity=term())
        plan = plan_for(own, A)
        assert desired(plan) == {"a": 1}
        assert unserved(plan) == {"default/p-4": 2}

    def test_to_the_node_that_holds_most_of_them_also_where_a_smaller_is_cheaper(self):
        own = pod("p", cpu="1", count=6, labels=DB, pod_affinity=term())
        plan = plan_for(own, A, group("large", cpu="8", price=0.5))
        assert (desired(plan), unserved(plan)) == ({"large": 1}, {})

    def test_in_a_zone_that_nobody_chooses_they_share_the_one_node_of_which_it_is_sure(self):
        plan = plan_for(pod("p", cpu="1", count=6, labels=DB, pod_affinity=term(ZONE)), AB)
        assert (desired(plan), unserved(plan)) == ({"ab": 1}, {"default/p-4": 2})

    def test_the_first_meets_all_its_terms_itself(self):
        both = (*term(app="db"), *term(selector=labelled(tier="gold")))
        assert unserved(plan_for(pod("p", labels=DB, pod_affinity=both), A)) == {"default/p": 1}
        assert not plan_for(pod("p", labels={**DB, "tier": "gold"}, pod_affinity=both), A).unserved

    def test_by_any_label_and_a_node_without_it_is_no_place_for_the_first_either(self):
        own = pod("p", labels=DB, pod_affinity=term("rack"))
        assert desired(plan_for(own, group("r1", labels={"rack": "r1"}))) == {"r1": 1}
        assert refusals(plan_for(own, group("plain"))) == {"plain": "pod_affinity"}

    def test_one_that_runs_where_the_label_is_not_keeps_nobody_from_being_the_first(self):
        live = node("n1", cpu="1")
        own = pod("p", labels=DB, pod_affinity=term("rack"))
        plan = plan_for(live, pod("db", cpu="1", node="n1", labels=DB), own, group("r1", labels={"rack": "r1"}))
        assert desired(plan) == {"r1": 1}

    def test_all_of_a_kind_go_to_the_zone_that_holds_most_of_them(self):
        own = pod("p", cpu="4", count=3, labels=DB, pod_affinity=term(ZONE))
        assert desired(plan_for(own, group("a", zones=["us-east-1a"], max_size=2), B)) == {"b": 3}

    def test_of_zones_that_hold_as_many_to_the_cheapest(self):
        own = pod("p", cpu="4", count=3, labels=DB, pod_affinity=term(ZONE))
        assert desired(plan_for(own, group("a", zones=["us-east-1a"], price=0.4), B)) == {"b": 3}

    def test_who_looks_for_nobody_that_is_there_waits_and_costs_nothing(self):
        plan = plan_for(pod("p", pod_affinity=term(ZONE)), A)
        assert not plan.has_steps
        assert refusals(plan) == {"a": "pod_affinity"}
        assert "app=db, which are nowhere" in plan.unserved[0].reasons[0].text

    def test_a_pod_meets_all_terms_at_once(self):
        live = [node("n1"), node("n2")]
        both = (*term(app="db"), *term(selector=labelled(tier="gold")))
        running = [pod("db", node="n1", labels=DB), pod("gold", node="n1", labels={"tier": "gold"})]
        assert plan_for(*live, *running, pod("p", pod_affinity=both)).unserved
        assert not plan_for(*live, pod("x", node="n2", labels={**DB, "tier": "gold"}), pod("p", pod_affinity=both)).unserved


class TestWhoseTheyAre:
    """Namespaces and keys of labels narrow or widen whom a rule speaks of."""

    def served(self, *, theirs="team-a", spaces=(), mine=None, other=None, **fields) -> bool:
        labels = {"app": "db", **(other or {})}
        seen = cluster(
            node("n1"),
            pod("db", node="n1", namespace=theirs, labels=labels),
            pod("p", labels=mine or {}, pod_affinity=term(HOST, **fields)),
            namespaces=tuple(Namespace(name=name, labels=of) for name, of in spaces),
        )
        return bool(places(planner.plan(seen, fleet(), Memory(), Policy(), NOW), seen))

    def test_its_own_namespace_where_none_is_named(self):
        assert self.served(theirs="default")
        assert not self.served()

    def test_those_that_are_listed(self):
        assert self.served(namespaces=("team-a",))
        assert not self.served(namespaces=("team-b",))
        assert not self.served(theirs="default", namespaces=("team-b",))

    def test_those_that_a_selector_finds_or_all(self):
        spaces = [("team-a", {"kind": "data"}), ("default", {})]
        assert self.served(spaces=spaces, namespace_selector=labelled(kind="data"))
        assert not self.served(spaces=spaces, namespace_selector=labelled(kind="web"))
        assert self.served(namespace_selector=())  # also one of which nobody knows the labels
        assert self.served(spaces=spaces, namespaces=("team-a",), namespace_selector=labelled(kind="web"))

    def test_with_the_same_value_of_a_key_or_another(self):
        here = {"theirs": "default", "mine": {"rev": "1"}}
        assert self.served(**here, other={"rev": "1"}, match_label_keys=("rev",))
        assert not self.served(**here, other={"rev": "2"}, match_label_keys=("rev",))
        assert self.served(**here, other={"rev": "2"}, mismatch_label_keys=("rev",))
        assert not self.served(**here, other={"rev": "1"}, mismatch_label_keys=("rev",))
        assert self.served(theirs="default", other={"rev": "2"}, match_label_keys=("rev",))

    def test_nobody_without_a_selector(self):
        assert not self.served(theirs="default", selector=None)
        assert self.served(theirs="default", selector=())


def test_which_zone_is_taken_is_said():
    live = node("n1", cpu="1")
    plan = plan_for(live, pod("db", cpu="1", node="n1", labels=DB), pod("p", pod_anti_affinity=term(ZONE)), A)
    assert plan.unserved[0].reasons[0].text == "avoids pods app=db, of which 1 is in us-east-1a"
