"""Places in the free room of nodes that stay, by the planner's own fit."""

from collections.abc import Iterable, Mapping, Sequence

from spillway.model.cluster import PodSet, PodShape
from spillway.planner.amounts import Dimensions, Need, most, subtract
from spillway.planner.daemons import Daemons
from spillway.planner.demand import Lot
from spillway.planner.fit import Fit
from spillway.planner.gaps import Gap
from spillway.planner.new_nodes import NewNodes
from spillway.planner.place import Move
from spillway.planner.rooms import Kind, Room, Rooms
from spillway.planner.scale_in.order import Candidate
from spillway.planner.topology.topology import Topology
from spillway.planner.view import LiveNode, View

_Load = tuple[tuple[str, int], ...]


class Elsewhere:
    """Nodes that stay in any case are filled first, then candidates, the last to go before the others.

    Room is only ever taken, so what found none before finds none later: for each kind of pod the search goes on where it
    stopped, and a node whose like could not go is not tried.
    """

    def __init__(self, view: View, gaps: Mapping[str, Gap], moves: Iterable[Move], candidates: Sequence[Candidate]) -> None:
        self._view = view
        shapes = {pods.shape: view.shapes[pods.shape] for one in candidates for pods in one.moves}
        self._bound = {shape.id for shape in shapes.values() if not _is_free(view, shape)}
        self._dimensions, self._fit = Dimensions(shapes.values()), Fit(shapes.values())
        self._needs = {shape.id: self._dimensions.need(shape) for shape in shapes.values()}
        self._kinds = {shape.id: self._fit.shape_kind(shape) for shape in shapes.values()}
        self._rooms = self._open_rooms(gaps, moves, candidates) if shapes else []
        self._starts: dict[tuple[int, Need], int] = {}
        self._gone: set[str] = set()
        self._givers: dict[str, str] = {}
        self._hopeless: dict[tuple[str, _Load, tuple[int, ...]], str] = {}
        self._of = {room.target: room for room in self._rooms}

    def receives(self, live: LiveNode) -> str:
        return self._givers.get(live.node.name, "")

    def close(self, live: LiveNode) -> None:
        self._gone.add(live.node.name)

    def move(self, live: LiveNode, pods: Sequence[PodSet]) -> str:
        name = live.node.name
        load = tuple(sorted((one.shape, len(one.names)) for one in pods))
        own = self._of.get(name)
        key = (live.group.key if live.group else "", load, tuple(own.free) if own else ())
        if key in self._hopeless:
            return self._hopeless[key]
        self._gone.add(name)
        starts, before = dict(self._starts), dict[str, list[int]]()
        for one in sorted(pods, key=lambda one: (-sum(amount for _, amount in self._needs[one.shape].each), one.shape)):
            if left := self._place(one, before):
                for target, free in before.items():
                    self._of[target].free = free
                self._starts = starts
                self._gone.discard(name)
                self._hopeless[key] = self._lack(one, left)
                return self._hopeless[key]
        for target in before:
            self._givers.setdefault(target, name)
        return ""

    def _place(self, pods: PodSet, before: dict[str, list[int]]) -> int:
        """How many of them have no place. `before` keeps the room of nodes as it was, where it is taken."""
        if pods.shape in self._bound:
            return len(pods.names)
        need, kind, left = self._needs[pods.shape], self._kinds[pods.shape], len(pods.names)
        start = self._starts.get((kind, need), 0)
        has_room = False
        for index in range(start, len(self._rooms)):
            room = self._rooms[index]
            if self._fit.refusal(kind, room.host) is None and (fitting := most(room.free, need, left)):
                has_room = True
                if room.target in self._gone:
                    continue
                before.setdefault(room.target, list(room.free))
                subtract(room.free, need, fitting)
                left -= fitting
                if not left:
                    break
            elif not has_room:
                self._starts[kind, need] = index + 1
        return left

    def _lack(self, pods: PodSet, left: int) -> str:
        shape = self._view.shapes[pods.shape]
        name = f"{shape.namespace}/{pods.names[0]}"
        if pods.shape in self._bound:
            return f"what {name} and other pods say of each other, or share, is not judged for a move"
        return f"{name if left == 1 else f'{left} pods like {name}'} would have no place on another node"

    def _open_rooms(self, gaps: Mapping[str, Gap], moves: Iterable[Move], candidates: Sequence[Candidate]) -> list[Room]:
        """Of nodes that are Ready, past their start and cordoned by nobody, without what this plan gives to others."""
        view, dimensions = self._view, self._dimensions
        daemons = Daemons(view, dimensions)
        rooms = Rooms(view, dimensions, self._fit, NewNodes(view, dimensions, daemons), daemons)
        closed = {live.node.name for live in view.nodes if live.node.unschedulable or live.node.cordoned_by}
        found = {room.target: room for room in rooms.all(dict(gaps)) if room.kind is Kind.LIVE and room.target not in closed}
        for move in moves:
            if room := found.get(move.room.target):
                for lot, pods in move.parcel.parts:
                    subtract(room.free, dimensions.need(lot.shape), pods * move.units)
        turns = {one.live.node.name: len(candidates) - turn for turn, one in enumerate(candidates)}
        return sorted(found.values(), key=lambda room: (turns.get(room.target, 0), room.is_empty, room.target))


def _is_free(view: View, shape: PodShape) -> bool:
    """Whether it and other pods say nothing of each other, and it shares no volume."""
    alone = Topology(view, [_lot(view, shape)])
    return alone.is_silent and not any(volume.shared for volume in shape.volumes)


def _lot(view: View, shape: PodShape) -> Lot:
    pods = next(pods for pods in view.cluster.pods if pods.shape == shape.id)
    return Lot(shape, pods, len(pods.names))
