"""Where the pods of nodes that go would run: every one of them has a place, or its node stays.

Tried on the ledger of who stands where, in the state that the scheduler will see: the pods are lifted, their node is there and
tainted, and moves that were made before hold. Pods that wait come first: what this plan gives them is taken already.
"""

from collections.abc import Iterable, Mapping, Sequence

from spillway.model.cluster import PodSet, Taint
from spillway.planner.amounts import Dimensions
from spillway.planner.daemons import Daemons
from spillway.planner.demand import Lot
from spillway.planner.fit import Fit
from spillway.planner.gaps import Gap
from spillway.planner.new_nodes import NewNodes
from spillway.planner.place import Move
from spillway.planner.preferences.wishes import unasked
from spillway.planner.rooms import CORDON_TAINT, Kind, Room, Rooms
from spillway.planner.rules.base import Host
from spillway.planner.scale_in.order import Candidate
from spillway.planner.starting import repelling
from spillway.planner.topology.sites import Site
from spillway.planner.topology.standing import Standing
from spillway.planner.topology.topology import Topology
from spillway.planner.view import LiveNode, View

LEAVING_TAINT = Taint(key="ToBeDeletedByClusterAutoscaler", effect="NoSchedule")
_Load = tuple[tuple[str, int], ...]


class Elsewhere:
    """Nodes that stay in any case are filled first, then candidates, the last to go before the others.

    Amounts are only ever taken, so for a pod of which no rule between pods speaks the search goes on where it stopped, and a
    node whose like could not go with such pods is not tried.
    """

    def __init__(self, view: View, gaps: Mapping[str, Gap], moves: Iterable[Move], candidates: Sequence[Candidate]) -> None:
        self._view = view
        shapes = {pods.shape: view.shapes[pods.shape] for one in candidates for pods in one.moves}
        topology = Topology(view, _lots(view, shapes))
        self._dimensions, self._fit = Dimensions(shapes.values(), topology.hosts), Fit(shapes.values(), keys=topology.keys)
        self._needs = {shape.id: self._dimensions.need(shape) for shape in shapes.values()}
        self._kinds = {shape.id: self._fit.shape_kind(shape) for shape in shapes.values()}
        self._shares = {shape.id for shape in shapes.values() if any(volume.shared for volume in shape.volumes)}
        daemons = Daemons(view, self._dimensions)
        rooms = self._rooms(gaps, daemons, candidates) if shapes else []
        first = self._dimensions.first_neighbour
        self._standing = Standing(view, topology.rules, topology.shapes, topology.waiting, rooms, self._fit, daemons, first)
        self._sites = {site.name: site for site in self._standing.sites}
        self._open = [site for site in self._standing.sites if site.room and site.room.kind is Kind.LIVE]
        self._place_others(moves)
        self._starts: dict[str, int] = {}
        self._gone: set[str] = set()
        self._givers: dict[str, str] = {}
        self._hopeless: dict[tuple[str, _Load, tuple[int, ...]], str] = {}

    def receives(self, live: LiveNode) -> str:
        """The node whose pods move to this one, "" for none."""
        return self._givers.get(live.node.name, "")

    def let_go(self, live: LiveNode) -> None:
        """The node goes, and none of its pods needs a place."""
        self._gone.add(live.node.name)
        if site := self._sites.get(live.node.name):
            self._shut(live, site, ())

    def move(self, live: LiveNode, pods: Sequence[PodSet]) -> str:
        """Books a place elsewhere for all of them, and the node for gone; else nothing, and says which has none."""
        name, site = live.node.name, self._sites[live.node.name]
        load = tuple(sorted((one.shape, len(one.names)) for one in pods))
        is_free = all(self._standing.bonds(shape) is None for shape, _ in load)
        key = (live.group.key if live.group else "", load, tuple(site.free))
        if is_free and key in self._hopeless:
            return self._hopeless[key]
        mark, starts, taken = self._standing.mark(), dict(self._starts), set[str]()
        self._gone.add(name)
        for one in pods:
            self._standing.put(one.shape, self._needs[one.shape], site, -len(one.names))
        self._shut(live, site, pods)
        for one in sorted(pods, key=lambda one: (-sum(amount for _, amount in self._needs[one.shape].each), one.shape)):
            if left := self._place(one, taken):
                self._standing.take_back(mark)
                self._starts = starts
                self._gone.discard(name)
                lack = self._lack(one, left)
                if is_free:
                    self._hopeless[key] = lack
                return lack
        for target in taken:
            self._givers.setdefault(target, name)
        return ""

    def _place(self, pods: PodSet, taken: set[str]) -> int:
        """How many of them have no place; `taken` gets the names of the nodes on which the others have one."""
        left = len(pods.names)
        if pods.shape in self._shares:
            return left
        bound = self._standing.bonds(pods.shape) is not None
        while left:
            before = left
            left = self._round(pods.shape, left, 0 if bound else self._starts.get(pods.shape, 0), taken)
            if left == before or not bound:
                return left
        return 0

    def _round(self, shape: str, left: int, start: int, taken: set[str]) -> int:
        """Once over the nodes; where each new pod may let another one come, there is a next round."""
        need, kind, is_full = self._needs[shape], self._kinds[shape], True
        for index in range(start, len(self._open)):
            site = self._open[index]
            fits = self._fit.refusal(kind, site.host) is None
            found = self._standing.most(shape, need, site, left) if fits else 0
            if found and site.name in self._gone:
                is_full = False
            elif found:
                is_full = False
                self._standing.put(shape, need, site, found)
                taken.add(site.name)
                left -= found
                if not left:
                    break
            elif is_full:
                self._starts[shape] = index + 1
        return left

    def _shut(self, live: LiveNode, site: Site, moved: Sequence[PodSet]) -> None:
        """The node is there and tainted, as it will be while it drains."""
        node = live.node
        host = Host(node.name, node.labels, (*repelling(node.taints), CORDON_TAINT, LEAVING_TAINT))
        self._standing.shut(site, host, [(pods.shape, len(pods.names)) for pods in moved])

    def _lack(self, pods: PodSet, left: int) -> str:
        shape = self._view.shapes[pods.shape]
        name = f"{shape.namespace}/{pods.names[0]}"
        if pods.shape in self._shares:
            return f"{name} shares a volume with other pods, which is not judged for a move"
        return f"{name if left == 1 else f'{left} pods like {name}'} would have no place on another node"

    def _rooms(self, gaps: Mapping[str, Gap], daemons: Daemons, candidates: Sequence[Candidate]) -> list[Room]:
        """Of nodes that are Ready and past their start, those to be filled first before the others. Those that somebody has
        cordoned take nobody."""
        view, dimensions = self._view, self._dimensions
        rooms = Rooms(view, dimensions, self._fit, NewNodes(view, dimensions, daemons), daemons, unasked(view))
        shut = {
            live.node.name for live in view.nodes if (live.node.unschedulable or live.node.cordoned_by) and not live.node.cordon
        }
        found = (room for room in rooms.all(dict(gaps)) if room.kind is not Kind.COMING and room.target not in shut)
        turns = {one.live.node.name: len(candidates) - turn for turn, one in enumerate(candidates)}
        return sorted(found, key=lambda room: (turns.get(room.target, 0), room.is_empty, room.target))

    def _place_others(self, moves: Iterable[Move]) -> None:
        """What this plan gives to pods that wait."""
        for move in moves:
            if site := self._sites.get(move.room.target):
                for lot, pods in move.parcel.parts:
                    self._standing.put(lot.shape.id, self._dimensions.need(lot.shape), site, pods * move.units)


def _lots(view: View, shapes: Iterable[str]) -> list[Lot]:
    """For what is read of shapes alone."""
    samples: dict[str, PodSet] = {}
    for pods in view.cluster.pods:
        samples.setdefault(pods.shape, pods)
    return [Lot(view.shapes[shape], samples[shape], len(samples[shape].names)) for shape in shapes]
