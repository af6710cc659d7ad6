"""The bench finds a plan in which pods are where other pods would keep them from."""

import msgspec
import pytest

from bench.check import Wrong, check
from bench.neighbours import refused
from spillway.model.cluster import PodAffinityTerm, PodState, SpreadConstraint
from spillway.model.selector import Requirement
from spillway.model.workloads import Namespace
from tests.bench.test_check import plan, with_places, world
from tests.builders import Pods, group, node, pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
A, B = {"app": "a"}, {"app": "b"}
NODES = {name: node(name, labels={ZONE: zone, HOST: name}) for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b"))}


def selects(app: str) -> tuple[Requirement, ...]:
    return (Requirement("app", "In", (app,)),)


def term(app: str, key: str = ZONE, **more: object) -> tuple[PodAffinityTerm, ...]:
    return (PodAffinityTerm(topology_key=key, selector=selects(app), **more),)  # type: ignore[arg-type]


def spread(app: str, key: str = ZONE, skew: int = 1, **more: object) -> tuple[SpreadConstraint, ...]:
    one = SpreadConstraint(topology_key=key, max_skew=skew, when_unsatisfiable="DoNotSchedule", selector=selects(app))
    return (msgspec.structs.replace(one, **more),)


def judged(
    *placed: tuple[Pods, str], there: tuple[tuple[Pods, str], ...] = (), labels: dict[str, dict[str, str]] | None = None
) -> list[str]:
    """`node: rule` of each pod that would not come, one pod a pair."""
    found = refused(
        NODES.values(),
        [(pods.shape, NODES[name], pods.state == PodState.TERMINATING) for pods, name in there],
        [(f"{number}", pods.shape, NODES[name]) for number, (pods, name) in enumerate(placed)],
        [Namespace(name, mine) for name, mine in (labels or {}).items()],
    )
    return [f"{where}: {rule}" for _, where, rule in found]


def test_a_hard_spread_holds_in_an_order_that_brings_all() -> None:
    """Two of a zone before the other has one would be refused: they take turns."""
    even = pod(labels=A, spread=spread("a"))
    assert judged((even, "n1"), (even, "n2"), (even, "n3")) == []
    assert judged((even, "n1"), (even, "n2"), (even, "n1"), (even, "n3")) == [
        "n1: topology spread: a skew of 2 over topology.kubernetes.io/zone, at most 1"
    ]
    assert judged((even, "n1"), (even, "n1"), there=((pod(labels=A), "n3"),)) == []


def test_a_spread_counts_no_pod_that_terminates_and_none_of_another_namespace() -> None:
    even = pod(labels=A, spread=spread("a"))
    two = (even, "n1"), (even, "n2")
    leaving = pod(labels=A, state=PodState.TERMINATING, node="n3")
    foreign = pod(labels=A, namespace="other")
    assert len(judged(*two, there=((leaving, "n3"),))) == 1
    assert len(judged(*two, there=((foreign, "n3"),))) == 1


def test_a_spread_without_enough_domains_counts_from_nothing() -> None:
    even = pod(labels=A, spread=spread("a", min_domains=3))
    assert len(judged((even, "n1"), (even, "n2"), (even, "n3"))) == 1


def test_a_spread_leaves_out_nodes_that_the_pod_may_not_use_unless_its_policy_says_otherwise() -> None:
    both = (NODES["n1"], NODES["n2"])
    for policy, lost in (("Honor", 0), ("Ignore", 1)):
        even = pod(labels=A, node_selector={ZONE: "a"}, spread=spread("a", node_affinity_policy=policy))
        assert len(judged(*((even, one.name) for one in both))) == lost


def test_pods_that_another_spread_counts_come_after_it_where_the_plan_says_so() -> None:
    counts, counted = pod(labels=B, spread=spread("a")), pod(labels=A)
    assert judged((counts, "n1"), *[(counted, "n1")] * 3) == []
    assert len(judged(*[(counted, "n1")] * 3, (counts, "n1"))) == 1
    assert len(judged((counts, "n1"), there=((counted, "n1"), (counted, "n2")))) == 1


def test_anti_affinity_holds_for_who_comes_and_for_who_is_there() -> None:
    avoids, avoided = pod(labels=B, pod_anti_affinity=term("a", HOST)), pod(labels=A)
    for comes, runs in ((avoids, avoided), (avoided, avoids)):
        assert judged((comes, "n2"), there=((runs, "n1"),)) == []
        [rule] = judged((comes, "n1"), there=((runs, "n1"),))
        assert rule.startswith("n1: pod anti-affinity: one that")
    assert len(judged((avoids, "n1"), (avoided, "n1"))) == 1


def test_affinity_wants_its_like_in_the_domain_and_only_the_first_of_a_kind_chooses() -> None:
    near = pod(labels=A, pod_affinity=term("a"))
    assert judged((near, "n1"), (near, "n2")) == []
    assert judged((near, "n1"), (near, "n3")) == [
        "n3: pod affinity: no pod that it looks for in its topology.kubernetes.io/zone"
    ]
    other = pod(labels=B, pod_affinity=term("a"))
    assert len(judged((other, "n1"))) == 1
    assert judged((other, "n1"), (pod(labels=A), "n2")) == []


def test_terms_speak_of_the_namespaces_that_they_name() -> None:
    labels = {"blue": {"team": "x"}, "green": {"team": "y"}}
    team = (Requirement("team", "In", ("x",)),)
    for space, lost in (("blue", 1), ("green", 0)):
        runs = pod(labels=A, namespace=space)
        comes = pod(labels=B, pod_anti_affinity=term("a", namespace_selector=team))
        assert len(judged((comes, "n1"), there=((runs, "n1"),), labels=labels)) == lost


def test_a_label_key_narrows_a_term_to_pods_of_the_same_value() -> None:
    new, old = ({"app": "a", "hash": value} for value in ("2", "1"))
    comes = pod(labels=new, pod_anti_affinity=term("a", match_label_keys=("hash",)))
    assert judged((comes, "n1"), there=((pod(labels=old), "n1"),)) == []
    assert len(judged((comes, "n1"), there=((pod(labels=new), "n1"),))) == 1
    apart = pod(labels=new, pod_anti_affinity=term("a", mismatch_label_keys=("hash",)))
    assert len(judged((apart, "n1"), there=((pod(labels=old), "n1"),))) == 1
    assert judged((apart, "n1"), there=((pod(labels=new), "n1"),)) == []


def test_a_plan_that_breaks_a_rule_between_pods_fails_the_figure() -> None:
    one = world(pod("p", cpu="1", count=2, labels=A, pod_anti_affinity=term("a", HOST)), group("g", cpu="4"))
    made = plan(one)
    check(one, made)
    crowded = [msgspec.structs.replace(place, target="us-east-1/g#0") for place in made.placements]
    with pytest.raises(Wrong, match=r"1 pods do not come where the plan puts them.*pod anti-affinity"):
        check(one, with_places(made, crowded))
