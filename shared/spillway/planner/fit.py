"""May a pod of this shape go to a node like this? Judged once for all shapes and all nodes that are alike."""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from spillway.model.cluster import PodShape
from spillway.model.reason import Code
from spillway.model.selector import UNTOLD
from spillway.planner.rules import FILTERS
from spillway.planner.rules.base import NAME_FIELD, ZONE_SENSITIVE, Filter, Host, Refusal

OUTSIDE = ""
"""In the place of a value: nodes that lack the key, and so are in no domain of it."""


class Within(NamedTuple):
    """A topology key and the values that will do, or that will not where it is not `inside`. OUTSIDE is a value, too."""

    key: str
    values: frozenset[str]
    inside: bool = True

    @property
    def is_one(self) -> bool:
        return self.inside and len(self.values) == 1

    def admits(self, value: str | None) -> bool:
        return value != UNTOLD and ((value or OUTSIDE) in self.values) is self.inside


class _Wanted(NamedTuple):
    """Shapes that go to one node together, and the domains that they are kept to."""

    shapes: tuple[PodShape, ...]
    within: tuple[Within, ...] = ()


class Fit:
    """Verdicts of the rules over the shapes that wait. Kinds are small integers: equal kind, equal verdict.

    `keys` are labels of nodes that are told apart beside those that the shapes' own rules read.
    """

    def __init__(self, shapes: Iterable[PodShape], filters: Sequence[Filter] = FILTERS, keys: Iterable[str] = ()) -> None:
        self._filters = filters
        self._samples: list[_Wanted] = []
        self._hosts: list[Host] = []
        self._shape_kinds: dict[Hashable, int] = {}
        self._host_kinds: dict[Hashable, int] = {}
        self._verdicts: dict[tuple[int, int], Refusal | None] = {}
        waiting = list(shapes)
        self._derived: dict[Hashable, int] = {}
        self.keys = frozenset({key for shape in waiting for rule in filters for key in rule.keys(shape)}.union(keys))
        self._ordered = sorted(self.keys)
        self._zones_matter = not ZONE_SENSITIVE.isdisjoint(self.keys)
        self._names_matter = NAME_FIELD in self.keys

    def shape_kind(self, shape: PodShape) -> int:
        key = tuple(rule.part(shape) for rule in self._filters)
        kind = self._shape_kinds.setdefault(key, len(self._samples))
        if kind == len(self._samples):
            self._samples.append(_Wanted((shape,)))
        return kind

    def kept_to(self, shape_kind: int, *within: Within) -> int:
        """The kind of such pods that may go to some domains only."""
        if not within:
            return shape_kind
        one = self._samples[shape_kind]
        return self._derive((shape_kind, within), _Wanted(one.shapes, (*one.within, *within)))

    def together(self, shape_kinds: Iterable[int]) -> int:
        """The kind of pods that go to one node together."""
        kinds = tuple(dict.fromkeys(shape_kinds))
        samples = [self._samples[kind] for kind in kinds]
        if len(kinds) == 1:
            return kinds[0]
        shapes = tuple(shape for sample in samples for shape in sample.shapes)
        return self._derive(kinds, _Wanted(shapes, tuple(one for sample in samples for one in sample.within)))

    def _derive(self, key: Hashable, wanted: _Wanted) -> int:
        kind = self._derived.setdefault(key, len(self._samples))
        if kind == len(self._samples):
            self._samples.append(wanted)
        return kind

    def host_kind(self, host: Host) -> int:
        key = (
            host.name if self._names_matter else "",
            tuple([host.labels.get(key) for key in self._ordered]),
            host.taints,
            host.zones if self._zones_matter else (),
            host.differing(self.keys) if host.variants else (),
        )
        kind = self._host_kinds.setdefault(key, len(self._hosts))
        if kind == len(self._hosts):
            self._hosts.append(host)
        return kind

    def host(self, host_kind: int) -> Host:
        """One that stands for all of the kind: they agree on each key that is read."""
        return self._hosts[host_kind]

    def refusal(self, shape_kind: int, host_kind: int) -> Refusal | None:
        """Why such a pod may not go to such a node, None when it may; amounts are not looked at."""
        found = self._verdicts.get((shape_kind, host_kind), _UNKNOWN)
        if found is _UNKNOWN:
            found = self._judge(self._samples[shape_kind], self._hosts[host_kind])
            self._verdicts[shape_kind, host_kind] = found
        return found

    def _judge(self, wanted: _Wanted, host: Host) -> Refusal | None:
        is_open = bool(host.zones or host.variants)
        for shape in wanted.shapes:
            for rule in self._filters:
                for variant in host.each(frozenset(rule.keys(shape))) if is_open else (host,):
                    refused = rule.refusal(shape, variant)
                    if refused:
                        return refused
        for one in wanted.within:
            if not all(one.admits(variant.labels.get(one.key)) for variant in host.each((one.key,))):
                return Refusal(Code.DOMAIN, f"is kept to other domains of {one.key}")
        return None


_UNKNOWN = Refusal("", "")  # type: ignore[arg-type]  # a mark, never handed out
