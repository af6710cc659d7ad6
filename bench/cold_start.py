"""From a new process to a function's first answer, with and without bytecode.

Each run has a world of its own: the emulated account and the fake API server live in this process and answer over
loopback HTTP, the function starts in a child, as in Lambda's runtime, with one sample event. In the figure are the
interpreter's start, all imports, clients, connections, the handler's work, and the emulated servers' time to answer.
Without bytecode, modules of the project and of its dependencies are compiled anew, Python's own are not: Lambda's
runtime ships those compiled.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.aws_server import serving
from bench.check import Wrong
from bench.data import ROOT
from bench.figure import Figure
from spillway.aws.table import settings
from spillway_local.emulator.functions import FunctionFailed
from spillway_local.world import World

RUNS = 3
GOAL_S, GOAL_WITH_KUBERNETES_S = 1.5, 3.0
_IDLE_MINUTES = 15  # until the idle example has a node to remove
_LIMIT_S = 60


@dataclass(frozen=True)
class Sample:
    """An event of events/, the example in which it makes sense, and the events of the workflow's tasks before it."""

    event: str
    example: str = "burst"
    before: tuple[str, ...] = ()


SAMPLES = {
    "snapshot_cluster": Sample("snapshot_cluster.tick"),
    "snapshot_fleet": Sample("snapshot_fleet.tick"),
    "plan": Sample("plan.manual"),
    "intake": Sample("intake.launch_unsuccessful"),
    "widget": Sample("widget.show"),
    "scale_out": Sample("scale_out.steps"),
    "verify_instances": Sample("verify_instances.check", before=("scale_out.steps",)),
    "verify_nodes": Sample("verify_nodes.region", before=("scale_out.steps", "verify_instances.check")),
    "drain": Sample("drain.begin", "idle"),
    "scale_in": Sample("scale_in.terminate", "idle", before=("drain.begin",)),
    "remove_node": Sample("remove_node.step", "idle", before=("drain.begin", "scale_in.terminate")),
}


def first_answers(function: str) -> Iterator[Figure]:
    """A line with bytecode and one without, each the median of `RUNS`."""
    with tempfile.TemporaryDirectory() as bytecode:
        kept = {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": "1"}
        _run(function, kept | {"PYTHONDONTWRITEBYTECODE": ""})  # writes it
        yield _figure(function, "with", [_run(function, kept) for _ in range(RUNS)])
        for place in (str(ROOT), sysconfig.get_paths()["purelib"]):
            shutil.rmtree(bytecode + place, ignore_errors=True)  # the latter is in the former, where .venv is
        yield _figure(function, "without", [_run(function, kept) for _ in range(RUNS)])


@dataclass(frozen=True)
class _Run:
    seconds: float
    kubernetes: bool
    asked: Mapping[str, int]


def _figure(function: str, bytecode: str, runs: list[_Run]) -> Figure:
    kubernetes = runs[0].kubernetes
    return {
        "figure": f"cold_start_{function}",
        "bytecode": bytecode,
        "value": round(median(run.seconds for run in runs), 3),
        "unit": "s",
        "goal": GOAL_WITH_KUBERNETES_S if kubernetes else GOAL_S,
        "least": round(min(run.seconds for run in runs), 3),
        "imports_kubernetes": kubernetes,
        "event": SAMPLES[function].event,
        "aws_requests": dict(sorted(runs[0].asked.items())),
        "runs": len(runs),
    }


def _run(function: str, variables: Mapping[str, str]) -> _Run:
    with _world(SAMPLES[function]) as (world, event), serving() as aws:
        environment = {**os.environ, **variables, "AWS_ENDPOINT_URL": aws.address}
        command = [sys.executable, "-m", "bench.first_answer", function, world.clock.now().isoformat()]
        start = time.monotonic()
        try:
            child = subprocess.run(
                command, input=json.dumps(event), capture_output=True, text=True, cwd=ROOT, env=environment, timeout=_LIMIT_S
            )
        except subprocess.TimeoutExpired as late:
            raise Wrong(f"{function} did not answer within {_LIMIT_S} s") from late
    if child.returncode:
        raise Wrong(f"{function} did not answer: {(child.stderr.strip().splitlines() or ['it said nothing'])[-1]}")
    told = json.loads(child.stdout.splitlines()[-1])
    return _Run(told["at"] - start, told["kubernetes"], aws.answered)


@contextmanager
def _world(sample: Sample) -> Iterator[tuple[World, dict[str, Any]]]:
    """A world with a plan that nobody carries out, and the sample's event, which speaks of that plan."""
    waits = {"mode": "dry_run", "may_be_empty": True}
    with World.from_dump(ROOT / "examples" / sample.example, policy=waits, ticks=False) as world:
        known = _ids(world, shrinks=sample.example == "idle")
        settings.put_policy(world.table, waits | {"mode": "run"}, by="bench")
        for name in sample.before:
            try:
                world.aws.functions.invoke(name.partition(".")[0], _event(name, known))
            except FunctionFailed as failure:
                raise Wrong(f"{name}, which comes before {sample.event}: {failure}") from failure
        yield world, _event(sample.event, known)


def _ids(world: World, shrinks: bool) -> Mapping[str, Any]:
    """What events name, of the world's first plan that grows or shrinks."""
    for _ in range(_IDLE_MINUTES):
        world.tick()
        plan = world.latest_plan()
        steps = (plan.scale_in if shrinks else plan.scale_out) if plan else ()
        if plan and steps:
            numbers = [step.step for step in steps if step.region == steps[0].region]
            return {
                "cluster": plan.cluster, "plan_id": plan.plan_id, "region": steps[0].region,
                "step": numbers[0], "steps": numbers,
            }  # fmt: skip
        world.clock.run(limit_s=57)
    raise Wrong(f"the world made no plan that {'shrinks' if shrinks else 'grows'} within {_IDLE_MINUTES} minutes")


def _event(name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text())
    if "Records" in event or "version" in event:
        return event  # as the stream, the queue and the scheduler send them
    return event | {key: value for key, value in known.items() if key in event}
