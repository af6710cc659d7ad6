"""Places for who is left once a draft was judged: on nodes that are there, that come, and on further ones, until nobody moves.

So nobody is left for whom one node more, or the room on those that there are, would do.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from spillway.planner.amounts import Need
from spillway.planner.buy import NewNode, Purchase
from spillway.planner.demand import Lot
from spillway.planner.fit import Fit
from spillway.planner.market import Market
from spillway.planner.supply import Source, Supply
from spillway.planner.topology.draft import Batch, Draft
from spillway.planner.topology.referee import Referee
from spillway.planner.topology.sites import Site
from spillway.planner.topology.standing import Standing

REPLAYS = 60_000  # batches that are judged anew, over all nodes that are domains which others knew nothing of


class Finisher:
    """`lots` are all that wait, in queue order; `supply` is what groups have, and `market` in which order they are asked."""

    def __init__(
        self,
        standing: Standing,
        referee: Referee,
        lots: Sequence[Lot],
        fit: Fit,
        supply: Supply,
        market: Market,
        accelerators: frozenset[int],
    ) -> None:
        self._standing, self._referee, self._lots, self._fit = standing, referee, lots, fit
        self._ranks = [[supply.sources[source.group.key] for source in rank] for rank in market.ranks]
        self._accelerators = accelerators

    def finish(self, draft: Draft, purchase: Purchase) -> None:
        """The ledger must be as the draft's log left it; it, the draft and the purchase are as they end."""
        self._draft, self._purchase, self._replayed = draft, purchase, 0
        served = draft.served()
        self._left = {lot.number: lot.asked - served[lot.number] for lot in self._lots}
        self._sites: dict[tuple[Need, int], list[Site]] = {}
        self._groups: dict[tuple[Need, int], list[list[Source]]] = {}
        self._alike = [_alike(rank) for rank in self._ranks]
        self._bought: dict[str, int] = defaultdict(int)
        for node in purchase.nodes:
            self._bought[node.source.group.key] += 1
        waiting = [lot for lot in self._lots if self._left[lot.number]]
        moved = True
        while moved and waiting:
            moved = self._seat_all(waiting)
            while site := self._open_one(waiting):
                moved = True
                for lot in waiting:
                    if self._left[lot.number] and self._suits(lot, site):
                        self._put(lot, site, self._left[lot.number])
            waiting = [lot for lot in waiting if self._left[lot.number]]

    def _seat_all(self, waiting: Sequence[Lot]) -> bool:
        """On nodes that there are, until nobody moves."""
        start, before = len(self._draft.log), -1
        while before < len(self._draft.log):
            before = len(self._draft.log)
            for lot in waiting:
                while self._left[lot.number] and self._seat(lot):
                    pass
        return before > start

    def _seat(self, lot: Lot) -> int:
        """Pods on nodes that there are, the emptiest domain first."""
        found = 0
        for site in self._in_turn(lot):
            wanted = self._left[lot.number]
            if wanted:
                pods = self._put(lot, site, wanted) if site.is_open else self._admit(lot, site)
                found += pods
        return found

    def _in_turn(self, lot: Lot) -> list[Site]:
        able = [site for site in self._able(lot) if self._standing.most(lot.shape.id, lot.need, site, 1)]
        bonds = self._standing.bonds(lot.shape.id)
        return sorted(able, key=bonds.fill) if bonds and bonds.even else able

    def _able(self, lot: Lot) -> list[Site]:
        """Nodes that suit it and had room for it when it was first asked."""
        key = lot.need, lot.kind
        if key not in self._sites:
            every = (*self._standing.sites, *self._draft.nodes)
            self._sites[key] = [site for site in every if self._suits(lot, site)]
        return self._sites[key]

    def _suits(self, lot: Lot, site: Site) -> bool:
        return self._standing.holds(lot.need, site) and self._fit.refusal(lot.kind, site.host) is None

    def _put(self, lot: Lot, site: Site, wanted: int) -> int:
        pods = self._standing.most(lot.shape.id, lot.need, site, wanted)
        if pods:
            self._standing.put(lot.shape.id, lot.need, site, pods)
            self._draft.log.append(Batch(lot, site, pods))
            self._left[lot.number] -= pods
        return pods

    def _admit(self, lot: Lot, site: Site) -> int:
        """Pods on a node that opens for them, if all others may come all the same."""
        mark = self._standing.mark()
        self._standing.open(site)
        pods = self._put(lot, site, self._left[lot.number])
        if pods and (not self._standing.upsets(site) or self._hold()):
            return pods
        if pods:
            self._draft.log.pop()
            self._left[lot.number] += pods
        self._standing.take_back(mark)
        return 0

    def _hold(self) -> bool:
        """Whether all of the log may come where the last one's node is there from the start; then the log is as they come now.
        Else the ledger is as it was."""
        self._replayed += len(self._draft.log)
        if self._replayed > REPLAYS:
            return False
        before = self._draft.log
        trial = Draft(self._draft.nodes, self._draft.came())
        steps = self._standing.take_back(0)
        self._referee.replay(trial)
        if sum(batch.pods for batch in trial.log) == sum(batch.pods for batch in before):
            self._draft.log = trial.log
            return True
        self._standing.take_back(0)
        self._standing.repeat(steps)
        return False

    def _open_one(self, waiting: Sequence[Lot]) -> Site | None:
        """A further node, for the first that may have one."""
        for lot in (lot for lot in waiting if self._left[lot.number]):
            for source in self._sources(lot):
                site = self._standing.new(source)
                if self._standing.most(lot.shape.id, lot.need, site, 1) and self._admit(lot, site):
                    node = NewNode(source)
                    self._purchase.add(node)
                    self._draft.nodes[site] = node
                    self._bought[source.group.key] += 1
                    for (need, kind), sites in self._sites.items():
                        if self._standing.holds(need, site) and self._fit.refusal(kind, site.host) is None:
                            sites.append(site)
                    return site
        return None

    def _sources(self, lot: Lot) -> Iterator[Source]:
        """One of each that no pod tells apart, as far as limits and sizes leave room."""
        key = lot.need, lot.kind
        if key not in self._groups:
            plain = self._accelerators.isdisjoint(dimension for dimension, _ in lot.need.each)
            found = [
                (rank, plain and alike[0].accelerated, alike[0].price / pods, number, alike)
                for rank, group in enumerate(self._alike)
                for number, alike in enumerate(group)
                if (pods := self._standing.room(lot.need, alike[0], self._left[lot.number]))
                and self._fit.refusal(lot.kind, alike[0].host) is None
            ]
            self._groups[key] = [alike for *_, alike in sorted(found, key=lambda one: one[:4])]
        for alike in self._groups[key]:
            for source in alike:
                has_room = source.room > self._bought[source.group.key]
                if has_room and self._purchase.ledger.most(source.group, 1):
                    yield source
                    break


def _alike(rank: Sequence[Source]) -> list[list[Source]]:
    """Groups that may be compared, by price, and that no pod tells apart."""
    found: dict[tuple[object, ...], list[Source]] = defaultdict(list)
    for source in rank:
        if 0 < source.price < float("inf"):
            found[source.host, source.have, source.price, source.accelerated].append(source)
    return list(found.values())
