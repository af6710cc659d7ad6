"""Where pods may stand: nodes that are there, that come, and that a group could still bring, as rules between pods see them."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from spillway.model.cluster import Node, PodShape
from spillway.model.selector import UNTOLD
from spillway.planner.fit import Fit
from spillway.planner.rooms import Room, keeping_off
from spillway.planner.rules import node_affinity, node_name, node_selector, taints
from spillway.planner.rules.base import Host
from spillway.planner.supply import Source
from spillway.planner.topology.terms import HOSTNAME, Spread

Options = tuple[str | None, ...]
"""Values that a key may have on a node: None where it may lack it, UNTOLD where it may be any."""


def host_of(node: Node, promised: Host | None) -> Host:
    """One that is there, with the labels that are `promised` of it while it starts, and the taints that it has now."""
    labels = {key: value for key, value in promised.labels.items() if key != HOSTNAME} if promised else {}
    return Host(node.name, {**labels, **node.labels}, keeping_off(node))


def is_sure(options: Options) -> bool:
    return len(options) == 1 and options[0] != UNTOLD


@dataclass(slots=True, eq=False)
class Site:
    """A node. `host` is its kind in Fit and `free` what it has left of amounts, -1 and nothing where no pod may go there.

    `values` are the options of each key, `mark` what spreads tell of it now, None while it is not there, `marked` what they
    tell of it once a pod of the plan stands on it. `room` or `source` is what it was made of.
    """

    name: str
    values: tuple[Options, ...]
    mark: int | None
    marked: int
    host: int = -1
    free: list[int] = field(default_factory=list)
    room: Room | None = None
    source: Source | None = None

    @property
    def is_open(self) -> bool:
        return self.mark == self.marked


class Marks:
    """Nodes that no spread tells apart share a mark: the number of their labels, selectors and taints as policies read them.

    `keys` are those of topology that are read of nodes; `shapes` are the pods that wait.
    """

    def __init__(self, keys: Sequence[str], shapes: Sequence[PodShape]) -> None:
        self.keys = tuple(keys)
        self._affinity = Fit(shapes, (node_name, node_selector, node_affinity))
        self._taints = Fit(shapes, (taints,))
        self._read = self._affinity.keys | self._taints.keys | frozenset(keys)
        self._known: dict[Hashable, int] = {}
        self._all: list[tuple[tuple[frozenset[str], ...], tuple[tuple[int, int], ...]]] = []

    def values(self, host: Host) -> tuple[Options, ...]:
        """By key."""
        found = ([variant.labels.get(key) for variant in host.each((key,))] for key in self.keys)
        return tuple(tuple(dict.fromkeys(values)) for values in found)

    def of(self, host: Host) -> int:
        variants = host.each(self._read)
        present = tuple(frozenset(key for key in self.keys if key in variant.labels) for variant in variants)
        kinds = tuple((self._affinity.host_kind(variant), self._taints.host_kind(variant)) for variant in variants)
        mark = self._known.setdefault((present, kinds), len(self._all))
        if mark == len(self._all):
            self._all.append((present, kinds))
        return mark

    def policies(self, spread: Spread, shape: PodShape) -> tuple[int, int]:
        """What of the shape says which nodes the spread counts: -1 where its policy ignores it."""
        affinity = self._affinity.shape_kind(shape) if spread.honors_affinity else -1
        return affinity, self._taints.shape_kind(shape) if spread.honors_taints else -1

    def counted(self, mark: int, keys: Sequence[str], policies: tuple[int, int]) -> tuple[bool, bool]:
        """Whether a spread over `keys` counts such a node: (surely, perhaps)."""
        present, kinds = self._all[mark]
        verdicts = [
            there.issuperset(keys)
            and (policies[0] < 0 or self._affinity.refusal(policies[0], affinity) is None)
            and (policies[1] < 0 or self._taints.refusal(policies[1], taint) is None)
            for there, (affinity, taint) in zip(present, kinds, strict=True)
        ]
        return all(verdicts), any(verdicts)
