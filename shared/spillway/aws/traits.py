"""Labels and taints of a group's next nodes: what all of them have, and what sets its types apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spillway.model.base import Labels
from spillway.model.cluster import Taint
from spillway.model.fleet import Variant
from spillway.model.selector import UNTOLD


@dataclass(frozen=True)
class Traits:
    """Of the nodes of one option; taints by key and effect, of which a node has one at most."""

    labels: Labels
    taints: Mapping[tuple[str, str], Taint]

    @property
    def variant(self) -> Variant:
        return Variant(labels=dict(sorted(self.labels.items())), taints=tuple(self.taints[key] for key in sorted(self.taints)))

    def beside(self, common: "Traits") -> Variant:
        """What these have and not all of the group."""
        labels = {key: value for key, value in self.labels.items() if key not in common.labels}
        return Traits(labels, {key: taint for key, taint in self.taints.items() if key not in common.taints}).variant


def shared(each: Sequence[Traits]) -> Traits:
    """What is sure of every next node: a label whose value nobody knows is not."""
    first, *others = each
    labels = {
        key: value
        for key, value in first.labels.items()
        if value != UNTOLD and all(other.labels.get(key) == value for other in others)
    }
    taints = {key: taint for key, taint in first.taints.items() if all(other.taints.get(key) == taint for other in others)}
    return Traits(labels, taints)
