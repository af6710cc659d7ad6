"""Ticks of `snapshot_fleet` in a process of its own, as in Lambda's: `python -m bench.one_fleet_tick`.

The environment says where AWS is. A line on standard input runs a tick; the answer, a line of JSON, tells what it took and
of each call its service, its region, and when it began and ended, in seconds from the tick's beginning.
"""

import importlib
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from botocore.client import BaseClient

from bench.data import ROOT
from bench.figure import Seconds, timed

Span = tuple[str, str, float, float]


def main() -> None:
    sys.path.insert(0, str(ROOT / "functions" / "snapshot_fleet"))
    app: Any = importlib.import_module("app")
    out, sys.stdout = sys.stdout, sys.stderr  # the function's metrics are lines, too
    for _ in sys.stdin:
        took = Seconds()
        with _watched() as spans, timed(took):
            answer = app.handler({}, None)
        print(json.dumps({"s": took.wall, "cpu_s": took.cpu, "answer": answer, "spans": spans}), file=out, flush=True)


@contextmanager
def _watched() -> Iterator[list[Span]]:
    spans: list[Span] = []
    lock, stock = threading.Lock(), BaseClient._make_api_call  # type: ignore[attr-defined]
    began = time.perf_counter()

    def call(self: Any, operation: str, request: Any) -> Any:
        start = time.perf_counter()
        try:
            return stock(self, operation, request)
        finally:
            span = self.meta.service_model.service_name, self.meta.region_name, start - began, time.perf_counter() - began
            with lock:
                spans.append(span)

    with patch.object(BaseClient, "_make_api_call", call):
        yield spans


if __name__ == "__main__":
    main()
