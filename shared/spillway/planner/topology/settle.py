"""Who goes where when pods have something to say of each other: split, place, buy, look, and again where it fell short.

The best of these attempts is judged by the ledger: who may not come is lifted, and whoever is left gets what room there is
then. So all that is served can be bound, in the order that is handed out, and nobody is left for whom there is room.
Where no pod says anything of another, it is placed and bought for once, as ever.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from spillway.model.plan import Placement
from spillway.planner.buy import Purchase
from spillway.planner.daemons import Daemons
from spillway.planner.demand import Lot
from spillway.planner.market import Market
from spillway.planner.parcel import Item, Parcel, items, whole
from spillway.planner.place import Move, place
from spillway.planner.problem import Problem
from spillway.planner.rooms import Room
from spillway.planner.supply import Supply
from spillway.planner.topology.draft import Draft, drafted
from spillway.planner.topology.finish import Finisher
from spillway.planner.topology.outcome import Outcome
from spillway.planner.topology.reasons import Reasons
from spillway.planner.topology.referee import Referee
from spillway.planner.topology.rounds import Rounds
from spillway.planner.topology.standing import Standing
from spillway.planner.topology.turns import Order, in_order

ROUNDS = 4


@dataclass(frozen=True)
class Settled:
    """`moves` into room that is there or comes, and the `purchase` of the rest on the `market`. `order` is when who came
    where; `reasons` say why others may not, None where no pod says anything of another."""

    moves: Sequence[Move]
    market: Market
    purchase: Purchase
    order: Order = field(default_factory=dict)
    reasons: Reasons | None = None

    def in_order(self, placements: Iterable[Placement]) -> list[Placement]:
        """As a scheduler could bind them, one after the other, each as soon as it may."""
        return in_order(placements, self.order) if self.order else list(placements)


class Settling:
    """`coming` are the nodes that each group was asked for already, by its key; `buy` is how what finds no room is bought."""

    def __init__(
        self,
        problem: Problem,
        lots: Sequence[Lot],
        rooms: Sequence[Room],
        daemons: Daemons,
        coming: Mapping[str, int],
        buy: Callable[[Market], Purchase],
    ) -> None:
        self._problem, self._lots, self._rooms = problem, lots, rooms
        self._daemons, self._coming, self._buy = daemons, coming, buy

    def settle(self) -> Settled:
        problem, topology, dimensions = self._problem, self._problem.topology, self._problem.dimensions
        if topology.is_silent:
            return self._attempt([whole(lot) for lot in self._lots], self._rooms, problem.supply)
        first = dimensions.first_neighbour
        standing = Standing(
            problem.view, topology.rules, topology.shapes, topology.waiting, self._rooms, problem.fit, self._daemons, first
        )
        rounds = Rounds(problem, self._lots, self._rooms)
        referee = Referee(standing, self._lots, lambda lot: (topology.turn(lot.shape), rounds.domains.turn(lot)))
        best: tuple[tuple[list[int], float], Draft, Settled, Supply] | None = None
        for _ in range(ROUNDS):
            parcels, rooms, supply = rounds.begin()
            attempt = self._attempt(parcels, rooms, supply)
            draft = drafted(attempt.moves, attempt.market, attempt.purchase, standing)
            referee.replay(draft)
            rounds.learn(draft, standing)
            standing.take_back(0)
            referee.hold(draft, attempt.purchase)
            Finisher(
                standing, referee, self._lots, problem.fit, problem.supply, attempt.market, dimensions.accelerators
            ).finish(draft, attempt.purchase)
            worth = self._worth(draft), sum(node.price for node in draft.nodes.values())
            if best is None or worth < best[0]:
                best = worth, draft, attempt, supply
            if not (rounds.has_more if any(worth[0]) else rounds.has_cheaper):
                break
            standing.take_back(0)
        _, draft, attempt, supply = best  # type: ignore[misc]  # there is one round at least
        standing.take_back(0)
        referee.repeat(draft)
        return self._outcome(draft, attempt, supply, standing, rounds.near)

    def _attempt(self, parcels: Sequence[Parcel], rooms: Sequence[Room], supply: Supply) -> Settled:
        moves = place(parcels, rooms, self._problem.fit, self._problem.dimensions)
        market = self._market(items(parcels), supply)
        return Settled(moves, market, self._buy(market))

    def _market(self, found: Sequence[Item], supply: Supply) -> Market:
        problem = self._problem
        return Market(problem.view, found, supply, problem.fit, problem.dimensions)

    def _worth(self, draft: Draft) -> list[int]:
        """Pods without a place, the highest priority first: the least is best."""
        served = draft.served()
        left = dict.fromkeys(sorted({-lot.shape.priority for lot in self._lots}), 0)
        for lot in self._lots:
            left[-lot.shape.priority] += lot.asked - served.get(lot.number, 0)
        return list(left.values())

    def _outcome(self, draft: Draft, attempt: Settled, supply: Supply, standing: Standing, near: frozenset[int]) -> Settled:
        outcome = Outcome(standing, self._lots, self._problem.fit, near)
        market, purchase = outcome.purchase(draft, attempt.purchase, lambda found: self._market(found, supply))
        return Settled(
            outcome.moves(draft),
            market,
            purchase,
            draft.order(self._coming),
            Reasons(standing, self._problem.supply, self._problem.topology.rules),
        )
