"""What all parts of one random world share: its dice, its name, its words.

Many worlds share one real cluster, so each keeps to itself: all its names begin with `prefix`, its nodes and pods carry
WORLD_LABEL, every pod selects it, and no selector reaches beyond the world's own namespaces.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, TypeVar

from spillway.model.base import Labels, Resources
from spillway.model.cluster import Taint
from spillway.planner.rules.base import ZONE_KEYS
from spillway_local.judge.features import Feature

Object = dict[str, Any]
Key = tuple[str, str]  # namespace and name of a pod
T = TypeVar("T")

WORLD_LABEL = "local.spillway.io/world"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTER = "judge"
REGION = "us-east-1"
ZONES = (f"{REGION}a", f"{REGION}b", f"{REGION}c")
ZONE, HOSTNAME, TYPE = ZONE_KEYS[0], "kubernetes.io/hostname", "node.kubernetes.io/instance-type"
CAPACITY_TYPE = "eks.amazonaws.com/capacityType"

LABELS: Mapping[str, tuple[str, ...]] = {
    "disk": ("ssd", "hdd", "nvme"),
    "gen": ("3", "5", "7", "x1"),  # one is no number, which Gt and Lt must take
    "tier": ("gold", "silver"),
    "team": ("red", "blue"),
}
"""Labels of nodes, some of which a node lacks."""


def class_name(word: str, preempts: bool = False) -> str:
    return f"judge-{word}-preempting" if preempts else f"judge-{word}"


PRIORITIES: Mapping[str, int] = {"high": 1000, "normal": 0, "low": -5}
FILLER = ("filler", -100)  # below the policy's cutoff: gives way to all others

CLUSTER_WIDE: tuple[Object, ...] = (
    *(
        {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": class_name(word, preempts)}, "value": value,
            "preemptionPolicy": "PreemptLowerPriority" if preempts else "Never",
        }
        for word, value in (*PRIORITIES.items(), FILLER)
        for preempts in (False, True)
    ),
    {
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "judge-sandbox"},
        "handler": "sandbox", "overhead": {"podFixed": {"cpu": "125m", "memory": "64Mi"}},
    },
)  # fmt: skip
"""Objects without a namespace that are the same for all worlds: a cluster holds them once."""


class Dice(Random):
    """The one source of chance. Nothing is drawn from a set: its order is none."""

    def chance(self, share: float) -> bool:
        return self.random() < share

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.randrange(len(choices))]

    def some(self, choices: Sequence[T], most: int) -> list[T]:
        """One to `most` of them, in their order."""
        number = self.randint(1, min(most, len(choices)))
        return [choices[i] for i in sorted(self.sample(range(len(choices)), number))]


@dataclass(frozen=True)
class Aim:
    """What a pod is made to fit, or to miss narrowly: a group's new node, or a node that is there, which has a `name`."""

    labels: Labels
    taints: tuple[Taint, ...]
    have: Resources
    zones: tuple[str, ...]
    name: str = ""


@dataclass
class Scene:
    """`zone_rule` is the one requirement on zones that all pods of a world with groups of several zones share, as
    (operator, zone); None: any will do. `node_names` are those that exist, `shared_claims` say of each workload whether its
    pods share one."""

    seed: int
    prefix: str
    dice: Dice
    features: frozenset[Feature]
    namespaces: tuple[str, ...]
    zones: tuple[str, ...] = ZONES
    zone_rule: tuple[str, str] | None = None
    node_names: list[str] = field(default_factory=list)
    shared_claims: dict[str, bool] = field(default_factory=dict)

    def has(self, feature: Feature, share: float = 1.0) -> bool:
        """True in `share` of the cases where the feature is on."""
        return feature in self.features and self.dice.chance(share)

    def named(self, text: str) -> str:
        return f"{self.prefix}-{text}"

    @property
    def rack(self) -> str:
        """The key of a label that nodes of no other world have."""
        return f"{self.prefix}.spillway.io/rack"

    @property
    def mine(self) -> dict[str, str]:
        return {WORLD_LABEL: self.prefix}


def key_of(pod: Object) -> Key:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def uid(text: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, text))


def namespaces(scene: Scene) -> list[Object]:
    return [
        {
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {
                "name": name, "uid": uid(f"Namespace/{name}"), "creationTimestamp": ago(86400),
                "labels": {**scene.mine, "kubernetes.io/metadata.name": name, "team": LABELS["team"][number % 2]},
            },
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
        }
        for number, name in enumerate(scene.namespaces)
    ]  # fmt: skip
