"""The plan: one pure function of what was seen, what is remembered, and what the policy says."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from spillway.model.base import encode
from spillway.model.cluster import ClusterSnapshot
from spillway.model.fleet import FleetSnapshot
from spillway.model.memory import Memory
from spillway.model.plan import Placement, Plan, Summary
from spillway.model.policy import Policy
from spillway.model.reason import Code, Reason
from spillway.planner import demand, exclusive, place, supply, unjudged
from spillway.planner.amounts import Dimensions
from spillway.planner.buy import Purchase, buy
from spillway.planner.daemons import Daemons
from spillway.planner.demand import Lot
from spillway.planner.fit import Fit
from spillway.planner.free_volumes import settle as free_volumes
from spillway.planner.free_volumes.dealing import Dealing
from spillway.planner.gaps import Gap, gap_of
from spillway.planner.give_back import give_back
from spillway.planner.limits import ledger
from spillway.planner.market import Market
from spillway.planner.new_nodes import NewNodes
from spillway.planner.paid import paid, total_usd_h
from spillway.planner.place import Move
from spillway.planner.preferences.arrange import Arranger
from spillway.planner.preferences.wishes import Preferences
from spillway.planner.problem import Problem
from spillway.planner.rooms import Kind, Room, Rooms
from spillway.planner.scale_in.elsewhere import Elsewhere
from spillway.planner.scale_in.shrink import Shrink
from spillway.planner.scale_out import Growth
from spillway.planner.supply import Supply
from spillway.planner.topology.settle import Settled, Settling
from spillway.planner.topology.topology import Topology
from spillway.planner.unserved import Explainer
from spillway.planner.view import View, view


def plan(cluster: ClusterSnapshot, fleet: FleetSnapshot, memory: Memory, policy: Policy, now: datetime) -> Plan:
    """What to do about the cluster as both snapshots show it. Same input in any order, same bytes.

    `memory` is what `clocks.observe` made of these snapshots; `now` is the later of their `taken_at`.
    """
    seen = view(cluster, fleet, memory, policy, now)
    gaps = {key: gap_of(seen, group) for key, group in seen.groups.items()}
    lots: Sequence[Lot] = demand.waiting(seen)
    nominated = list(demand.nominated(seen))
    shapes = [lot.shape for lot in lots]
    topology = Topology(seen, [lot for lot in lots if not lot.shape.resource_claims])
    dimensions, fit = Dimensions(shapes, topology.hosts), Fit(shapes, keys=topology.keys)
    for lot in lots:
        lot.need, lot.kind = dimensions.need(lot.shape), fit.shape_kind(lot.shape)
    exclusive.limit(lots)

    daemons = Daemons(seen, dimensions)
    new_nodes = NewNodes(seen, dimensions, daemons)
    preferences = Preferences(seen, topology.waiting, topology.terms, topology.shapes)
    rooms = Rooms(seen, dimensions, fit, new_nodes, daemons, preferences).all(gaps)
    limits = ledger(seen, gaps)
    market_supply = supply.supply(seen, gaps, new_nodes, fit, preferences)
    desired = {key: seen.groups[key].nodes(gap.desired) for key, gap in gaps.items()}
    there = {key: gap.coming + sum(i.is_member for i in seen.groups[key].instances) for key, gap in gaps.items()}
    free, raised = paid(seen, there), _below_min(seen, gaps, market_supply)

    def bought(market: Market) -> Purchase:
        return buy(market, limits, free, [market.sources[key] for key in raised], desired)

    problem = Problem(seen, topology, market_supply, fit, dimensions)
    coming = {key: gap.coming for key, gap in gaps.items()}

    def settled_of(lots: Sequence[Lot], rooms: Sequence[Room]) -> Settled:
        judged = [lot for lot in lots if lot.is_judged]
        return Settling(problem, judged, rooms, daemons, coming, bought).settle()

    dealing = Dealing(problem, lots, rooms)
    lots, rooms, settled = free_volumes.settle(lots, rooms, dealing, settled_of)
    judged, waiting = [lot for lot in lots if lot.is_judged], [lot for lot in lots if not lot.moving]
    arranger = Arranger(problem, judged, rooms, preferences, free, desired, coming)

    def shrunk(moves: Sequence[Move]) -> Shrink:
        used = frozenset({move.room.target for move in moves} | {p.target for p in nominated})
        found = Shrink(seen, gaps, used, lambda candidates: Elsewhere(seen, gaps, moves, candidates))
        found.run()
        return found

    arranged, shrink = arranger.arrange(settled), shrunk(settled.moves)
    if arranged.settled is not settled:
        nicer = shrunk(arranged.settled.moves)
        if _saves(seen, there, nicer) >= _saves(seen, there, shrink):
            shrink = nicer
        else:  # what pods prefer would hold back a node that goes
            arranged = arranger.arrange(settled, rooms_stay=True)
    settled, told = arranged
    market, purchase, placed = settled.market, settled.purchase, place.placed(settled.moves)
    grow, new = Growth(seen, lots, gaps, market, purchase, placed, shrink.give_back, dimensions, told).build()
    leave = shrink.steps(len(grow) + 1)
    explain = Explainer(seen, market_supply, fit, dimensions, new_nodes, purchase.ledger, settled.reasons)
    found = Plan(
        plan_id="",
        cluster=cluster.cluster,
        created_at=now,
        policy_version=version(policy),
        snapshots=(cluster.id, fleet.id),
        summary=_summary(seen, waiting, nominated, placed.pods, new, purchase, shrink),
        scale_out=tuple(grow),
        scale_in=tuple(leave),
        give_back=tuple(give_back(seen, gaps, len(grow) + len(leave) + 1)),
        unserved=tuple(explain.unserved(lot, lot.left) for lot in waiting if lot.left),
        kept=tuple(shrink.reasons()),
        warnings=tuple(_warnings(seen, shrink)),
        placements=(*nominated, *settled.in_order([*placed.placements, *new])),
    )
    return msgspec.structs.replace(found, plan_id=_plan_id(found))


def version(policy: Policy) -> str:
    """Names the content: two documents that say the same have one version."""
    return hashlib.sha256(encode(policy.model_dump(mode="json"))).hexdigest()[:12]


def _plan_id(found: Plan) -> str:
    """Hash of the inputs' ids and the steps."""
    parts = (
        found.cluster, found.created_at, found.policy_version, found.snapshots,
        found.scale_out, found.scale_in, found.give_back,
    )  # fmt: skip
    return hashlib.sha256(encode(parts)).hexdigest()[:16]


