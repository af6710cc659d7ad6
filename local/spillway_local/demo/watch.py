"""What is seen while the demo runs: when each stage was reached, the dearest moment, how long pods waited."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from spillway_local.kube_api import Object, What
from spillway_local.world import World

THE_LAST_NODE_IS_GONE = "the last node is gone"
STAGES = (
    "the burst arrives", "capacity is asked for", "the first refusal", "demand spills to the next region",
    "the first node is Ready", "every pod has a node", "the first drain begins", "every pod has ended",
    THE_LAST_NODE_IS_GONE,
)  # fmt: skip


@dataclass
class Watch:
    """`look` is called at every turn of the world. `prices` by `region/group`; `peak` is the dearest moment's machines.

    `started` is how long each pod waited from its creation to its start, in seconds. A finished pod goes with its node,
    so `ended` is remembered.
    """

    world: World
    prices: Mapping[str, float]
    pods: int
    moments: dict[str, datetime] = field(default_factory=dict)
    phases: Counter[str] = field(default_factory=Counter)
    machines: Counter[tuple[str, str]] = field(default_factory=Counter)
    peak: Counter[tuple[str, str]] = field(default_factory=Counter)
    peak_usd_h: float = 0.0
    refusals: int = 0
    started: dict[str, float] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    _nodes: set[str] = field(default_factory=set)
    _looked: datetime | None = None

    def __post_init__(self) -> None:
        self.world.cluster.watch("Pod", self._hear_of_pod)
        self.world.cluster.watch("Node", self._hear_of_node)

    def look(self) -> bool:
        """Looks once a virtual second; True when it did."""
        now = self.world.clock.now()
        if self._looked and (now - self._looked).total_seconds() < 1:
            return False
        self._looked = now
        self.phases = self.world.cluster.phases()
        machines = self.world.machines()
        self.machines = Counter((machine.region, machine.instance_type) for machine in machines)
        price = sum(self.prices.get(f"{machine.region}/{machine.group}", 0.0) for machine in machines)
        if price > self.peak_usd_h:
            self.peak_usd_h, self.peak = price, self.machines
        self.refusals = sum(event["detail-type"] == "EC2 Instance Launch Unsuccessful" for event in self.world.aws.events)
        for stage in self._reached():
            self.moments.setdefault(stage, now)
        return True

    def _hear_of_pod(self, _: What, pod: Object) -> None:
        meta, status = pod["metadata"], pod["status"]
        if meta["name"] not in self.started and "startTime" in status:
            created, start = (datetime.fromisoformat(text) for text in (meta["creationTimestamp"], status["startTime"]))
            self.started[meta["name"]] = (start - created).total_seconds()
        if status.get("phase") == "Succeeded":
            self.ended.add(meta["name"])

    def _hear_of_node(self, what: What, node: Object) -> None:
        (self._nodes.discard if what == "DELETED" else self._nodes.add)(node["metadata"]["name"])

    def _reached(self) -> Iterator[str]:
        ended = len(self.ended)
        facts = (
            True,
            bool(self.world.desired()),
            bool(self.refusals),
            any(not name.startswith(f"{self.world.raw.home}/") for name in self.world.desired()),
            bool(self._nodes),
            len(self.started) == self.pods,
            self.world.aws.functions.calls["drain"] > 0,
            ended == self.pods,
            ended == self.pods and not self.machines and not self._nodes,
        )
        return (stage for stage, reached in zip(STAGES, facts, strict=True) if reached)

    def has_reached(self, stage: str) -> bool:
        return stage in self.moments

    def by_region(self) -> Counter[str]:
        found = Counter[str]()
        for (region, _), count in self.machines.items():
            found[region] += count
        return found
