"""The processes of one plane, started and ended by name: they and their folder go with this process, however it ends."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from spillway_local.control_plane import keeper


class Processes:
    """`folder` takes a log for each process, and goes with the last one; each gets `environment` beside this process's own.

    All but `stop_all` raise RuntimeError when somebody has killed the keeper.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._keeper = subprocess.Popen(
            [sys.executable, keeper.__file__, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip

    def start(self, name: str, argv: Sequence[str]) -> int:
        """Its process id; raises RuntimeError when the program cannot be started at all."""
        answer = self._order({"start": name, "argv": list(argv), "log": str(self.log(name))})
        if "failed" in answer:
            raise RuntimeError(f"{name} cannot be started: {answer['failed']}")
        pid: int = answer["pid"]
        return pid

    def stop(self, name: str) -> None:
        """Returns when it is gone."""
        self._order({"stop": name})

    def kill(self, name: str) -> None:
        """Without a word to it; returns when it is gone."""
        self._order({"kill": name})

    def stop_all(self) -> None:
        """The last started first; returns when all are gone, the keeper and the folder as well."""
        if self._keeper.stdin:
            with suppress(BrokenPipeError):
                self._keeper.stdin.close()
        if self._keeper.wait():
            shutil.rmtree(self._folder, ignore_errors=True)  # it could not any more
        if self._keeper.stdout:
            self._keeper.stdout.close()

    def runs(self, name: str) -> bool:
        return bool(self._order({"runs": name})["runs"])

    def log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def last_words(self, name: str, lines: int = 15) -> str:
        """The end of its log, for a message."""
        return "\n".join(self.log(name).read_text(errors="replace").splitlines()[-lines:])

    def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        if self._keeper.stdin is None or self._keeper.stdout is None:
            raise RuntimeError("the processes were stopped already")
        line = ""
        with suppress(BrokenPipeError):
            self._keeper.stdin.write(json.dumps(order) + "\n")
            self._keeper.stdin.flush()
            line = self._keeper.stdout.readline()
        if not line:
            raise RuntimeError(f"the keeper of the processes is gone (code {self._keeper.wait()}), and they with it: {order}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def free_ports(number: int) -> list[int]:
    """Ports of the loopback that nobody listens on now; all different."""
    sockets = [socket.socket() for _ in range(number)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
