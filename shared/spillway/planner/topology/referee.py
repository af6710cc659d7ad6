"""Who of a draft may really come: batch by batch, as a scheduler could bind them, in rounds until nobody moves."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from spillway.planner.buy import Purchase
from spillway.planner.demand import Lot
from spillway.planner.topology.draft import Batch, Draft
from spillway.planner.topology.sites import Site
from spillway.planner.topology.standing import Standing


class Referee:
    """Lets the pods of a draft come one batch after the other: those of `lots` by priority and turn, each turn until nobody
    moves, together with who of those before could not come yet. `turn` is a lot's turn and its place within that."""

    def __init__(self, standing: Standing, lots: Sequence[Lot], turn: Callable[[Lot], tuple[int, int]]) -> None:
        self._standing = standing
        ordered = sorted(((-lot.shape.priority, *turn(lot), lot.number), lot) for lot in lots)
        self._turns = [[lot for _, lot in same] for _, same in groupby(ordered, lambda one: one[0][:2])]

    def replay(self, draft: Draft) -> None:
        """Opens the draft's nodes and writes its log anew. The ledger must be as it was before the draft."""
        standing = self._standing
        standing.forget_peaks()
        for site in dict.fromkeys((*draft.nodes, *(site for mine in draft.wanted.values() for site in mine))):
            standing.open(site)
        draft.log = []
        left: list[tuple[Lot, dict[Site, int]]] = []
        for lots in self._turns:
            left += [(lot, dict(draft.wanted[lot.number])) for lot in lots if lot.number in draft.wanted]
            before = -1
            while left and before < len(draft.log):
                before = len(draft.log)
                for lot, wanted in left:
                    draft.log += self._come(lot, wanted)
                left = [(lot, wanted) for lot, wanted in left if wanted]

    def repeat(self, draft: Draft) -> None:
        """All of the log comes again, as it came."""
        for site in draft.nodes:
            self._standing.open(site)
        for lot, site, pods in draft.log:
            self._standing.open(site)
            self._standing.put(lot.shape.id, lot.need, site, pods)

    def hold(self, draft: Draft, purchase: Purchase) -> None:
        """Leaves out of draft and purchase what does not hold: pods that may not come, and nodes that nobody is on then."""
        while True:
            self.replay(draft)
            draft.wanted = draft.came()
            used = {site for mine in draft.wanted.values() for site in mine}
            idle = [site for site, node in draft.nodes.items() if site not in used and not node.raised]
            if not idle:
                return
            for site in idle:
                purchase.drop(draft.nodes.pop(site))
            self._standing.take_back(0)

    def _come(self, lot: Lot, wanted: dict[Site, int]) -> Iterator[Batch]:
        """Takes from `wanted` who comes; those of a spread level by level, each a batch of its own where it matters to others
        who is there before whom."""
        came: list[tuple[Site, int]] = []
        bonds = self._standing.bonds(lot.shape.id)
        once = bonds is None or not (bonds.even or bonds.beside)
        by_level = bonds is not None and bool(bonds.even) and bonds.is_mixed
        moved = True
        while moved:
            moved = False
            for site in list(wanted):
                if pods := self._standing.most(lot.shape.id, lot.need, site, wanted[site]):
                    self._standing.put(lot.shape.id, lot.need, site, pods)
                    came.append((site, pods))
                    wanted[site] -= pods
                    moved = not once
                    if not wanted[site]:
                        del wanted[site]
        if not by_level:
            came = list(_summed(came).items())
        return (Batch(lot, site, pods) for site, pods in came)


def _summed(came: Iterable[tuple[Site, int]]) -> dict[Site, int]:
    found: dict[Site, int] = {}
    for site, pods in came:
        found[site] = found.get(site, 0) + pods
    return found
