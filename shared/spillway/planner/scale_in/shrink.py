"""Which nodes go, and for every other of ours why it stays."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from spillway.model.plan import Kept, ScaleIn, Why
from spillway.model.reason import Code, Reason
from spillway.planner.gaps import Gap
from spillway.planner.scale_in import never_joined, steps
from spillway.planner.scale_in.bounds import Bounds, Leaver, leaver
from spillway.planner.scale_in.elsewhere import Elsewhere
from spillway.planner.scale_in.facts import Facts
from spillway.planner.scale_in.never_joined import Lost
from spillway.planner.scale_in.order import Candidate, ordered
from spillway.planner.scale_in.rules import RULES
from spillway.planner.scale_in.verdict import Goes, Verdict
from spillway.planner.view import LiveNode, View

_WAITS = (Code.BUDGET, Code.REMOVAL_LIMIT, Code.WINDOW, Code.STALE_VIEW, Code.REGION_UNKNOWN)
"""Of a node that we have cordoned: it goes a little later, so it is not given back."""


@dataclass
class Shrink:
    """The removals of one plan, checked together. `used` are nodes that pods of this plan go to; `places` makes room for those
    of the candidates, in the order in which they go."""

    view: View
    gaps: Mapping[str, Gap]
    used: frozenset[str]
    places: Callable[[Sequence[Candidate]], Elsewhere]
    removed: list[Candidate] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    unbounded: list[tuple[LiveNode, Goes]] = field(default_factory=list)
    kept: dict[str, Reason] = field(default_factory=dict)
    give_back: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def run(self) -> None:
        facts = Facts(self.view, self.used)
        candidates = ordered(self.view, self._judged(facts))
        self._never_joined = never_joined.lost(self.view)
        self._silence = facts.silence
        bounds = Bounds(self.view, self.gaps, len(self._never_joined))
        for lost in never_joined.ended(self.view, self._never_joined):
            going = Leaver(f"instance {lost.instance.id}", lost.group, Why.UNREGISTERED, lost.instance.weight)
            if bounds.refusal(going) is None:
                bounds.take(going)
                self.lost.append(lost)
        places = self.places(candidates)
        for one in candidates:
            if reason := self._refusal(one, bounds, facts, places):
                self.kept[one.live.node.name] = reason
            else:
                bounds.take(leaver(one.live, one.group, one.goes.why))
                facts.disruptions.take(one.moves)
                self.removed.append(one)
        self._uncordon_orphans()

    def steps(self, first: int) -> list[ScaleIn]:
        found = [steps.of_instance(self.view, one, step) for step, one in enumerate(self.lost, first)]
        first += len(found)
        found += [steps.of_node(self.view, one.live, one.goes, n, one.moves) for n, one in enumerate(self.removed, first)]
        first += len(self.removed)
        return found + [steps.of_node(self.view, live, goes, n) for n, (live, goes) in enumerate(self.unbounded, first)]

    def reasons(self) -> Iterable[Kept]:
        return (Kept(node=name, reason=self.kept[name]) for name in sorted(self.kept))

    def gone(self) -> Iterable[str]:
        """The group's key of each that is removed by our own wish."""
        yield from (one.group.key for one in self.removed)
        yield from (lost.group.key for lost in self.lost)

    def warnings(self) -> Iterable[Reason]:
        """What somebody has to look into."""
        yield from never_joined.warnings(self.view, self._never_joined)
        yield from self._silence.warnings()

    def _judged(self, facts: Facts) -> Iterable[Candidate]:
        """What the rules let go, but for what goes without limits."""
        for live in self.view.nodes:
            verdict = _verdict(live, facts)
            if not isinstance(verdict, Goes):
                self.kept[live.node.name] = Reason(code=verdict.code, text=f"node {live.node.name} {verdict.text}")
            elif verdict.why in (Why.INTERRUPTED, Why.VANISHED) or live.group is None:
                self.unbounded.append((live, verdict))
            else:
                moves = facts.drain(live).moves if verdict.why is Why.UNDERUTILISED else ()
                yield Candidate(live, live.group, verdict, moves)

    def _refusal(self, one: Candidate, bounds: Bounds, facts: Facts, places: Elsewhere) -> Reason | None:
        name = one.live.node.name
        if giver := places.receives(one.live):
            return Reason(code=Code.RECEIVES_PODS, text=f"node {name} stays: pods of node {giver} move there")
        if reason := bounds.refusal(leaver(one.live, one.group, one.goes.why)):
            return reason
        if not one.moves:
            places.let_go(one.live)
            return None
        if spent := facts.disruptions.refusal(one.moves):
            return Reason(code=Code.DISRUPTION_BUDGET, text=f"node {name} waits: one of its pods {spent}")
        if lack := places.move(one.live, one.moves):
            return Reason(code=Code.NO_PLACE, text=f"node {name} stays: {lack}")
        return None

    def _uncordon_orphans(self) -> None:
        """Nodes that we cordoned and that neither go nor are drained are given back to the scheduler."""
        found: dict[str, list[str]] = defaultdict(list)
        if not self.view.may_grow:
            return
        for live in self.view.nodes:
            node, reason = live.node, self.kept.get(live.node.name)
            if not node.cordon or live.group is None or reason is None or live.is_leaving:
                continue
            if node.name not in self.view.draining and node.name not in self.used and reason.code not in _WAITS:
                found[live.group.key].append(node.name)
        self.give_back = {key: tuple(names) for key, names in found.items()}


def _verdict(live: LiveNode, facts: Facts) -> Verdict:
    for rule in RULES:
        if verdict := rule.verdict(live, facts):
            return verdict
    raise ValueError(f"no rule of scale in says anything of node {live.node.name}")
