"""The inputs of other autoscalers' own benchmarks, and the large cluster: how long a plan takes."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import data
from spillway import planner
from spillway_local import dump


@dataclass(frozen=True)
class Goal:
    """`peer_s` is what the peer's own program took on two such cores, None where it could not be measured."""

    seconds: float
    peer_s: float | None


GOALS = {
    "karpenter_20000": Goal(1.0, 99.0),
    "ca_scale_up_50000": Goal(1.0, None),
    "ca_binpack_51000": Goal(0.35, 7.3),
    "plan_150000": Goal(3.0, None),
}
# Sum of requests at the linear price, with the 100 m that each of at least 4,000 nodes keeps.
KARPENTER_BOUND_USD_H = 4343.0
KARPENTER_USD_H = 7166.51


def plan_time(name: str) -> Iterator[dict[str, object]]:
    yield from _measured(name, data.dump(name))


def plan_150000() -> Iterator[dict[str, object]]:
    with data.large_dump() as folder:
        yield from _measured("plan_150000", folder)


def _measured(name: str, folder: Path) -> Iterator[dict[str, object]]:
    start = time.perf_counter()
    world = dump.read(folder)
    decoded = time.perf_counter()
    plan = planner.plan(world.cluster, world.fleet, world.memory, world.policy, world.now)
    planned = time.perf_counter()
    goal, summary = GOALS[name], plan.summary
    figure: dict[str, object] = {"figure": name, "value": round(planned - decoded, 3), "unit": "s", "goal": goal.seconds}
    if goal.peer_s is not None:
        figure["peer"] = goal.peer_s
    yield figure | {
        "decode_s": round(decoded - start, 3),
        "total_s": round(planned - start, 3),
        "pods_pending": summary.pods_pending,
        "pods_unserved": summary.pods_unserved,
        "nodes_new": summary.nodes_new,
        "price_usd_h": round(summary.price_usd_h_new, 2),
        "rules_not_judged": [warning.text for warning in plan.warnings if warning.code == "rules_not_judged"],
    }
