"""In which order nodes go: dead ones, empty ones by how long they are, then those that give most for least disruption."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from spillway.model.cluster import PodSet
from spillway.model.fleet import NodeGroup
from spillway.model.plan import Why
from spillway.planner import prices
from spillway.planner.scale_in.verdict import Goes
from spillway.planner.view import LiveNode, View

_TURN = {Why.DEAD: 0, Why.EMPTY: 1, Why.UNDERUTILISED: 2}


class Candidate(NamedTuple):
    """A node of ours that may go; its `moves` need a place."""

    live: LiveNode
    group: NodeGroup
    goes: Goes
    moves: tuple[PodSet, ...] = ()


def ordered(view: View, found: Iterable[Candidate]) -> list[Candidate]:
    """Among equals those whose going keeps the zones of their group even."""
    candidates = sorted(found, key=lambda one: one.live.node.name)
    crowds = _crowds(view, candidates)
    costs = {one.group.key: prices.weight(view, one.group) if one.group.template else 0.0 for one in candidates}

    def rank(one: Candidate) -> tuple[int, datetime, float, int, str]:
        name, since = one.live.node.name, _since(view, one)
        pods = sum(len(pods.names) for pods in one.moves)
        gain = costs[one.group.key] / (1 + pods) if one.goes.why is Why.UNDERUTILISED else 0.0
        return _TURN[one.goes.why], since, -gain, -crowds[name], name

    return sorted(candidates, key=rank)


def _since(view: View, one: Candidate) -> datetime:
    """Of empty nodes alone; what an ended run left cordoned has waited longest."""
    first = datetime.min.replace(tzinfo=view.now.tzinfo)
    if one.goes.why is not Why.EMPTY or one.live.node.cordon:
        return first
    return view.clock_of(one.live).idle_since or view.now


def _crowds(view: View, candidates: Iterable[Candidate]) -> dict[str, int]:
    """By node, how many nodes its zone still has in its group when those before it have gone."""
    there = Counter(_zone(live) for live in view.nodes if live.group is not None and not live.is_leaving)
    gone: dict[tuple[str, str], int] = defaultdict(int)
    found = {}
    for one in candidates:
        zone = _zone(one.live)
        found[one.live.node.name] = there[zone] - gone[zone]
        gone[zone] += 1
    return found


def _zone(live: LiveNode) -> tuple[str, str]:
    return live.group.key if live.group else "", live.instance.zone if live.instance else ""
