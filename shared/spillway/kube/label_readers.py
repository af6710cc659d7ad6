"""Which labels of a pod count: only those by which some selector of the cluster can tell it from another pod.

A selector that asks for `app=web` and for one value of `pod-template-hash` reads the hash of no pod but those of `web`: any
other fails by its `app` already, whatever its hash is. So of each selector one requirement, its anchor, counts for every pod
of the namespace, and its other keys only for pods that meet the anchor. That keeps the verdict of every selector: a pod that
meets the anchor keeps all keys that the selector reads, and one that does not keeps what fails.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from spillway.model.cluster import PodShape
from spillway.model.selector import Requirement

EVERYWHERE = ""
_NONE: frozenset[str] = frozenset()
_OF_ONE_POD_OR_REVISION = (
    "pod-template-hash", "controller-revision-hash", "pod-template-generation", "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index", "batch.kubernetes.io/controller-uid",
    "controller-uid", "batch.kubernetes.io/job-name", "job-name",
)  # fmt: skip


class Reader(NamedTuple):
    """A selector, and a namespace whose pods it looks at, EVERYWHERE for all."""

    namespace: str
    selector: tuple[Requirement, ...]
    keys: tuple[str, ...] = ()  # read beside those of the selector: matchLabelKeys


def readers_of(shape: PodShape) -> Iterable[Reader]:
    """Those of a pod's affinity and spread; its namespaces as the rules name them."""
    for term in (*shape.pod_affinity, *shape.pod_anti_affinity):
        keys = (*term.match_label_keys, *term.mismatch_label_keys)
        for namespace in (EVERYWHERE,) if term.namespace_selector is not None else term.namespaces:
            yield Reader(namespace, term.selector or (), keys)
    for constraint in shape.spread:
        yield Reader(shape.namespace, constraint.selector or (), constraint.match_label_keys)


def own_keys(shape: PodShape) -> frozenset[str]:
    """Labels of the pod itself that its own rules take over."""
    terms = (*shape.pod_affinity, *shape.pod_anti_affinity)
    found = {key for term in terms for key in (*term.match_label_keys, *term.mismatch_label_keys)}
    return frozenset(found.union(*(constraint.match_label_keys for constraint in shape.spread)))


class LabelReaders:
    """All that read labels of pods: `always` are keys that count for every pod that has them."""

    def __init__(self, readers: Iterable[Reader], always: Iterable[str] = ()) -> None:
        self._always: dict[str, set[str]] = defaultdict(set, {EVERYWHERE: set(always)})
        self._further: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        known = set(readers)
        popular = Counter(r.key for reader in known for r in reader.selector if r.operator == "In")
        for reader in known:
            keys = {r.key for r in reader.selector}.union(reader.keys)
            wanted = [r for r in reader.selector if r.operator == "In"]
            if not wanted:
                self._always[reader.namespace] |= keys
                continue
            anchor = min(wanted, key=lambda r: (r.key in _OF_ONE_POD_OR_REVISION, -popular[r.key], r.key, r.values))
            self._always[reader.namespace].add(anchor.key)
            for value in anchor.values:
                self._further[reader.namespace, anchor.key, value] |= keys

    def kept(self, namespace: str, labels: Mapping[str, str], own: frozenset[str]) -> dict[str, str]:
        """Those of `labels` that count. `own` are keys that the pod's own rules take over."""
        # Looked up and never joined: as many pods as there are selectors would make that a square.
        read = [self._always[EVERYWHERE], self._always.get(namespace, _NONE), own]
        if self._further:
            for label in labels.items():
                read += (self._further[where, *label] for where in (EVERYWHERE, namespace) if (where, *label) in self._further)
        return {key: value for key, value in labels.items() if any(key in keys for keys in read)}
