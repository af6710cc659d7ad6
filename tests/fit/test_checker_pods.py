"""The checker knows what pods say of each other, as the scheduler's documentation and code have it."""

from typing import Any

import pytest

from tests.fit.checker import left_over, refused
from tests.fit.manifests import HOSTNAME, ZONE, apart, app, beside, namespace, node, on_nodes, pod, spread, term, where
from tests.fit.test_checker_nodes import why

A, B = node("n1", "a"), node("n2", "b")
AFFINITY, SPREAD = ["InterPodAffinity"], ["PodTopologySpread"]


def test_a_pod_goes_where_one_that_it_wants_to_be_beside_is_in_the_same_domain() -> None:
    follower = pod(app="front", affinity=beside(term(ZONE)))
    cluster = [A, B, node("n3", "a"), pod("r", "n1")]
    assert why(follower, *cluster, on="n3") == []
    assert why(follower, *cluster, on="n2") == AFFINITY
    assert why(pod(app="front", affinity=beside(term(HOSTNAME))), *cluster, on="n3") == AFFINITY


def test_one_pod_meets_all_terms_of_an_affinity_at_once() -> None:
    both = pod(app="front", affinity=beside(term(ZONE), term(HOSTNAME, {"matchLabels": {"role": "x"}})))
    other = pod("r2", "n1", app="other")
    other["metadata"]["labels"]["role"] = "x"
    assert why(both, A, pod("r", "n1"), other) == AFFINITY
    other["metadata"]["labels"]["app"] = "web"
    assert why(both, A, other) == []


def test_the_first_of_its_kind_may_go_anywhere_that_has_the_key() -> None:
    first = pod(affinity=beside(term("rack")))
    assert why(first, A, node("n3", labels={"rack": "1"}), on="n3") == []
    assert why(first, A, node("n3", labels={"rack": "1"}), on="n1") == AFFINITY


def test_the_second_of_its_kind_goes_to_the_first_and_who_is_not_of_the_kind_waits() -> None:
    assert why(pod(affinity=beside(term())), A, B, pod("r", "n1"), on="n2") == AFFINITY
    assert why(pod(app="front", affinity=beside(term())), A, B) == AFFINITY


def test_one_of_the_kind_on_a_node_without_the_key_hinders_the_first_rule_not() -> None:
    assert why(pod(affinity=beside(term("rack"))), A, node("n3", labels={"rack": "1"}), pod("r", "n1"), on="n3") == []


def test_a_terminating_pod_is_still_company_and_still_avoided() -> None:
    leaving = pod("r", "n1")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert why(pod(app="front", affinity=beside(term())), A, leaving) == []
    assert why(pod(app="front", affinity=apart(term())), A, leaving) == AFFINITY


def test_anti_affinity_keeps_away_the_pod_that_has_it_and_the_pod_that_is_meant() -> None:
    assert why(pod(app="front", affinity=apart(term())), A, B, pod("r", "n1")) == AFFINITY
    assert why(pod(app="front", affinity=apart(term())), A, B, pod("r", "n1"), on="n2") == []
    assert why(pod(), A, node("n3", "a"), pod("r", "n1", app="db", affinity=apart(term())), on="n3") == AFFINITY
    assert why(pod(app="x"), A, pod("r", "n1", app="db", affinity=apart(term()))) == []


def test_anti_affinity_on_a_key_that_the_node_lacks_says_nothing() -> None:
    assert why(pod(app="front", affinity=apart(term("rack"))), A, pod("r", "n1")) == []


OTHER = pod("r", "n1", namespace="other")


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({}, False),
        ({"namespaces": ["other"]}, True),
        ({"namespaces": ["default"]}, False),
        ({"namespaceSelector": {}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "red"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "blue"}}}, False),
        ({"namespaces": ["default"], "namespaceSelector": {"matchLabels": {"team": "red"}}}, True),
    ],
)
def test_namespaces_are_those_listed_and_those_selected_and_the_pods_own_when_neither_is_said(fields: Any, meant: bool) -> None:
    spaces = [namespace("default"), namespace("other", team="red")]
    assert why(pod(app="front", affinity=apart(term(**fields))), A, OTHER, *spaces) == (AFFINITY if meant else [])


def test_a_pod_that_avoids_others_is_asked_for_its_own_namespaces() -> None:
    avoiding = pod("r", "n1", namespace="other", affinity=apart(term()))
    assert why(pod(), A, avoiding) == []
    assert why(pod(namespace="other"), A, avoiding) == AFFINITY


def test_label_keys_narrow_a_term_to_pods_of_the_same_or_of_another_value() -> None:
    def of(revision: str, name: str = "p", on: str = "", **spec: Any) -> Any:
        found = pod(name, on, **spec)
        found["metadata"]["labels"]["revision"] = revision
        return found

    same, other = apart(term(matchLabelKeys=["revision", "absent"])), apart(term(mismatchLabelKeys=["revision"]))
    assert why(of("1", affinity=same), A, of("1", "r", "n1")) == AFFINITY
    assert why(of("1", affinity=same), A, of("2", "r", "n1")) == []
    assert why(of("1", affinity=other), A, of("1", "r", "n1")) == []
    assert why(of("1", affinity=other), A, of("2", "r", "n1")) == AFFINITY


