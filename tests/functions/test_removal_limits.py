"""Limits on removals, in the planner and again where one begins: what a wrong view or a wrong policy can do is bounded."""

from collections.abc import Iterator

import pytest

from spillway.aws.table import memory, outcomes, removals, settings
from spillway.kube.markers import CORDONED
from spillway.model.memory import Memory, Removal
from spillway.model.plan import OutcomeStatus, ScaleIn, Why
from spillway.model.policy import RemovalLimits
from spillway.model.reason import Code
from tests import builders
from tests.builders import ago, group, plan_for, policy
from tests.kube.handlers import World, open_handlers, scale_in
from tests.kube.objects import node

pytestmark = pytest.mark.feature("RS-05")
ALL_AT_ONCE = {"idle_s": 0, "budgets": [{"nodes": "100%"}]}


@pytest.fixture
def world() -> Iterator[World]:
    with open_handlers() as opened:
        for number in range(4):
            opened.api.add(node(f"n{number}", instance=f"i-{number}"))
        yield opened


def steps(count: int, **fields: object) -> tuple[ScaleIn, ...]:
    return tuple(scale_in(step=n, node=f"n{n}", instance_id=f"i-{n}", **fields) for n in range(count))


def limit(world: World, **limits: int) -> None:
    settings.put_policy(world.table, {"scale_in": {"limits": limits}}, by="test")


def begin(world: World, step: int) -> str:
    return str(world.call("drain", action="begin", step=step)["status"])


class TestWhereARemovalBegins:
    def test_no_more_begin_in_an_hour_than_the_policy_allows(self, world: World):
        limit(world, nodes_per_hour=2)
        world.plan(scale_in=steps(3))

        assert [begin(world, n) for n in range(3)] == ["draining", "draining", "held_back"]
        told = outcomes.get(world.table, "p1", 2)
        assert told is not None
        assert (told.status, CORDONED in world.labels("n2")) == (OutcomeStatus.HELD_BACK, False)
        assert "2 removals an hour (scale_in.limits.nodes_per_hour)" in told.reason

    def test_a_try_that_is_repeated_counts_once(self, world: World):
        limit(world, nodes_per_hour=2)
        world.plan(scale_in=steps(2))

        assert [begin(world, n) for n in (0, 0, 0, 1)] == ["draining"] * 4

    def test_one_that_is_given_up_counts_no_more(self, world: World):
        limit(world, nodes_per_hour=1)
        world.plan(scale_in=steps(2))
        begin(world, 0)
        world.call("drain", action="abandon", step=0)

        assert begin(world, 1) == "draining"

    def test_after_an_hour_others_may_go(self, world: World):
        limit(world, nodes_per_hour=1)
        plan = world.plan(scale_in=steps(2))
        begin(world, 0)
        (begun,) = removals.recent(world.table)
        world.pass_s(3601)

        assert begun == Removal(plan_id="p1", step=0, at=plan.created_at)
        assert removals.book(world.table, plan, plan.scale_in[1], RemovalLimits(nodes_per_hour=1)) == ""

    def test_two_that_begin_at_once_are_never_both_let_through(self, world: World, monkeypatch: pytest.MonkeyPatch):
        """Each has written itself down before it counts."""
        plan = world.plan(scale_in=steps(2))
        bound, real, second = RemovalLimits(nodes_per_hour=1), removals.recent, []

        def meanwhile(table: object) -> Iterator[Removal]:
            if not second:
                second.append("")
                second[0] = removals.book(world.table, plan, plan.scale_in[1], bound)
            return real(world.table)

        monkeypatch.setattr(removals, "recent", meanwhile)
        first = removals.book(world.table, plan, plan.scale_in[0], bound)
        assert bool(first) or bool(second[0])

    def test_a_plan_of_an_older_planner_is_cut_to_what_the_policy_allows_by_now(self, world: World):
        limit(world, nodes_per_plan=1)
        world.plan(scale_in=steps(3))

        assert [begin(world, n) for n in (2, 1, 0)] == ["held_back", "held_back", "draining"]

    def test_what_aws_takes_counts_and_is_not_held_back(self, world: World):
        limit(world, nodes_per_hour=1, nodes_per_plan=1)
        world.plan(scale_in=(*steps(2, why=Why.INTERRUPTED), scale_in(step=2, node="n2", instance_id="i-2")))

        assert [begin(world, n) for n in range(3)] == ["draining", "draining", "held_back"]

    def test_the_next_plan_knows_them(self, world: World):
        world.plan(scale_in=steps(2))
        for n in range(2):
            begin(world, n)

        assert [one.step for one in memory.load(world.table, lambda plan_id: True).removals] == [0, 1]


class TestInThePlan:
    def idle(self, removed: Memory | None = None, **limits: int) -> tuple[list[str], dict[str, str]]:
        """Nodes that go of three idle ones, and why the others stay."""
        nodes = [builders.node(f"n{n}") for n in range(3)]
        rules = policy(scale_in={**ALL_AT_ONCE, "limits": limits})
        plan = plan_for(*nodes, group("g", nodes=nodes), rules=rules, memory=removed or Memory())
        return [step.node for step in plan.scale_in], {one.node: one.reason.text for one in plan.kept}

    def removed(self, *ages_s: float) -> Memory:
        return Memory(removals=tuple(Removal(plan_id="p", step=n, at=ago(age)) for n, age in enumerate(ages_s)))

    def test_a_plan_takes_no_more_than_it_may(self):
        gone, stay = self.idle(nodes_per_plan=2)
        assert (gone, list(stay)) == (["n0", "n1"], ["n2"])
        assert "2 removals a plan (scale_in.limits.nodes_per_plan)" in stay["n2"]

    def test_those_of_the_last_hour_count(self):
        gone, stay = self.idle(self.removed(3599, 60, 3601), nodes_per_hour=3)
        assert (gone, list(stay)) == (["n0"], ["n1", "n2"])
        assert "3 removals an hour (scale_in.limits.nodes_per_hour), 2 have begun" in stay["n1"]

    def test_without_a_limit_all_go(self):
        assert len(self.idle(self.removed(*range(0, 3000, 10)))[0]) == 3

    def test_a_node_that_waits_for_the_limit_is_not_given_back_meanwhile(self):
        """It would be cordoned again at the next plan."""
        ours = builders.node("n0", unschedulable=True, cordon="p0")
        plan = plan_for(
            ours, group("g", nodes=[ours]), rules=policy(scale_in={**ALL_AT_ONCE, "limits": {"nodes_per_hour": 1}}),
            memory=self.removed(60),
        )  # fmt: skip
        assert not plan.scale_in
        assert not plan.scale_out
        assert next(one.reason.code for one in plan.kept) is Code.REMOVAL_LIMIT


def test_a_limit_of_the_group_holds_for_it_alone():
    nodes = [builders.node(f"{name}{n}") for name in "ab" for n in range(2)]
    groups = [group(name, nodes=[one for one in nodes if one.name.startswith(name)]) for name in "ab"]
    rules = policy(scale_in=ALL_AT_ONCE, groups={"b": {"scale_in": {"limits": {"nodes_per_plan": 1}}}})
    plan = plan_for(*nodes, *groups, rules=rules)
    assert [step.node for step in plan.scale_in] == ["a0", "a1"]
