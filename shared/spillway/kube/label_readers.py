"""Which labels of a pod count: only those by which some selector of the cluster can tell it from another pod.

A selector tells values apart only by the values that it names: `app In (web)` says the same of `app=db` and of no `app`, as
does `NotIn`. `Exists` and `DoesNotExist` read whether a key is there, and no value. So a label is kept with its value where a
selector names that value, without it where one reads that the key is there, and else not at all.

A selector that asks for `app=web` and for one value of `pod-template-hash` reads the hash of no pod but those of `web`: any
other fails by its `app` already, whatever its hash is. So of each selector one `In` is its anchor, the one whose values the
fewest selectors name, and nothing of the selector counts for a pod that does not meet it: what is left out makes no `In` true.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from spillway.model.cluster import PodShape
from spillway.model.selector import ANY_VALUE, Requirement

EVERYWHERE = ""
_BY_NAME = ("In", "NotIn")
_BY_PRESENCE = ("Exists", "DoesNotExist")
Label = tuple[str, str]


class Reader(NamedTuple):
    """A selector, and the namespaces whose pods it looks at, EVERYWHERE for all."""

    namespaces: tuple[str, ...]
    selector: tuple[Requirement, ...]
    keys: tuple[str, ...] = ()  # read beside those of the selector: matchLabelKeys


def readers_of(shape: PodShape) -> Iterable[Reader]:
    """Those of a pod's affinity and spread; its namespaces as the rules name them."""
    for term in (*shape.pod_affinity, *shape.pod_anti_affinity):
        keys = (*term.match_label_keys, *term.mismatch_label_keys)
        namespaces = (EVERYWHERE,) if term.namespace_selector is not None else term.namespaces
        yield Reader(namespaces, term.selector or (), keys)
    for constraint in shape.spread:
        yield Reader((shape.namespace,), constraint.selector or (), constraint.match_label_keys)


def own_keys(shape: PodShape) -> frozenset[str]:
    """Labels of the pod itself that its own rules take over."""
    terms = (*shape.pod_affinity, *shape.pod_anti_affinity)
    found = {key for term in terms for key in (*term.match_label_keys, *term.mismatch_label_keys)}
    return frozenset(found.union(*(constraint.match_label_keys for constraint in shape.spread)))


@dataclass
class _Read:
    """What selectors read: labels by key and value, keys with whatever value, and keys of which only the presence counts."""

    labels: set[Label] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    present: set[str] = field(default_factory=set)

    def add(self, reader: Reader) -> None:
        self.keys.update(reader.keys)
        for one in reader.selector:
            if one.operator in _BY_PRESENCE:
                self.present.add(one.key)
            elif one.operator in _BY_NAME:
                self.labels.update((one.key, value) for value in one.values)
            else:
                self.keys.add(one.key)


class _Scope:
    """Readers of the same namespaces: what they read of all pods there, and of those with a label that is an anchor's.

    Readers of one anchor share one, to which each of its values leads: what they read is multiplied by nothing.
    """

    def __init__(self) -> None:
        self.always = _Read()
        self._anchored: dict[Label, list[_Read]] = defaultdict(list)
        self._by_anchor: dict[Requirement, _Read] = {}

    def add(self, reader: Reader, anchor: Requirement | None) -> None:
        if anchor is None:
            self.always.add(reader)
            return
        if anchor not in self._by_anchor:
            read = self._by_anchor[anchor] = _Read()
            for value in set(anchor.values):
                self._anchored[anchor.key, value].append(read)
        self._by_anchor[anchor].add(reader)

    def of(self, labels: Mapping[str, str]) -> Iterator[_Read]:
        yield self.always
        for label in labels.items() & self._anchored.keys():
            yield from self._anchored[label]


class LabelReaders:
    """All that read labels of pods: `always` are keys that count, with their values, for every pod that has them."""

    def __init__(self, readers: Iterable[Reader], always: Iterable[str] = ()) -> None:
        known = set(readers)
        unclear = {r.key for reader in known for r in reader.selector if ANY_VALUE in r.values}  # of no API server of today
        known.add(Reader((EVERYWHERE,), (), (*always, *unclear)))
        popular = Counter(
            (r.key, value) for reader in known for r in reader.selector if r.operator == "In" for value in r.values
        )
        scopes: dict[tuple[str, ...], _Scope] = defaultdict(_Scope)
        for reader in known:
            wanted = (r for r in reader.selector if r.operator == "In")
            anchor = min(
                wanted, key=lambda r: (sum(popular[r.key, value] for value in r.values), r.key, r.values), default=None
            )
            scopes[reader.namespaces].add(reader, anchor)
        self._scopes: dict[str, list[_Scope]] = defaultdict(list)
        for namespaces, scope in scopes.items():
            for namespace in set(namespaces):
                self._scopes[namespace].append(scope)

    def kept(self, namespace: str, labels: Mapping[str, str], own: frozenset[str]) -> dict[str, str]:
        """Those of `labels` that count, of which only the presence does with ANY_VALUE. `own` are keys that the pod's own
        rules take over.
        """
        found = set(labels.keys() & own)
        present = set[str]()
        for scope in (*self._scopes.get(EVERYWHERE, ()), *self._scopes.get(namespace, ())):
            for read in scope.of(labels):  # an intersection looks at the smaller of two, so no square is made of them
                found |= labels.keys() & read.keys
                found.update(key for key, _ in labels.items() & read.labels)
                present |= labels.keys() & read.present
        return {key: value if key in found else ANY_VALUE for key, value in labels.items() if key in found or key in present}
