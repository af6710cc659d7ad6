"""The processes of a plane end with the run that started them, whatever ends it."""

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spillway_local.control_plane import keeper
from spillway_local.control_plane.processes import Processes, free_ports

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")
STUBBORN = (
    sys.executable,
    "-c",
    "import os, signal, time; signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True); time.sleep(600)",
)
RUN = """
import pathlib, signal, sys
from spillway_local.control_plane import keeper
from spillway_local.control_plane.processes import Processes
signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts us in the background has it ignored
processes = Processes(pathlib.Path(sys.argv[1]))
print(processes.start("a", sys.argv[2:]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plane").mkdir()
    return tmp_path / "plane"


@pytest.fixture
def processes(folder: Path) -> Iterator[Processes]:
    running = Processes(folder)
    yield running
    running.stop_all()


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def await_end(process: int) -> None:
    """Of a process that may be nobody's child here, by its file descriptor; it need not be reaped yet."""
    assert select.select([process], [], [], 20)[0]
    os.close(process)


def test_processes_run_until_they_are_stopped_by_name(folder: Path, processes: Processes):
    a, b = processes.start("a", SLEEP), processes.start("b", SLEEP)

    processes.stop("a")

    assert (processes.runs("a"), processes.runs("b")) == (False, True)
    assert not is_there(a)
    processes.stop_all()
    assert not is_there(b)
    assert not folder.exists()


def test_a_process_that_ended_is_known_with_its_last_words(processes: Processes):
    await_end(os.pidfd_open(processes.start("a", (sys.executable, "-c", "raise SystemExit('no such flag')"))))

    assert not processes.runs("a")
    assert processes.last_words("a") == "no such flag"


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path, processes: Processes):
    with pytest.raises(RuntimeError, match=r"a cannot be started: .*missing"):
        processes.start("a", [str(tmp_path / "missing")])


def test_processes_die_with_their_keeper_and_that_is_said(folder: Path, processes: Processes):
    pid = processes.start("a", STUBBORN)
    process = os.pidfd_open(pid)
    parent = int(re.findall(r"^PPid:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[0])
    keeper_of_it = os.pidfd_open(parent)

    os.kill(parent, signal.SIGKILL)

    await_end(process)
    await_end(keeper_of_it)
    for _ in range(2):  # the second time nothing can be written any more
        with pytest.raises(RuntimeError, match=r"the keeper of the processes is gone \(code -9\)"):
            processes.runs("a")
    processes.stop_all()
    assert not folder.exists()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_the_run_is_ended_from_outside(folder: Path, how: signal.Signals):
    """Also without a word: no process, and no folder."""
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder), *SLEEP], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    with run:
        assert run.stdout is not None
        assert run.stderr is not None
        pid = int(run.stdout.readline())
        run.send_signal(how)
        run.wait()
        run.stderr.read()  # the keeper holds it until all are gone

    assert not is_there(pid)
    assert not folder.exists()


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