def _saves(seen: View, there: Mapping[str, int], shrink: Shrink) -> tuple[float, int]:
    """What removals save an hour, and how many nodes they are."""
    gone = Counter(shrink.gone())
    return _dollars(total_usd_h(seen, there) - total_usd_h(seen, Counter(there) - gone)), gone.total()


def _below_min(seen: View, gaps: Mapping[str, Gap], market_supply: Supply) -> list[str]:
    """A group's key for each node that it lacks to its min."""
    return [
        key
        for key, source in market_supply.sources.items()
        for _ in range(source.group.nodes(seen.min_of(source.group) - gaps[key].desired))
    ]


def _summary(
    seen: View,
    waiting: Sequence[Lot],
    nominated: Sequence[Placement],
    on_rooms: Mapping[Kind, int],
    on_new: Sequence[Placement],
    purchase: Purchase,
    shrink: Shrink,
) -> Summary:
    meant = sum(placement.pods for placement in nominated)
    there = Counter({key: sum(i.is_member for i in group.instances) for key, group in seen.groups.items()})
    grown = there + Counter(node.source.group.key for node in purchase.nodes)
    gone = Counter(shrink.gone())
    before, bought = total_usd_h(seen, there), total_usd_h(seen, grown)
    return Summary(
        pods_pending=sum(lot.count for lot in waiting) + meant,
        pods_on_free_room=on_rooms[Kind.LIVE] + on_rooms[Kind.CORDONED] + meant,
        pods_on_coming_nodes=on_rooms[Kind.COMING],
        pods_on_new_nodes=sum(placement.pods for placement in on_new),
        pods_unserved=sum(lot.left for lot in waiting),
        nodes_new=len(purchase.nodes),
        nodes_removed=gone.total(),
        price_usd_h_new=_dollars(bought - before),
        price_usd_h_before=_dollars(before),
        price_usd_h_after=_dollars(total_usd_h(seen, grown - gone)),
    )


def _dollars(amount: float) -> float:
    return round(amount, 6)


def _warnings(seen: View, shrink: Shrink) -> Iterable[Reason]:
    found = [*seen.cluster.warnings, *seen.fleet.warnings, *seen.warnings, *supply.warnings(seen), *_silent(seen)]
    found += [*unjudged.warnings(seen), *shrink.warnings()]
    return sorted(set(found), key=lambda warning: (warning.code, warning.text))


def _silent(seen: View) -> Iterable[Reason]:
    told = " ".join(w.text for w in seen.fleet.warnings if w.code is Code.REGION_SILENT)
    for region in seen.fleet.regions:
        if not region.known and region.name not in told:
            text = f"region {region.name} did not answer ({region.problem}): its groups are neither raised nor lowered"
            yield Reason(code=Code.REGION_SILENT, text=text)
