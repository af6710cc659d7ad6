"""Pairs of one pod and one node: half of them fit, and we say of the others all that keeps them away."""

from spillway_local.judge import planning
from spillway_local.judge.features import BUILT, Feature
from spillway_local.judge.scene import NOW, WORLD_LABEL
from spillway_local.judge.singles import namespaces, pairs, refusals

PAIRS = pairs(3, 400, BUILT)


def test_pairs_are_equal_for_equal_seeds() -> None:
    assert pairs(3, 20, BUILT) == pairs(3, 20, frozenset(Feature))  # what needs other nodes is left out
    assert pairs(3, 20, BUILT) != pairs(4, 20, BUILT)


def test_about_half_of_the_pods_fit_and_the_others_fail_in_every_way() -> None:
    found = [tuple(one.code for one in refusals(pair)) for pair in PAIRS]
    assert 0.4 < found.count(()) / len(PAIRS) < 0.6
    assert {code for codes in found for code in codes} == {"too_small", "selector", "affinity", "taint", "zone"}
    assert any(len(codes) > 1 for codes in found)  # each rule speaks for itself


def test_a_refusal_names_the_pod_and_what_it_lacks() -> None:
    why = next(why for pair in PAIRS for why in refusals(pair) if why.code == "too_small")
    assert why.text.startswith("pod p3-")
    assert " needs " in why.text


def test_a_pod_that_nothing_refuses_is_one_that_a_plan_would_place() -> None:
    nothing = {"AutoScalingGroups": []}
    for pair in PAIRS[:100]:
        planned = planning.plan([pair.node, *pair.running, pair.pod], nothing, {}, NOW, ())
        assert bool(planned.assigned) is not bool(refusals(pair))


def test_a_pod_may_go_to_the_node_of_its_pair_alone() -> None:
    spaces = {one["metadata"]["name"] for one in namespaces(3)}
    for pair in PAIRS:
        assert pair.node["metadata"]["name"] == pair.name
        assert pair.node["metadata"]["labels"][WORLD_LABEL] == pair.pod["spec"]["nodeSelector"][WORLD_LABEL] == pair.name
        assert all(pod["spec"]["nodeName"] == pair.name for pod in pair.running)
        assert {pod["metadata"]["namespace"] for pod in (pair.pod, *pair.running)} == spaces
    pods = [pod["metadata"]["name"] for pair in PAIRS for pod in (pair.pod, *pair.running)]
    assert len(pods) == len(set(pods))
