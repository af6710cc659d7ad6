"""A tick of `snapshot_fleet` over 200 groups in three regions, where each call of AWS takes 100 ms and what moto needs.

Two processes: the function (bench.one_fleet_tick), and this one, which holds the emulated account and its table behind
loopback HTTP. `value` is the function's own time beyond the waiting: the seconds in which no call was under way, or, where
that is more, the processor's seconds of its process. The table's calls are not delayed.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.aws_server import AwsServer, serving
from bench.check import Wrong
from bench.data import ROOT
from bench.figure import Figure
from bench.one_fleet_tick import Span
from spillway.aws import clients
from spillway_local import many_groups
from spillway_local.world import World

REGIONS = ("us-east-1", "us-east-2", "us-west-2")
GROUPS = 67  # a region
RUNS = 5
CALL_S, GOAL_S = 0.1, 2.0
_TABLE = "dynamodb"
Tick = dict[str, Any]


def tick() -> Iterator[Figure]:
    """Of an idle tick, the median of `RUNS`; beside it the first one of a process, and a busy one."""
    with World(many_groups.fleet(REGIONS, GROUPS), ticks=False) as _, serving() as aws:
        aws.delay_s = CALL_S
        with _function(aws) as run:
            first = run()
            idle = sorted((run() for _ in range(RUNS)), key=_own_s)[RUNS // 2]
            for region in REGIONS:
                for number in range(0, GROUPS, 20):
                    clients.client("autoscaling", region).set_desired_capacity(
                        AutoScalingGroupName=many_groups.name_of(number), DesiredCapacity=2
                    )
            busy = run()
    yield {
        "figure": "fleet_tick_200", "value": round(_own_s(idle), 3), "unit": "s", "goal": GOAL_S, **_told(idle),
        "first": {"own_s": round(_own_s(first), 3), **_told(first)}, "busy": {"own_s": round(_own_s(busy), 3), **_told(busy)},
        "groups": GROUPS * len(REGIONS), "regions": len(REGIONS), "call_s": CALL_S, "runs": RUNS, "checked": True,
    }  # fmt: skip


@contextmanager
def _function(aws: AwsServer) -> Iterator[Callable[[], Tick]]:
    """Runs a tick in the function's process; raises Wrong."""
    environment = {**os.environ, "AWS_ENDPOINT_URL": aws.address, "PYTHONPATH": os.pathsep.join(("shared", "local"))}
    command = [sys.executable, "-m", "bench.one_fleet_tick"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, cwd=ROOT, env=environment
    ) as one:
        assert one.stdin is not None
        assert one.stdout is not None

        def run() -> Tick:
            assert one.stdin is not None
            assert one.stdout is not None
            one.stdin.write("\n")
            one.stdin.flush()
            line = one.stdout.readline()
            if not line:
                raise Wrong("the function did not answer")
            tick: Tick = json.loads(line)
            if (tick["answer"]["groups"], tick["answer"]["regions_unknown"]) != (GROUPS * len(REGIONS), []):
                raise Wrong(f"not all of the fleet is in the snapshot: {tick['answer']}")
            return tick

        try:
            yield run
        finally:
            one.stdin.close()


def _told(tick: Tick) -> Figure:
    calls = [span for span in tick["spans"] if span[0] != _TABLE]
    regions = {region for _, region, _, _ in calls}
    return {
        "wall_s": round(tick["s"], 3),
        "waiting_s": round(under_way_s(tick["spans"]), 3),
        "cpu_s": round(tick["cpu_s"], 3),
        "calls": len(calls),
        "waves": max(waves(span for span in calls if span[1] == region) for region in regions),
    }


def _own_s(tick: Tick) -> float:
    return float(max(tick["s"] - under_way_s(tick["spans"]), tick["cpu_s"]))


def under_way_s(spans: Iterable[Span]) -> float:
    """Seconds in which at least one call was under way."""
    total = until = 0.0
    for _, _, start, end in sorted(spans, key=lambda span: span[2]):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def waves(spans: Iterable[Span]) -> int:
    """The longest chain of calls, each of which began when the one before it had ended."""
    count, until = 0, float("-inf")
    for _, _, start, end in sorted(spans, key=lambda span: span[3]):
        if start >= until:
            count, until = count + 1, end
    return count
