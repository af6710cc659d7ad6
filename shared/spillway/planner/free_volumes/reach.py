"""Which free volumes a node can reach."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from spillway.model.selector import NodeSelectorTerm
from spillway.planner.rules import node_affinity
from spillway.planner.rules.base import Host

Terms = tuple[NodeSelectorTerm, ...]
Reached = tuple[frozenset[str], ...]
"""Ids of volumes, once for each kind of node that a group may bring: a pod needs one in each."""


class Reach:
    """`places` are the terms of volumes by id, None for anywhere."""

    def __init__(self, places: Mapping[str, Terms | None]) -> None:
        self._places = places
        self._keys = frozenset(key for terms in places.values() for key in node_affinity.keys_of(terms))
        self._by_label: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._others: set[str] = set()
        for one, terms in places.items():
            for term in terms or ():
                self._sort_in(one, term)
            if terms is None:
                self._others.add(one)
        self._labels = sorted({key for key, _ in self._by_label})

    def _sort_in(self, one: str, term: NodeSelectorTerm) -> None:
        """By a label that the term wants: thousands of volumes of as many nodes are not each held against each node."""
        named = next((r for r in term.expressions if r.operator == "In"), None)
        if named is None:
            self._others.add(one)
        else:
            for value in named.values:
                self._by_label[named.key, value].add(one)

    def of(self, host: Host) -> Reached:
        return tuple(dict.fromkeys(frozenset(self._of_one(one)) for one in host.each(self._keys)))

    def _of_one(self, host: Host) -> Iterable[str]:
        near = set(self._others)
        for key in self._labels:
            near |= self._by_label.get((key, host.labels.get(key, "")), set())
        return (one for one in near if node_affinity.missed(self._places[one], host) is None)
