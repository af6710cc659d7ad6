"""The worlds in which the plan's growth is measured."""

from bench.check import check
from bench.growth import world
from spillway import planner


def test_a_world_has_the_pods_and_groups_that_its_row_says_and_must_buy_nodes() -> None:
    made = world(500, 10)
    assert sum(len(pods.names) for pods in made.cluster.pods) == 500
    assert (len(made.fleet.groups), len(made.cluster.nodes)) == (10, 20)
    plan = planner.plan(made.cluster, made.fleet, made.memory, made.policy, made.now)
    check(made, plan)
    assert (plan.summary.pods_pending, plan.summary.pods_unserved) == (100, 0)
    assert plan.summary.nodes_new > 0
