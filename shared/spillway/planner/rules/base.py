"""What a scheduling rule sees and says.

A rule is a module of four names (`Filter`). To add one: write the module, and put it into `rules.FILTERS`.
"""

from collections.abc import Collection, Hashable, Iterable
from typing import NamedTuple, Protocol

from spillway.model.base import Labels
from spillway.model.cluster import PodShape, Taint
from spillway.model.fleet import Variant
from spillway.model.reason import Code

NAME_FIELD = "metadata.name"
"""The only field that node affinity can match; read as if it were a label."""

ZONE_KEYS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone")
ZONE_SENSITIVE = frozenset(ZONE_KEYS)


class Host(NamedTuple):
    """A node as the rules see it, live or still to come.

    `name` is "" for one to come. Between `zones` its group will choose, and between `variants`, which differ by instance
    type: a pod may go there only when each of them would do, in each zone. Otherwise () and the zone is a label like any other.
    `soft` are taints that keep nobody away, of any variant: no rule reads them, see `planner.preferences`.
    """

    name: str
    labels: Labels
    taints: tuple[Taint, ...] = ()
    zones: tuple[str, ...] = ()
    variants: tuple[Variant, ...] = ()
    soft: tuple[Taint, ...] = ()

    def each(self, keys: Collection[str]) -> tuple["Host", ...]:
        """Once as each node that its group may bring, as far as these labels tell; itself alone where nothing is open."""
        if not self.zones and not self.variants:
            return (self,)
        zonal = [dict.fromkeys(ZONE_KEYS, zone) for zone in self.zones if not ZONE_SENSITIVE.isdisjoint(keys)] or [{}]
        return tuple(
            Host(self.name, {**self.labels, **dict(labels), **zone}, (*self.taints, *taints))
            for labels, taints in self.differing(keys)
            for zone in zonal
        )

    def differing(self, keys: Collection[str]) -> tuple[tuple[tuple[tuple[str, str], ...], tuple[Taint, ...]], ...]:
        """What these labels and the taints tell apart of `variants`, each once."""
        read = (
            (tuple(sorted((key, value) for key, value in one.labels.items() if key in keys)), one.taints)
            for one in self.variants
        )
        return tuple(dict.fromkeys(read)) or (((), ()),)


class Refusal(NamedTuple):
    """`text` goes on from "the pod …"."""

    code: Code
    text: str


class Filter(Protocol):
    """A rule that looks at one pod and one node and at nothing that was placed before."""

    def part(self, shape: PodShape) -> Hashable:
        """All of the shape that the rule reads: shapes that agree on it are judged once."""
        ...

    def keys(self, shape: PodShape) -> Iterable[str]:
        """The label keys (or NAME_FIELD) that it reads for this shape: hosts that agree on them are judged once."""
        ...

    def refusal(self, shape: PodShape, host: Host) -> Refusal | None:
        """None when the pod may go there. Nothing of `host` is open here: the caller asks once for each that may come."""
        ...
