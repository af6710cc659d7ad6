"""What happens in the demo: whose pods arrive, what the home region lacks, and when the story is over."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spillway import planner
from spillway.kube.objects import Objects
from spillway.kube.reduce import reduce
from spillway.model.base import encode
from spillway.model.fleet import FleetSnapshot
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from spillway.model.policy_document import parse
from spillway_local.emulator.pools import Pool
from spillway_local.world import World
from spillway_local.world_dump import RawDump, fleet_of, read_raw

BURST = Path(__file__).resolve().parents[3] / "examples" / "burst_300"
REGIONS = ("us-east-1", "us-west-2")
JOB_S = (45.0, 150.0)
FAMILIES = 2
GPU = "nvidia.com/gpu"
POLICY: dict[str, Any] = {
    "regions": list(REGIONS),
    "may_be_empty": True,
    # A story is told in minutes: idle nodes go sooner, and all at once. Everything else is the default.
    "scale_in": {"idle_s": 30, "budgets": [{"nodes": "100%"}]},
}


@dataclass(frozen=True)
class Story:
    """`dry` says how many machines of a type the home region has left; `asked` is the plan if it had enough."""

    raw: RawDump
    seed: int
    dry: Mapping[Pool, int]
    families: tuple[str, ...]
    asked: Plan

    def world(self) -> World:
        return World(self.raw, seed=self.seed, job_s=JOB_S, capacity=self.dry)


def story(seed: int = 0, pods: int | None = None, scarce: bool = False) -> Story:
    """`seed` draws which pods come (when `pods` is fewer than all), how long each runs and how little is left.

    `scarce`: of every type that is wanted the home region has a tenth.
    """
    draw = random.Random(seed)
    raw = read_raw(BURST, REGIONS)
    waiting = [item for item in raw.objects if item["kind"] == "Pod"]
    if pods is not None and pods < len(waiting):
        chosen = {item["metadata"]["name"] for item in draw.sample(waiting, pods)}
        raw = replace(raw, objects=tuple(item for item in raw.objects if item["metadata"]["name"] in chosen))
    raw = replace(raw, policy=POLICY)
    fleet = fleet_of(raw)
    asked = _plan(raw, fleet)
    wanted = _wanted_types(asked, fleet, GPU)
    families = _most_wanted_families(wanted)[:FAMILIES]
    # Of each type of these families the home region has a quarter to a half of what is wanted.
    dry: dict[Pool, int] = {
        (raw.home, instance_type): int(nodes * draw.uniform(0.25, 0.5))
        for instance_type, nodes in sorted(wanted.items())
        if family_of(instance_type) in families
    }
    if scarce:
        dry = {(raw.home, instance_type): nodes // 10 for instance_type, nodes in sorted(_wanted_types(asked, fleet).items())}
    return Story(raw, seed, dry, families, asked)


def _plan(raw: RawDump, fleet: FleetSnapshot) -> Plan:
    objects = Objects()
    objects.add(encode({"kind": "List", "items": list(raw.objects)}))
    cluster = reduce(objects, cluster=raw.cluster, taken_at=raw.now)
    return planner.plan(cluster, fleet, Memory(), parse(POLICY, "of the demo"), raw.now)


def _wanted_types(plan: Plan, fleet: FleetSnapshot, resource: str = "") -> dict[str, int]:
    """How many machines of each type, with `resource` of each that has it, the plan asks of the home region."""
    templates = {group.key: group.template for group in fleet.groups}
    wanted = Counter[str]()
    for step in plan.scale_out:
        template = templates[f"{step.region}/{step.group}"]
        if template and step.region == fleet.home_region and (not resource or resource in template.allocatable):
            wanted[template.instance_types[0]] += step.nodes
    return wanted


def _most_wanted_families(types: Mapping[str, int]) -> tuple[str, ...]:
    wanted = Counter[str]()
    for instance_type, nodes in types.items():
        wanted[family_of(instance_type)] += nodes
    return tuple(name for name, _ in sorted(wanted.items(), key=lambda item: (-item[1], item[0])))


def family_of(instance_type: str) -> str:
    return instance_type.split(".", 1)[0]
