"""The inputs of other autoscalers' own benchmarks, and the large cluster: how long a plan takes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import data
from bench.check import check, unchecked
from bench.figure import Figure, Seconds, timed
from spillway import planner
from spillway.model.plan import Plan

RUNS = 3


@dataclass(frozen=True)
class Goal:
    """`peer_s` is what the peer's own program took on two such cores, None where it could not be measured."""

    seconds: float
    peer_s: float | None = None


GOALS = {
    "karpenter_20000": Goal(1.0, peer_s=99.0),
    "ca_scale_up_50000": Goal(1.0),
    "ca_binpack_51000": Goal(0.35, peer_s=7.3),
    "plan_150000": Goal(3.0),
}


@dataclass(frozen=True)
class Run:
    """Where the seconds went: from raw JSON to a plan, and of that from counts of pods by shape to the plan."""

    plan: Plan
    read: data.Reading
    planning: Seconds

    @property
    def value_s(self) -> float:
        return self.read.grouping.wall + self.planning.wall

    @property
    def total_s(self) -> float:
        return self.read.reading.wall + self.planning.wall


def plan_time(name: str) -> Iterator[Figure]:
    """From decoded objects in memory to the plan in memory: the median of `RUNS`, each from a new reading."""
    if name == "plan_150000":
        with data.large() as folder:
            yield _figure(name, folder)
    else:
        yield _figure(name, data.folder(name))


def _figure(name: str, folder: Path) -> Figure:
    run = sorted((_once(folder) for _ in range(RUNS)), key=lambda run: run.value_s)[RUNS // 2]
    goal, summary = GOALS[name], run.plan.summary
    figure: Figure = {"figure": name, "value": round(run.value_s, 3), "unit": "s", "goal": goal.seconds}
    if goal.peer_s is not None:
        figure["peer"] = goal.peer_s
    return figure | {
        "value_cpu_s": round(run.read.grouping.cpu + run.planning.cpu, 3),
        "decode_s": round(run.total_s - run.value_s, 3),
        "group_s": round(run.read.grouping.wall, 3),
        "plan_s": round(run.planning.wall, 3),
        "total_s": round(run.total_s, 3),
        "pods_pending": summary.pods_pending,
        "pods_unserved": summary.pods_unserved,
        "nodes_new": summary.nodes_new,
        "price_usd_h": round(summary.price_usd_h_new, 2),
        "checked": True,
        "rules_not_checked": unchecked(run.read.world),
    }


def _once(folder: Path) -> Run:
    read, planning = data.read(folder), Seconds()
    world = read.world
    with timed(planning):
        plan = planner.plan(world.cluster, world.fleet, world.memory, world.policy, world.now)
    check(world, plan)
    return Run(plan, read, planning)
