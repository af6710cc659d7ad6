"""Preferences change where pods go, and nothing that counts: held against the plan that ignores them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spillway.model.plan import Plan
from spillway_local.judge.features import BETWEEN_PODS, BUILT, Feature
from tests.builders import policy
from tests.fit.worlds import World, worlds

IGNORE = policy(pods={"preference_policy": "ignore"})

each = pytest.mark.parametrize(
    "features",
    [
        pytest.param(frozenset({Feature.PREFERRED}), id="one pod and one node"),
        pytest.param(frozenset({Feature.PREFERRED, *(BETWEEN_PODS & BUILT)}), id="with rules between pods"),
    ],
)


def _unserved(world: World, plan: Plan) -> list[int]:
    """Pods without a place, the highest priority first."""
    left = {one.shape: one.pods for one in plan.unserved}
    priorities = {shape.id: shape.priority for shape in world.shapes()}
    found = dict.fromkeys(sorted(set(priorities.values()), reverse=True), 0)
    for shape, pods in left.items():
        found[priorities[shape]] += pods
    return list(found.values())


@pytest.mark.feature("SO-09")
@each
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_plan_is_never_dearer_nor_serves_fewer_for_what_pods_prefer(
    features: frozenset[Feature], data: st.DataObject
) -> None:
    world = data.draw(worlds(features))
    kept, ignored = world.plan(), world.plan(IGNORE)
    assert _unserved(world, kept) <= _unserved(world, ignored)
    assert kept.summary.nodes_new <= ignored.summary.nodes_new
    assert kept.summary.price_usd_h_new <= ignored.summary.price_usd_h_new
    assert kept.summary.price_usd_h_after <= ignored.summary.price_usd_h_after
    assert len(kept.scale_in) >= len(ignored.scale_in)
