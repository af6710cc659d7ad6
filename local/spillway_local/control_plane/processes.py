"""The processes of one plane: started and ended by name, all of them gone when this process is, however it ends."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spillway_local.control_plane import keeper


class Processes:
    """`folder` takes a log for each process; each gets `environment` beside this process's own."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._keeper = subprocess.Popen(
            [sys.executable, keeper.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip

    def start(self, name: str, argv: Sequence[str]) -> None:
        """Raises RuntimeError when the program cannot be started at all."""
        answer = self._order({"start": name, "argv": list(argv), "log": str(self.log(name))})
        if "failed" in answer:
            raise RuntimeError(f"{name} cannot be started: {answer['failed']}")

    def stop(self, name: str) -> None:
        """Returns when it is gone."""
        self._order({"stop": name})

    def kill(self, name: str) -> None:
        """Without a word to it; returns when it is gone."""
        self._order({"kill": name})

    def stop_all(self) -> None:
        """The last started first; returns when all are gone, the keeper as well."""
        if self._keeper.stdin:
            self._keeper.stdin.close()
        self._keeper.wait()
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
        self._keeper.stdin.write(json.dumps(order) + "\n")
        self._keeper.stdin.flush()
        answer: dict[str, Any] = json.loads(self._keeper.stdout.readline())
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