def test_no_selector_means_no_pod_and_an_empty_one_every_pod() -> None:
    none, every = {**term(), "labelSelector": None}, term(selector={})
    assert why(pod(affinity=apart(none)), A, pod("r", "n1")) == []
    assert why(pod(affinity=apart(every)), A, pod("r", "n1", app="x")) == AFFINITY


@pytest.mark.parametrize(("in_a", "in_b", "fits"), [(0, 0, True), (1, 0, False), (1, 1, True), (2, 1, False)])
def test_a_domain_has_no_more_than_the_skew_above_the_emptiest(in_a: int, in_b: int, fits: bool) -> None:
    running = [*(pod(f"a{i}", "n1") for i in range(in_a)), *(pod(f"b{i}", "n2") for i in range(in_b))]
    assert why(pod(topologySpreadConstraints=[spread()]), A, B, *running) == ([] if fits else SPREAD)


def test_a_pod_that_its_own_constraint_does_not_mean_adds_nothing() -> None:
    assert why(pod(app="front", topologySpreadConstraints=[spread()]), A, B, pod("r", "n1")) == []


def test_pods_of_other_namespaces_and_terminating_ones_do_not_count_for_spread() -> None:
    leaving = pod("r2", "n1")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert why(pod(topologySpreadConstraints=[spread()]), A, B, OTHER, leaving) == []


def test_with_fewer_domains_than_wanted_the_emptiest_counts_as_empty() -> None:
    running = [pod("r1", "n1"), pod("r2", "n2")]
    assert why(pod(topologySpreadConstraints=[spread(minDomains=2)]), A, B, *running) == []
    assert why(pod(topologySpreadConstraints=[spread(minDomains=3)]), A, B, *running) == SPREAD


def test_nodes_that_the_pod_may_not_use_are_no_domains_but_where_the_policy_ignores_affinity() -> None:
    in_a = on_nodes({"matchExpressions": [where(ZONE, "In", "a")]})
    running = pod("r", "n1")
    assert why(pod(affinity=in_a, topologySpreadConstraints=[spread()]), A, B, running) == []
    ignoring = spread(nodeAffinityPolicy="Ignore")
    assert why(pod(affinity=in_a, topologySpreadConstraints=[ignoring]), A, B, running) == SPREAD


def test_tainted_nodes_are_domains_but_where_the_policy_honours_taints() -> None:
    tainted = node("n2", "b", spec={"taints": [{"key": "k", "effect": "NoSchedule"}]})
    assert why(pod(topologySpreadConstraints=[spread()]), A, tainted, pod("r", "n1")) == SPREAD
    assert why(pod(topologySpreadConstraints=[spread(nodeTaintsPolicy="Honor")]), A, tainted, pod("r", "n1")) == []


def test_a_node_that_lacks_one_of_the_keys_is_no_domain_of_the_others() -> None:
    racked = node("n1", "a", labels={"rack": "1"})
    both = [spread(), spread("rack")]
    assert why(pod(topologySpreadConstraints=both), racked, B, pod("r", "n1")) == []
    assert why(pod(topologySpreadConstraints=both), racked, B, on="n2") == SPREAD


def test_an_empty_selector_counts_nobody_and_none_at_all_does_not_either() -> None:
    running = [pod(f"r{i}", "n1") for i in range(3)]
    assert why(pod(topologySpreadConstraints=[spread(selector={})]), A, B, *running) == []
    assert why(pod(topologySpreadConstraints=[{**spread(), "labelSelector": None}]), A, B, *running) == []


def test_label_keys_of_a_spread_count_one_revision() -> None:
    mine, other = pod(topologySpreadConstraints=[spread(matchLabelKeys=["revision"])]), pod("r", "n1")
    mine["metadata"]["labels"]["revision"], other["metadata"]["labels"]["revision"] = "1", "2"
    assert why(mine, A, B, other) == []
    other["metadata"]["labels"]["revision"] = "1"
    assert why(mine, A, B, other) == SPREAD


def test_a_spread_that_only_prefers_keeps_nobody_away() -> None:
    preferring = spread(whenUnsatisfiable="ScheduleAnyway")
    assert why(pod(topologySpreadConstraints=[preferring]), A, B, pod("r", "n1")) == []


def test_pods_that_were_refused_are_tried_again_once_another_has_come() -> None:
    follower, leader = pod("f", app="front", affinity=beside(term())), pod("l")
    assert refused([A], [(follower, "n1"), (leader, "n1")]) == {}
    assert refused([A], [(follower, "n1")]) == {("default", "f"): AFFINITY}


def test_of_two_that_avoid_each_other_the_first_comes() -> None:
    one, two = (pod(name, affinity=apart(term())) for name in "xy")
    assert refused([A, B], [(one, "n1"), (two, "n2")]) == {}
    assert refused([A, B], [(one, "n1"), (two, "n1")]) == {("default", "y"): AFFINITY}


def test_a_pod_is_left_over_where_a_node_would_take_it_after_all_others() -> None:
    small, large = pod("s", cpu="1"), pod("l", cpu="4")
    assert left_over([A, B], [(large, "n1")], [small]) == {("default", "s"): ["n2"]}
    assert left_over([A], [(large, "n1")], [small]) == {}


def test_a_selector_by_expressions_and_labels_holds_as_a_whole() -> None:
    chosen = {**app("web"), "matchExpressions": [where("tier", "Exists")]}
    assert why(pod(app="front", affinity=apart(term(selector=chosen))), A, pod("r", "n1")) == []
