"""Random worlds: what a plan says of pods and nodes is held against what the real scheduler does with them."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from spillway.planner import fit, rules
from spillway_local.judge import pinned, run
from spillway_local.judge.features import BUILT, NODE_LOCAL, Feature
from spillway_local.judge.generator import generate
from spillway_local.judge.stage import Stage
from tests.cluster.conftest import FEATURES

pytestmark = [pytest.mark.cluster, pytest.mark.feature("RS-07"), pytest.mark.feature("SO-02")]


def test_every_served_pod_is_bound_and_no_other_is(stage: Stage, seeds: Sequence[int], record_property: Callable[..., Any]):
    """Pinned to the plan's nodes; and left to itself the scheduler, at rest, leaves no pod waiting for which we see room."""
    found = run.judge(stage, seeds, FEATURES)

    record_property("free", found.free.document())
    record_property("nominated", found.nominated.document())
    assert not found.disagreements, run.report(found, FEATURES)


def test_whether_a_pod_may_go_on_a_node_is_judged_alike_and_for_the_same_kind_of_reason(stage: Stage, pairs_seed: int):
    """Two hundred pairs of a pod and a node; about half of them suit each other."""
    wrong = run.judge_pairs(stage, pairs_seed)

    assert not wrong, run.report_pairs(pairs_seed, wrong)


LEAN_ON_OTHERS = sorted(frozenset(Feature) - NODE_LOCAL)


@pytest.mark.parametrize("feature", LEAN_ON_OTHERS)
def test_a_world_with_any_feature_comes_to_rest_on_the_stage(stage: Stage, feature: Feature):
    """Also one that the planner does not judge yet: who is right is not asked. Then the stage is emptied."""
    run.judge(stage, [1], BUILT | {feature})
    stage.clear()

    kinds = ("Pod", "DaemonSet", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "Node")
    assert {kind: stage.objects(kind) for kind in kinds} == {kind: [] for kind in kinds}


MEETS_NO_SCHEDULER = rules.node_name  # a pod that names its node


@pytest.mark.parametrize(
    "missing",
    [rule for rule in rules.FILTERS if rule is not MEETS_NO_SCHEDULER],
    ids=lambda rule: rule.__name__.rpartition(".")[2],
)
def test_a_rule_that_we_did_not_have_would_be_found(stage: Stage, missing: Any, monkeypatch: pytest.MonkeyPatch):
    """The judge is not blind: plans made without one of the rules are contradicted."""
    whole = fit.Fit.__init__

    def without(self: fit.Fit, shapes: Any, filters: Sequence[Any] = rules.FILTERS, keys: Sequence[str] = ()) -> None:
        whole(self, shapes, [rule for rule in filters if rule is not missing], keys)

    monkeypatch.setattr(fit.Fit, "__init__", without)

    wrong = pinned.judge(stage, [generate(seed, BUILT) for seed in range(10)])

    assert any(one.ours.startswith("served") for one in wrong)
