"""The demo tells a true story: it ends well only when every pod ran and nothing is left over."""

import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from spillway_local.demo import report
from spillway_local.demo import tell as demo
from spillway_local.demo.story import family_of, story
from spillway_local.demo.watch import Watch


@pytest.mark.feature("OP-02")
def test_a_few_pods_of_the_burst_run_to_their_end_and_every_group_is_back_at_its_minimum(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo", "--pods", "6"])
    assert demo.main() == 0
    told = capsys.readouterr().out
    for title in (
        "Pods",
        "Nodes at the dearest moment",
        "Refused, and where it went",
        "Price an hour",
        "Time by stage",
        "Left alone",
    ):
        assert title in told
    assert "Not as it must be" not in told


def test_a_dry_run_shows_the_plan_and_carries_nothing_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo", "--pods", "8", "--dry"])
    assert demo.main() == 0
    told = capsys.readouterr().out
    assert "Scale out" in told
    assert "Time by stage" not in told


def test_the_home_region_runs_out_of_the_two_gpu_families_that_are_wanted_most() -> None:
    told = story()
    assert len(told.families) == 2
    assert {family_of(pool[1]) for pool in told.dry} == set(told.families)
    assert {pool[0] for pool in told.dry} == {"us-east-1"}
    wanted = sum(step.nodes for step in told.asked.scale_out if family_of(step.group.replace("-", ".", 1)) in told.families)
    assert sum(told.dry.values()) < wanted


def test_the_same_seed_tells_the_same_story_and_another_seed_another() -> None:
    first, again, other = story(1, 20), story(1, 20), story(2, 20)
    assert (first.raw, first.dry) == (again.raw, again.dry)
    assert first.raw != other.raw


@pytest.mark.feature("OP-02")
def test_whatever_is_left_over_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report.requests, "live", lambda table: [SimpleNamespace(id="p#1#0", state="open")])
    machine = SimpleNamespace(instance_id="i-1", region="us-east-1", group="g")
    world: Any = SimpleNamespace(
        desired=lambda: {"us-east-1/g": 1},
        machines=lambda: [machine],
        executions=lambda: [{"name": "p", "status": "FAILED"}],
        cluster=SimpleNamespace(objects=lambda kind: [{"metadata": {"name": "n1"}}], watch=lambda kind, listener: None),
        table=None,
        aws=SimpleNamespace(
            functions=SimpleNamespace(
                failures=[SimpleNamespace(error_type="LeaseHeld"), SimpleNamespace(error_type="KeyError")]
            ),
            queue=SimpleNamespace(dead=["{}"]),
        ),
    )
    watch = Watch(world, {}, pods=3)
    watch.ended = {"a", "b"}
    found = "\n".join(report.shortcomings(watch))
    for wanted in ("1 of 3 pods", "us-east-1/g is left at desired 1", "i-1", "node n1", "FAILED", "p#1#0", "KeyError", "dead"):
        assert wanted in found
    assert "LeaseHeld" not in found  # the workflow tries that again


def test_ctrl_c_ends_it_and_leaves_nothing_running() -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "spillway_local.demo", "--pods", "30"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert running.stdout is not None
    told = running.stdout.readline()  # it has begun to tell
    for _ in range(20):  # it comes more than once: make and uv hand it on
        running.send_signal(signal.SIGINT)
    rest, _ = running.communicate(timeout=60)
    assert running.returncode == 130, told + rest
    assert rest.endswith("Interrupted; nothing is left behind.\n")
    assert "Traceback" not in rest
    assert "amazonaws.com" not in rest  # what was under way has ended within the emulated world
