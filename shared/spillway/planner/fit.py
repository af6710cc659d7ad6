"""May a pod of this shape go to a node like this? Judged once for all shapes and all nodes that are alike."""

from collections.abc import Hashable, Iterable, Sequence

from spillway.model.cluster import PodShape
from spillway.planner.rules import FILTERS
from spillway.planner.rules.base import NAME_FIELD, ZONE_KEYS, Filter, Host, Refusal

ZONE_SENSITIVE = frozenset(ZONE_KEYS)


class Fit:
    """Verdicts of the rules over the shapes that wait. Kinds are small integers: equal kind, equal verdict."""

    def __init__(self, shapes: Iterable[PodShape], filters: Sequence[Filter] = FILTERS) -> None:
        self._filters = filters
        self._samples: list[PodShape] = []
        self._hosts: list[Host] = []
        self._shape_kinds: dict[Hashable, int] = {}
        self._host_kinds: dict[Hashable, int] = {}
        self._verdicts: dict[tuple[int, int], Refusal | None] = {}
        waiting = list(shapes)
        self._keys = sorted({key for shape in waiting for rule in filters for key in rule.keys(shape)})
        self._zones_matter = not ZONE_SENSITIVE.isdisjoint(self._keys)
        self._names_matter = NAME_FIELD in self._keys

    def shape_kind(self, shape: PodShape) -> int:
        key = tuple(rule.part(shape) for rule in self._filters)
        kind = self._shape_kinds.setdefault(key, len(self._samples))
        if kind == len(self._samples):
            self._samples.append(shape)
        return kind

    def host_kind(self, host: Host) -> int:
        key = (
            host.name if self._names_matter else "",
            tuple([host.labels.get(key) for key in self._keys]),
            host.taints,
            host.zones if self._zones_matter else (),
        )
        kind = self._host_kinds.setdefault(key, len(self._hosts))
        if kind == len(self._hosts):
            self._hosts.append(host)
        return kind

    def refusal(self, shape_kind: int, host_kind: int) -> Refusal | None:
        """Why such a pod may not go to such a node, None when it may; amounts are not looked at."""
        found = self._verdicts.get((shape_kind, host_kind), _UNKNOWN)
        if found is _UNKNOWN:
            found = self._judge(self._samples[shape_kind], self._hosts[host_kind])
            self._verdicts[shape_kind, host_kind] = found
        return found

    def _judge(self, shape: PodShape, host: Host) -> Refusal | None:
        for rule in self._filters:
            for variant in host.in_each_zone() if self._zones_matter else (host,):
                refused = rule.refusal(shape, variant)
                if refused:
                    return refused
        return None


_UNKNOWN = Refusal("", "")  # type: ignore[arg-type]  # a mark, never handed out
