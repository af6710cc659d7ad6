"""What a scheduling rule sees and says.

A rule is a module of four names (`Filter`). To add one: write the module, and put it into `rules.FILTERS`.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple, Protocol

from spillway.model.base import Labels
from spillway.model.cluster import PodShape, Taint
from spillway.model.reason import Code

NAME_FIELD = "metadata.name"
"""The only field that node affinity can match; read as if it were a label."""

ZONE_KEYS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone")


class Host(NamedTuple):
    """A node as the rules see it, live or still to come.

    `name` is "" for one to come. `zones` are those between which its group will choose: a pod may go there only
    when each of them would do. Otherwise () and the zone is a label like any other.
    """

    name: str
    labels: Labels
    taints: tuple[Taint, ...] = ()
    zones: tuple[str, ...] = ()

    def in_each_zone(self) -> tuple["Host", ...]:
        """Once in each zone that its group may choose; itself alone where none is to be chosen."""
        if not self.zones:
            return (self,)
        return tuple(self._replace(labels={**self.labels, **dict.fromkeys(ZONE_KEYS, zone)}, zones=()) for zone in self.zones)


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
        """None when the pod may go there. `host.zones` is always () here: the caller asks once for each zone."""
        ...
