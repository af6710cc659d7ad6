"""The ledger of who stands where: closed forms, and steps that are taken back without a trace."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spillway.model.cluster import PodState, Taint
from spillway.planner.amounts import NOTHING
from spillway.planner.demand import Lot
from spillway.planner.fit import Fit
from spillway.planner.rules.base import Host
from spillway.planner.supply import Source
from spillway.planner.topology.settle import Settling
from spillway.planner.topology.standing import Standing
from spillway_local.judge.features import BETWEEN_PODS
from tests.builders import node, plan_for, pod
from tests.fit.worlds import World, worlds
from tests.planner.topology.rules import spread

pytestmark = [pytest.mark.feature("SO-07"), pytest.mark.feature("SO-08")]


def ledgers(plan: Callable[[], object]) -> list[tuple[Standing, Sequence[Lot], list[Source], Fit]]:
    """Of a plan, as that leaves it, with who waited, the groups that might be asked and what suits whom; none where
    no pod says anything of another."""
    found = []
    outcome = Settling._outcome

    def keep(self, draft, attempt, supply, standing, near):
        problem = self._problem
        found.append((standing, list(self._lots), list(problem.supply.sources.values()), problem.fit))
        return outcome(self, draft, attempt, supply, standing, near)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Settling, "_outcome", keep)
        plan()
    return found


def state_of(standing: Standing) -> object:
    """All counts, what every node has left, and who comes and goes with it."""
    ties = standing._ties
    tallies = [*ties._tallies.values(), *(one for company in ties._companies.values() for one in company.by_key)]
    return (
        [(_counts(one.sure), _counts(one.maybe)) for one in tallies],
        [(one.total, _counts(one._on_vague)) for one in ties._companies.values()],
        [(_counts(one.sure), _counts(one.maybe), _counts(one._levels)) for one in ties._evennesses.values()],
        [(_counts(one.sure), _counts(one._maybe)) for one in ties.domains.values()],
        [(site.name, site.mark, tuple(site.free), standing._tenants.get(site.name, [])) for site in standing.sites],
    )


def _counts(of: dict) -> dict:
    return {key: number for key, number in of.items() if number}


@settings(max_examples=60, deadline=None)
@given(world=worlds(BETWEEN_PODS), data=st.data())
def test_what_is_taken_back_leaves_no_trace(world: World, data: st.DataObject) -> None:
    for standing, lots, sources, _ in ledgers(world.plan):
        before, mark = state_of(standing), standing.mark()
        for _ in range(data.draw(st.integers(1, 6))):
            lot = data.draw(st.sampled_from(lots))
            sites = [*standing.sites, *map(standing.new, sources)]
            for site in [data.draw(st.sampled_from(sites))] if sites else []:
                standing.open(site)
                if pods := standing.most(lot.shape.id, lot.need, site, 3):
                    standing.put(lot.shape.id, lot.need, site, pods)
        standing.take_back(mark)
        assert state_of(standing) == before


@settings(max_examples=60, deadline=None)
@given(world=worlds(BETWEEN_PODS))
def test_as_many_may_come_together_as_one_by_one(world: World) -> None:
    for standing, lots, _, fit in ledgers(world.plan):
        begin = standing.mark()
        for site in [site for site in standing.sites if site.is_open]:
            for lot in (lot for lot in lots if fit.refusal(lot.kind, site.host) is None):
                batch, alone = standing.most(lot.shape.id, lot.need, site, 5), 0
                while alone < 5 and standing.most(lot.shape.id, lot.need, site, 1):
                    standing.put(lot.shape.id, lot.need, site, 1)
                    alone += 1
                standing.take_back(begin)
                assert alone == batch


@settings(max_examples=40, deadline=None)
@given(world=worlds(BETWEEN_PODS))
def test_who_may_not_come_is_told_why_by_the_rule_and_who_may_is_told_nothing(world: World) -> None:
    for standing, lots, sources, _ in ledgers(world.plan):
        for site in [*standing.sites, *map(standing.new, sources)]:
            for lot in lots:
                bonds, refusal = standing.bonds(lot.shape.id), standing.refusal(lot.shape.id, site)
                may_come = bonds is None or bonds.most(site, 1) == 1
                assert (refusal is None) == may_come
                assert refusal is None or refusal.text


@pytest.mark.parametrize("state", [PodState.BOUND, PodState.TERMINATING, PodState.NOMINATED])
def test_a_node_that_is_shut_takes_along_who_counted_there_and_nobody_else(state: PodState) -> None:
    """Twice, with others lifted: what was counted of one try is not left for the next."""
    even = spread(node_taints_policy="Honor")
    runs = pod("runs", labels={"app": "web"}, node="n1", count=2)
    other = pod("other", labels={"app": "web"}, node="n1", state=state)
    waits = pod("waits", cpu="100", labels={"app": "web"}, spread=(even,))
    ((standing, *_),) = ledgers(lambda: plan_for(node("n1"), runs, other, waits))
    (site,), before = standing.sites, state_of(standing)
    for lifted in (2, 1, 0):
        mark = standing.mark()
        if lifted:
            standing.put(runs.shape.id, NOTHING, site, -lifted)
        standing.shut(site, Host("n1", {}, (Taint(key="going", effect="NoSchedule"),)), [(runs.shape.id, lifted)])
        (evenness,) = standing._ties._evennesses.values()
        assert [_counts(one) for one in (evenness.sure, evenness.maybe, evenness._levels)] == [{}, {}, {}]
        standing.take_back(mark)
        assert state_of(standing) == before
