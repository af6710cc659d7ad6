"""Keeps the processes of a control plane, and ends them all when its own input ends: when the run that started it stops,
is interrupted, or is killed without a word. Then it removes the folder that it was started with. Where the keeper itself
is killed, the processes die with it (on Linux). Started by `processes`, not by people.

Reads one JSON object a line: {"start": name, "argv": [...], "log": path}, {"stop": name}, {"kill": name} or {"runs": name};
answers each with one: {"pid": ...} or {"failed": why}, {"stopped": name}, {"runs": true or false}.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

POLITE_S = 8.0  # an API server whose etcd is gone never ends by itself


_PR_SET_PDEATHSIG = 1  # prctl(2)
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None  # found before there are children


def main(folder: Path) -> None:
    for one in (signal.SIGINT, signal.SIGTERM):  # they are meant for the run, whose end ends the input
        signal.signal(one, lambda *_: None)  # SIG_IGN would go on to the children
    children: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for line in sys.stdin:
            print(json.dumps(_carry_out(json.loads(line), children)), flush=True)
    finally:
        for name in reversed(children):  # who was started last leans on those before
            end(children[name])
        shutil.rmtree(folder)


def _carry_out(order: Mapping[str, Any], children: dict[str, subprocess.Popen[bytes]]) -> dict[str, Any]:
    if name := order.get("stop"):
        if child := children.pop(name, None):
            end(child)
        return {"stopped": name}
    if name := order.get("kill"):
        if child := children.get(name):
            child.kill()
            child.wait()
        return {"stopped": name}  # its place in the order of ends is kept for the one that follows it
    if name := order.get("runs"):
        return {"runs": name in children and children[name].poll() is None}
    try:
        with Path(order["log"]).open("ab") as log:
            child = subprocess.Popen(
                order["argv"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=_die_with_the_keeper
            )  # fmt: skip
    except OSError as problem:
        return {"failed": str(problem)}
    children[order["start"]] = child
    return {"pid": child.pid}


def _die_with_the_keeper() -> None:
    """In the child, before its program: at once, since nobody is left who would insist."""
    if _libc:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def end(child: subprocess.Popen[bytes]) -> None:
    """Returns when the process is gone: asked first, then killed."""
    child.terminate()
    try:
        child.wait(POLITE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


if __name__ == "__main__":
    os.setsid()  # away from the terminal's group, so that nothing ends before its turn
    main(Path(sys.argv[1]))
