"""What holds for the plan of every cluster, by the word of a checker that knows nothing of the planner."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spillway.model.base import encode
from spillway_local.judge.features import BETWEEN_PODS, BUILT, Feature
from tests import builders
from tests.fit.checker import left_over, refused
from tests.fit.state import key_of
from tests.fit.worlds import World, outcome, worlds

ROWS = {Feature.POD_AFFINITY: "SO-07", Feature.POD_ANTI_AFFINITY: "SO-07", Feature.TOPOLOGY_SPREAD: "SO-08"}
JUDGED = sorted(BETWEEN_PODS & BUILT)

every_feature = pytest.mark.parametrize(
    "features",
    [
        pytest.param(frozenset(), id="one pod and one node", marks=pytest.mark.feature("SO-06")),
        *(pytest.param(frozenset({one}), id=one.value, marks=pytest.mark.feature(ROWS[one])) for one in JUDGED),
        pytest.param(frozenset({Feature.PREFERRED}), id="preferred", marks=pytest.mark.feature("SO-09")),
        *([pytest.param(frozenset(JUDGED), id="all together")] if len(JUDGED) > 1 else []),
    ],
)


@every_feature
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_what_fits_by_shape_fits_pod_by_pod(features: frozenset[Feature], data: st.DataObject) -> None:
    """Wherever the nodes of groups with several zones land, and of whichever of their types they are."""
    world = data.draw(worlds(features))
    come = outcome(world, world.plan())
    assert refused(come.objects, come.assigned) == {}


@every_feature
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_a_pod_that_is_not_served_fits_on_no_node_once_all_have_come(features: frozenset[Feature], data: st.DataObject) -> None:
    """Where groups have one zone and type: else a node may be by luck what the pod wants."""
    world = data.draw(worlds(features, choosy=False))
    come = outcome(world, world.plan())
    unserved = [pod for pod in world.waiting() if key_of(pod) not in come.served]
    assert left_over(come.objects, come.assigned, unserved) == {}


@every_feature
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_the_order_in_which_objects_and_groups_are_listed_never_matters(
    features: frozenset[Feature], data: st.DataObject
) -> None:
    world = data.draw(worlds(features))
    objects, groups = data.draw(st.permutations(world.objects)), data.draw(st.permutations(world.groups))
    assert encode(World(tuple(objects), tuple(groups), world.landing).plan()) == encode(world.plan())


USELESS: dict[str, Any] = {
    "of pods that tolerate": {"taints": [builders.Taint(key="nobody", value="", effect="NoSchedule")]},
    "of small pods": {"slots": 0},
}


@every_feature
@pytest.mark.parametrize("useless", USELESS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_served_pod_stays_served_when_a_group_that_it_cannot_use_is_added(
    features: frozenset[Feature], useless: str, data: st.DataObject
) -> None:
    world = data.draw(worlds(features))
    extra = builders.group("extra", cpu="64", price=data.draw(st.sampled_from([0.01, 9.0])), **USELESS[useless])
    more = World(world.objects, (*world.groups, extra), world.landing)
    assert outcome(more, more.plan()).served >= outcome(world, world.plan()).served
