"""Why a pod gets no node: for each group the one reason that tells most, the nearest group first."""

from collections.abc import Iterable, Sequence

from spillway.model import quantity
from spillway.model.fleet import NodeGroup
from spillway.model.plan import GroupReason, Unserved
from spillway.model.reason import Code
from spillway.planner.amounts import Dimensions
from spillway.planner.demand import Lot
from spillway.planner.fit import Fit
from spillway.planner.limits import Ledger
from spillway.planner.new_nodes import NewNodes
from spillway.planner.supply import Supply
from spillway.planner.topology.reasons import Reasons
from spillway.planner.view import View

NAMED = 40  # groups with a reason of their own; further ones are folded into one line for each region and code

# How near a refusal is to a node: what time or room would mend first, what needs another group last.
_NEARNESS = (
    Code.STALE_VIEW, Code.UNAVAILABLE, Code.AT_MAX, Code.LIMIT, Code.RESERVATION, Code.QUOTA,
    Code.SUSPENDED, Code.CHANGING, Code.OTHER_OWNER, Code.DISABLED, Code.REGION_UNKNOWN,
    Code.NO_TEMPLATE, Code.REGION_EXCLUDED, Code.SINGLE_REGION, Code.IGNORED, Code.TOO_SMALL, Code.ZONE, Code.TAINT,
    Code.AFFINITY, Code.SELECTOR, Code.VOLUME, Code.TOPOLOGY_SPREAD, Code.POD_ANTI_AFFINITY, Code.POD_AFFINITY,
)  # fmt: skip


class Explainer:
    def __init__(
        self,
        view: View,
        supply: Supply,
        fit: Fit,
        dimensions: Dimensions,
        new_nodes: NewNodes,
        ledger: Ledger,
        neighbours: Reasons | None = None,
    ) -> None:
        self._neighbours = neighbours
        self._view, self._supply, self._fit = view, supply, fit
        self._dimensions, self._new_nodes, self._ledger = dimensions, new_nodes, ledger

    def unserved(self, lot: Lot, left: int) -> Unserved:
        found = [(_near(code), gap, key, self._entry(key, code, text)) for key, code, gap, text in self._reasons(lot)]
        ordered = [entry for *_, entry in sorted(found, key=lambda one: one[:3])]
        return Unserved(shape=lot.shape.id, pods=left, examples=lot.examples(lot.count - left), reasons=tuple(_folded(ordered)))

    def _entry(self, key: str, code: Code, text: str) -> GroupReason:
        group = self._view.groups.get(key)
        return GroupReason(region=group.region if group else "", group=group.name if group else "", code=code, text=text)

    def _reasons(self, lot: Lot) -> Iterable[tuple[str, Code, float, str]]:
        """(group's key, code, how far from fitting, sentence)."""
        if lot.shape.resource_claims:
            claims = ", ".join(lot.shape.resource_claims)
            yield "", Code.NOT_JUDGED, 0.0, f"resource claims ({claims}) are not judged, so its pods buy no node"
            return
        if lot.problem:
            yield "", Code.NOT_JUDGED, 0.0, f"its gang is not known at present, so its pods buy no node: {lot.problem}"
            return
        if lot.refused and lot.limit < lot.count:
            yield "", Code.VOLUME, 0.0, lot.refused
            return
        if not self._view.groups:
            yield "", Code.NO_GROUPS, 0.0, f"cluster {self._view.cluster.cluster} has no Auto Scaling groups: see their tags"
        for key, group in self._view.groups.items():
            yield (key, *self._reason(lot, group))

    def _reason(self, lot: Lot, group: NodeGroup) -> tuple[Code, float, str]:
        refused = self._supply.refused.get(group.key)
        if group.template is None or (refused and refused.code in (Code.IGNORED, Code.REGION_EXCLUDED, Code.SINGLE_REGION)):
            return (refused.code, 0.0, refused.text) if refused else (Code.NO_TEMPLATE, 0.0, group.problem)
        host, have = self._new_nodes.of(group, group.template)
        rule = self._fit.refusal(lot.kind, self._fit.host_kind(host))
        if rule:
            return rule.code, 0.0, rule.text
        short = [(dimension, amount) for dimension, amount in lot.need.alone if amount > have[dimension]]
        short = [one for one in short if not self._dimensions.is_neighbour(one[0])]
        if short:
            return Code.TOO_SMALL, *self._too_small(short, have, group)
        if refused:
            return refused.code, 0.0, refused.text
        limit = self._ledger.refusal(group)
        if limit and group.key in self._supply.sources:
            return limit.code, 0.0, limit.text
        beside = self._neighbours.of(lot, group.key) if self._neighbours and group.key in self._supply.sources else None
        if beside:
            return beside.code, 0.0, beside.text
        source = self._supply.sources.get(group.key)
        if source and source.closed:
            return source.closed.code, 0.0, source.closed.text
        return Code.AT_MAX, 0.0, f"at its max of {self._view.max_of(group)} nodes"

    def _too_small(self, short: Sequence[tuple[int, int]], have: Sequence[int], group: NodeGroup) -> tuple[float, str]:
        """How far the pod exceeds the node, and `needs 16 nvidia.com/gpu, g5.48xlarge has 8`."""
        names = self._dimensions.names
        types = group.template.instance_types if group.template else ()
        node = types[0] if len(types) == 1 else f"a node of {group.name}"
        needs = " and ".join(f"{quantity.show(names[d], amount)} {names[d]}" for d, amount in short)
        offered = " and ".join(quantity.show(names[d], have[d]) for d, _ in short)
        return max(amount / max(have[d], 1e-3) for d, amount in short), f"needs {needs}, {node} has {offered}"


def _near(code: Code) -> int:
    return _NEARNESS.index(code) if code in _NEARNESS else len(_NEARNESS)


def _folded(entries: Sequence[GroupReason]) -> Iterable[GroupReason]:
    yield from entries[:NAMED]
    counts: dict[tuple[str, Code], int] = {}
    for entry in entries[NAMED:]:
        counts[entry.region, entry.code] = counts.get((entry.region, entry.code), 0) + 1
    for (region, code), count in sorted(counts.items()):
        yield GroupReason(region=region, group="*", code=code, text=f"and {count} groups more for the like reason")
