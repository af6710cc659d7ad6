"""Which pods are in which domain now: nodes that no rule tells apart are one class, and a class holds counts by shape."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spillway.model.cluster import PodShape, PodState
from spillway.planner.fit import Fit
from spillway.planner.rooms import Kind, Room
from spillway.planner.rules import node_affinity, node_name, node_selector, taints
from spillway.planner.rules.base import Host
from spillway.planner.topology.sites import host_of
from spillway.planner.topology.terms import HOSTNAME, Spread
from spillway.planner.view import View


class _Alike(NamedTuple):
    """What rules tell of a node: the values of topology keys, None where it lacks one, and its kinds for both policies."""

    values: tuple[str | None, ...]
    affinity: int
    taints: int
    is_named: bool


@dataclass
class Class:
    """Nodes that are alike. `pods` and `leaving`, which terminate, are counts by shape."""

    labels: dict[str, str]
    alike: _Alike
    nodes: list[str] = field(default_factory=list)
    pods: Counter[str] = field(default_factory=Counter)
    leaving: Counter[str] = field(default_factory=Counter)


class Census:
    """Nodes that stay, and those that come. Nodes that leave are none: what ran there waits as a lot that moves."""

    def __init__(self, view: View, rooms: Sequence[Room], fit: Fit, waiting: Sequence[PodShape], keys: Sequence[str]) -> None:
        self._keys = keys
        self._affinity = Fit(waiting, (node_name, node_selector, node_affinity))
        self._taints = Fit(waiting, (taints,))
        found: dict[_Alike, Class] = {}
        known = {room.target: fit.host(room.host) for room in rooms}
        names = {live.node.name for live in view.nodes}
        for live in view.nodes:
            if not live.is_leaving and live.node.name not in view.draining:
                one = self._class(found, host_of(live.node, known.get(live.node.name)), live.node.name)
                for pods in live.pods:
                    into = one.leaving if pods.state == PodState.TERMINATING else one.pods
                    into[pods.shape] += len(pods.names)
        for room in rooms:
            if room.kind is Kind.COMING and room.target not in names:
                self._class(found, known[room.target]._replace(zones=()), room.target)
        self.classes = list(found.values())
        self._eligible: dict[tuple[object, ...], list[Class]] = {}

    def _class(self, found: dict[_Alike, Class], host: Host, name: str) -> Class:
        alike = _Alike(
            tuple([host.labels.get(key) for key in self._keys]),
            self._affinity.host_kind(host),
            self._taints.host_kind(host),
            HOSTNAME in host.labels,
        )
        if alike not in found:
            labels = {key: value for key, value in zip(self._keys, alike.values, strict=True) if value is not None}
            found[alike] = Class(labels, alike)
        found[alike].nodes.append(name)
        return found[alike]

    def eligible(self, spread: Spread, shape: PodShape) -> list[Class]:
        """Those whose nodes the spread counts for such a pod."""
        affinity, tolerations = self._affinity.shape_kind(shape), self._taints.shape_kind(shape)
        policies = (affinity if spread.honors_affinity else -1, tolerations if spread.honors_taints else -1)
        known = (*policies, spread.keys)
        if known not in self._eligible:
            self._eligible[known] = [one for one in self.classes if self._counts(one, *policies, spread.keys)]
        return self._eligible[known]

    def would_count(self, spread: Spread, shape: PodShape, host: Host) -> bool:
        """Whether the spread counts a node to come."""
        affinity = self._affinity.refusal(self._affinity.shape_kind(shape), self._affinity.host_kind(host))
        repelled = self._taints.refusal(self._taints.shape_kind(shape), self._taints.host_kind(host))
        return not (spread.honors_affinity and affinity) and not (spread.honors_taints and repelled)

    def _counts(self, one: Class, affinity: int, tolerations: int, keys: Iterable[str]) -> bool:
        if not all(one.alike.is_named if key == HOSTNAME else key in one.labels for key in keys):
            return False
        if affinity >= 0 and self._affinity.refusal(affinity, one.alike.affinity):
            return False
        return tolerations < 0 or self._taints.refusal(tolerations, one.alike.taints) is None


def counts(
    classes: Iterable[Class], key: str, shapes: frozenset[str], pods_of: Callable[[Class], Counter[str]]
) -> Counter[str]:
    """Pods of these shapes by the value of `key`; also values without any."""
    found: dict[str, int] = defaultdict(int)
    for one in classes:
        if key in one.labels:
            there = pods_of(one)
            few, many = (there, shapes) if len(there) < len(shapes) else (shapes, there)
            found[one.labels[key]] += sum(there[shape] for shape in few if shape in many)
    return Counter(found)


def lasting(one: Class) -> Counter[str]:
    """What a spread counts."""
    return one.pods


def all_there(one: Class) -> Counter[str]:
    """What affinity and anti-affinity count: pods that terminate are there until they are gone."""
    return one.pods + one.leaving
