"""The processes of a plane end with the run that started them, whatever ends it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spillway_local.control_plane import keeper
from spillway_local.control_plane.processes import Processes, free_ports

SLEEP = (sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)")
STUBBORN = (
    sys.executable,
    "-c",
    "import os, signal, time; signal.signal(15, signal.SIG_IGN); print(os.getpid()); time.sleep(600)",
)
RUN = """
import pathlib, sys
from spillway_local.control_plane import keeper
from spillway_local.control_plane.processes import Processes
processes = Processes(pathlib.Path(sys.argv[1]))
processes.start("a", sys.argv[2:])
print("started", flush=True)
sys.stdin.read()
"""


def pid_of(processes_folder: Path, name: str) -> int:
    """What the process wrote into its log first."""
    log = processes_folder / f"{name}.log"
    while not (text := log.read_text()).endswith("\n"):
        os.sched_yield()
    return int(text)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_processes_run_until_they_are_stopped_by_name(tmp_path: Path):
    processes = Processes(tmp_path)
    processes.start("a", SLEEP)
    processes.start("b", SLEEP)
    a, b = pid_of(tmp_path, "a"), pid_of(tmp_path, "b")

    processes.stop("a")

    assert (processes.runs("a"), processes.runs("b")) == (False, True)
    assert not is_there(a)
    processes.stop_all()
    assert not is_there(b)


def test_a_process_that_ended_is_known_with_its_last_words(tmp_path: Path):
    processes = Processes(tmp_path)
    processes.start("a", (sys.executable, "-c", "raise SystemExit('no such flag')"))
    while processes.runs("a"):
        os.sched_yield()

    assert processes.last_words("a") == "no such flag"
    processes.stop_all()


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path):
    processes = Processes(tmp_path)

    with pytest.raises(RuntimeError, match=r"a cannot be started: .*missing"):
        processes.start("a", [str(tmp_path / "missing")])
    processes.stop_all()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_the_run_is_ended_from_outside(tmp_path: Path, how: signal.Signals):
    """Also without a word."""
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path), *SLEEP], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    with run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.readline()
        pid = pid_of(tmp_path, "a")
        run.send_signal(how)
        run.wait()
        run.stderr.read()  # the keeper holds it until all are gone

    assert not is_there(pid)


def test_who_does_not_end_when_asked_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(keeper, "POLITE_S", 0.05)
    child = subprocess.Popen(STUBBORN, stdout=subprocess.PIPE)
    with child:
        assert child.stdout
        child.stdout.readline()

        keeper.end(child)

    assert child.returncode == -signal.SIGKILL


def test_free_ports_are_all_different():
    assert len(set(free_ports(5))) == 5
