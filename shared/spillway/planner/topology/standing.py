"""The ledger of who stands where: counts by rule and domain, kept batch by batch, and taken back without a trace.

Nothing is copied to try something: each step is written down, and undone in reverse. A step costs the rules that speak of the
shape, whatever the size of the cluster.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spillway.model.cluster import PodShape, PodState
from spillway.planner.amounts import NOTHING, Need, most, subtract
from spillway.planner.daemons import Daemons
from spillway.planner.fit import Fit
from spillway.planner.rooms import Kind, Room
from spillway.planner.rules.base import Host, Refusal
from spillway.planner.supply import Source
from spillway.planner.topology.bonds import Bonds
from spillway.planner.topology.rules import Rules
from spillway.planner.topology.sites import Marks, Options, Site, host_of
from spillway.planner.topology.tallies import Company, Evenness, Tally
from spillway.planner.topology.terms import HOSTNAME, Shapes
from spillway.planner.topology.ties import Ties
from spillway.planner.view import LiveNode, View

_Tenants = list[tuple[Tally | Company | Evenness, int, bool]]
"""Who comes and goes with a node, as the tallies in which they count: (tally, pods, whether they surely come)."""


class _Step(NamedTuple):
    """`pods` came, or where there are none the site changed its mark, which `was` before, and its `tenants`, where it was
    shut. `free` is what it had, where the need does not tell."""

    site: Site
    was: int | None = None
    shape: str = ""
    need: Need = NOTHING
    pods: int = 0
    free: Sequence[int] | None = None
    tenants: _Tenants | None = None


class Standing:
    """Nodes that stay and those that come; those that leave are none: what ran there waits, as pods that move.

    `first` is the dimension from which those of neighbours number: what they mean is counted here, node by node, too.
    """

    def __init__(
        self,
        view: View,
        rules: Rules,
        shapes: Shapes,
        waiting: Sequence[PodShape],
        rooms: Sequence[Room],
        fit: Fit,
        daemons: Daemons,
        first: int,
    ) -> None:
        self._fit, self._daemons, self._first = fit, daemons, first
        self._marks = Marks(rules.keys, waiting)
        self._ties = Ties(rules, shapes, self._marks, waiting)
        self._steps: list[_Step] = []
        self._needs: dict[Need, Need] = {}
        self._tenants: dict[str, _Tenants] = {}
        self._running: dict[str, _Tenants] = {}
        self._kinds: dict[int, tuple[tuple[Options, ...], int, _Tenants]] = {}
        self._new = 0
        self.sites = self._stand(view, rooms)

    def bonds(self, shape: str) -> Bonds | None:
        """None for a shape of which no rule speaks."""
        return self._ties.bonds.get(shape)

    def most(self, shape: str, need: Need, site: Site, wanted: int) -> int:
        """How many of `wanted` equal pods may come, one after the other, by amounts and by rules between pods. Whether the
        node suits such a pod at all is Fit's to say."""
        found = most(site.free, self._own(need), wanted)
        bonds = self._ties.bonds.get(shape)
        return bonds.most(site, found) if bonds and found else found

    def holds(self, need: Need, site: Site) -> bool:
        """Whether the site has room for one by amounts."""
        return bool(site.free) and most(site.free, self._own(need), 1) == 1

    def room(self, need: Need, source: Source, wanted: int) -> int:
        """How many pods an empty node of the group holds, by amounts."""
        return most(list(source.have), self._own(need), wanted)

    def refusal(self, shape: str, site: Site) -> Refusal | None:
        """Why no such pod may come, by rules between pods; the text goes on from "the pod …"."""
        bonds = self._ties.bonds.get(shape)
        return next(bonds.refusals(site), None) if bonds else None

    def where(self, site: Site) -> Iterator[tuple[str, Options]]:
        """(topology key, its options)"""
        return zip(self._marks.keys, site.values, strict=True)

    def new(self, source: Source) -> Site:
        """A node that the group could bring; it is nowhere until it opens."""
        self._new += 1
        if source.host not in self._kinds:
            host = self._fit.host(source.host)
            self._kinds[source.host] = self._values(host), self._mark_of(host, ""), self._company(host)
        values, mark, tenants = self._kinds[source.host]
        name = f"{source.group.key}#new{self._new}"
        self._tenants[name] = tenants
        values = tuple((name,) if options == (_ITS_OWN,) else options for options in values)
        return Site(name, values, None, mark, source.host, list(source.have[: self._first]), source=source)

    def open(self, site: Site) -> None:
        """The node comes, with its daemons, or is given back."""
        if not site.is_open:
            self._steps.append(_Step(site, site.mark))
            self._move(site, site.marked)

    def shut(self, site: Site, host: Host, lifted: Iterable[tuple[str, int]]) -> None:
        """The live node's taints are those of `host` now: whoever honours taints counts no more who stays there: all who began
        there but (shape, pods), lifted from it before."""
        self._steps.append(_Step(site, site.mark, tenants=self._tenants.get(site.name, [])))
        gone: _Tenants = [(one, -pods, True) for shape, pods in lifted for one in self._ties.spread.get(shape, ())]
        self._tenants[site.name] = [*self._running.get(site.name, ()), *gone]
        self._move(site, self._marks.of(host))

    def put(self, shape: str, need: Need, site: Site, pods: int) -> None:
        """Pods come to an open site; below 0 they are lifted from it."""
        own = self._own(need)
        self._steps.append(_Step(site, None, shape, own, pods, list(site.free) if own.once else None))
        subtract(site.free, own, pods)
        self._count(shape, site, pods)
        bonds = self._ties.bonds.get(shape)
        if bonds and pods > 0:
            for even in bonds.even:
                even.note(site)

    def mark(self) -> int:
        return len(self._steps)

    def take_back(self, mark: int) -> list[_Step]:
        """Undoes all that came after the mark, and gives it, in its order."""
        undone = self._steps[mark:]
        while len(self._steps) > mark:
            site, was, shape, need, pods, free, tenants = self._steps.pop()
            if not pods:
                self._move(site, was)
                if tenants is not None:
                    self._tenants[site.name] = tenants
                continue
            self._count(shape, site, -pods)
            if free is None:
                subtract(site.free, need, -pods)
            else:
                site.free[:] = free
        return undone

    def repeat(self, steps: Sequence[_Step]) -> None:
        """Does again what was taken back, the ledger being as it was then."""
        for step in steps:
            if step.pods:
                self.put(step.shape, step.need, step.site, step.pods)
            else:
                self.open(step.site)

    def forget_peaks(self) -> None:
        """For all is placed anew."""
        for domains in self._ties.domains.values():
            for spread in domains.spreads:
                spread.peak = 0

    def upsets(self, site: Site) -> bool:
        """Whether the site, which opened, may be in the way of those who came before: it is a domain that they knew nothing of,
        and too empty, or somebody comes with it."""
        if self._tenants.get(site.name):
            return True
        return any(
            any(value is not None and domains.sure.get(value, 0) <= 1 for value in domains.options(site)[0])
            and any(spread.peak > spread.max_skew for spread in domains.spreads)
            for domains in self._ties.domains.values()
        )

    def _own(self, need: Need) -> Need:
        """Without what neighbours say."""
        if need not in self._needs:
            self._needs[need] = Need(tuple(one for one in need.each if one[0] < self._first), need.once)
        return self._needs[need]

    def _count(self, shape: str, site: Site, pods: int) -> None:
        for tally in self._ties.counted.get(shape, ()):
            tally.add(site, pods)
        for spread in self._ties.spread.get(shape, ()):
            spread.add(site, pods)

    def _move(self, site: Site, mark: int | None) -> None:
        """From one mark to another, with who comes and goes with the node."""
        tenants = self._tenants.get(site.name, ())
        if site.mark is not None:
            for tally, pods, sure in tenants:
                tally.add(site, -pods, sure=sure)
            for domains in self._ties.domains.values():
                domains.move(site, -1)
        site.mark = mark
        if mark is not None:
            for domains in self._ties.domains.values():
                domains.move(site, 1)
            for tally, pods, sure in tenants:
                tally.add(site, pods, sure=sure)

    # How it begins

    def _stand(self, view: View, rooms: Sequence[Room]) -> list[Site]:
        """A site for each room, in their order."""
        known, names = {room.target: room for room in rooms}, set()
        found: dict[str, Site] = {}
        for live in view.nodes:
            if not live.is_leaving and live.node.name not in view.draining:
                room = known.get(live.node.name)
                names.add(live.node.name)
                site = self._live(live, room)
                self._begin(site, live, view)
                if room:
                    found[room.target] = site
        for room in rooms:
            if room.target not in names:
                host = self._fit.host(room.host)
                site = self._site(room, room.target, self._values(host), self._mark_of(host, ""))
                self._tenants[site.name] = self._company(host)
                self._move(site, site.marked)
                found[room.target] = site
        return [found[room.target] for room in rooms]

    def _live(self, live: LiveNode, room: Room | None) -> Site:
        """With the labels and taints that a node which starts will have."""
        promised = self._fit.host(room.host) if room else None
        now = host_of(live.node, promised)
        then = now._replace(taints=promised.taints) if promised else now
        site = self._site(room, live.node.name, self._marks.values(then), self._marks.of(then))
        if room and room.kind is Kind.CORDONED:
            site.mark = self._marks.of(now)
        return site

    def _site(self, room: Room | None, name: str, values: tuple[Options, ...], mark: int) -> Site:
        values = tuple((name,) if options == (_ITS_OWN,) else options for options in values)
        if room is None:
            return Site(name, values, None, mark)
        return Site(name, values, None, mark, room.host, list(room.free[: self._first]), room)

    def _begin(self, site: Site, live: LiveNode, view: View) -> None:
        """Who runs on a live node."""
        mark, site.mark = site.mark, None
        self._move(site, site.marked if mark is None else mark)
        tenants: _Tenants = []
        for pods in live.pods:
            number, sure = len(pods.names), pods.state != PodState.NOMINATED
            for tally in self._ties.counted.get(pods.shape, ()):
                tally.add(site, number, sure=sure)
            if pods.state != PodState.TERMINATING:
                for spread in self._ties.spread.get(pods.shape, ()):
                    spread.add(site, number, sure=sure)
                    tenants.append((spread, number, sure))
        if self._daemons.wait_for(live):
            tenants += self._await(site, live, view)
        if tenants:
            self._running[site.name] = tenants
        if site.mark != site.marked:
            self._tenants[site.name] = tenants

    def _await(self, site: Site, live: LiveNode, view: View) -> _Tenants:
        """The daemons that are still to come to a young node, as many as each tally lacks; gives those that a spread counts."""
        lacking = Counter[Tally | Company | Evenness]()
        for tally, number, _ in self._company(self._fit.host(site.host) if site.room else Host(site.name, live.node.labels)):
            lacking[tally] += number
        for pods in live.pods:
            if view.shapes[pods.shape].is_daemon:
                for tally in (*self._ties.counted.get(pods.shape, ()), *self._ties.spread.get(pods.shape, ())):
                    lacking[tally] -= len(pods.names)
        coming: _Tenants = [(tally, number, True) for tally, number in lacking.items() if number > 0]
        for tally, number, _ in coming:
            tally.add(site, number)
        return [one for one in coming if isinstance(one[0], Evenness)]

    def _values(self, host: Host) -> tuple[Options, ...]:
        return self._marks.values(host._replace(labels={**host.labels, HOSTNAME: _ITS_OWN}))

    def _mark_of(self, host: Host, name: str) -> int:
        return self._marks.of(host._replace(labels={**host.labels, HOSTNAME: name}))

    def _company(self, host: Host) -> _Tenants:
        """The daemons of a node to come."""
        found: _Tenants = []
        for shape, sure in self._daemons.shapes_on(host):
            found += [(tally, 1, sure) for tally in self._ties.counted.get(shape, ())]
            found += [(spread, 1, sure) for spread in self._ties.spread.get(shape, ())]
        return found


_ITS_OWN = "*"
"""For a hostname that no other node has: no label may have this value."""
