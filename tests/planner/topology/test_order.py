"""In which order pods come: each as soon as a scheduler could bind it, and none before."""

import pytest

from spillway.model.plan import Plan
from spillway.planner.topology.turns import last
from tests.builders import group, node, plan_for, pod
from tests.planner.topology.rules import labelled, spread

pytestmark = [pytest.mark.feature("SO-08"), pytest.mark.feature("SO-02")]

WEB = {"app": "web"}
ZONES = {name: group(name, zones=[f"us-east-1{name}"], labels={"zone": name}) for name in "abc"}


def web(name: str, zone: str, count: int = 1, **fields):
    return pod(name, cpu="500m", labels=WEB, count=count, node_selector={"zone": zone}, **fields)


def turns(plan: Plan) -> list[tuple[str, str, int]]:
    """(zone, shape, pods), in the plan's order."""
    return [(place.target.rpartition("#")[0][-1:] or place.target[-1], place.shape, place.pods) for place in plan.placements]


class TestPodsOfAShapeThatComeToANodeInTurns:
    """The second may come to zone a only once somebody is in zone c, and no more once others, of lower priority, are in a."""

    @pytest.mark.parametrize("there", [[node("n-a", zone="us-east-1a", labels={"zone": "a"})], []], ids=["there", "new"])
    def test_each_turn_is_a_placement_of_its_own(self, there):
        evenly = web("even", "a", 2, spread=(spread(node_affinity_policy="Ignore"),), priority=10)
        helper, plain = web("helper", "c", priority=5), web("plain", "a", 2)
        plan = plan_for(*there, evenly, helper, plain, *([] if there else [ZONES["a"]]), ZONES["c"])
        assert not plan.unserved
        even, other, last = dict.fromkeys(place.shape for place in plan.placements)
        assert turns(plan) == [("a", even, 1), ("c", other, 1), ("a", even, 1), ("a", last, 2)]
        assert [place.first for place in plan.placements if place.shape == even] == [0, 1]

    def test_who_goes_elsewhere_for_what_it_prefers_is_who_came_last(self):
        assert last(((0, 1), (7, 2)), 1) == (((0, 1), (7, 1)), ((7, 1),))
        assert last(((0, 1), (7, 2)), 3) == ((), ((0, 1), (7, 2)))


class TestLevelsOfASpread:
    """A level in one zone is there before the next in another, where others come that the spread counts, too."""

    def test_those_that_others_could_keep_out_come_level_by_level(self):
        evenly = pod("even", cpu="500m", labels=WEB, count=6, spread=(spread(),))
        plan = plan_for(evenly, web("plain", "a", 3), ZONES["a"], ZONES["b"])
        assert not plan.unserved
        even, plain = dict.fromkeys(place.shape for place in plan.placements)
        levels = [("a", even, 1), ("b", even, 2), ("a", even, 2), ("b", even, 1)]
        assert turns(plan) == [*levels, ("a", plain, 3)]

    def test_so_do_those_that_the_spread_of_others_counts(self):
        """Else these would be refused at first, and others come before them."""
        own = spread(selector=labelled(part="even"))
        evenly = pod("even", cpu="500m", labels={**WEB, "part": "even"}, count=6, spread=(own,), priority=10)
        plan = plan_for(evenly, web("other", "b", spread=(spread(),)), ZONES["a"], ZONES["b"])
        assert not plan.unserved
        assert [pods for *_, pods in turns(plan)] == [1, 2, 2, 1, 1]

    def test_those_that_nobody_comes_between_stay_together(self):
        plan = plan_for(pod("even", cpu="500m", labels=WEB, count=6, spread=(spread(),)), ZONES["a"], ZONES["b"])
        (even,) = {place.shape for place in plan.placements}
        assert turns(plan) == [("a", even, 3), ("b", even, 3)]
