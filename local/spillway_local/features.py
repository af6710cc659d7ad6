"""`make features`: runs the marked tests and prints each row of docs/features.md as done or open.

A row is done when at least one test marked with its id passed and none failed. What failed is told on standard error.
Tests that need a real control plane are run where its programs are there; else that is told there, too.
"""

import contextlib
import io
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from spillway_local.control_plane import binaries

FEATURES = Path(__file__).parents[2] / "docs" / "features.md"
_ROW = re.compile(r"^\| ([A-Z]{2}-\d{2}) \|", re.MULTILINE)
_NOTHING_RAN = {pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR}


def ids(text: str) -> list[str]:
    """The ids of all rows, in the order of the page."""
    return _ROW.findall(text)


class Recorder:
    """A pytest plugin: which features each test is marked with, and how it went."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = set(known)
        self._features: dict[str, tuple[str, ...]] = {}
        self.outcomes: dict[str, set[str]] = defaultdict(set)
        self.failed: list[str] = []
        self.unreadable = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.unreadable |= report.failed

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            marked = tuple(str(mark.args[0]) for mark in item.iter_markers("feature"))
            unknown = sorted(set(marked) - self._known)
            if unknown:
                raise pytest.UsageError(
                    f"{item.nodeid} is marked with {', '.join(unknown)}, which docs/features.md does not have"
                )
            self._features[item.nodeid] = marked

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)
        if report.failed or (report.when == "call" and report.passed and not hasattr(report, "wasxfail")):
            for feature in self._features.get(report.nodeid, ()):
                self.outcomes[feature].add(report.outcome)

    def is_done(self, feature: str) -> bool:
        return self.outcomes.get(feature) == {"passed"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Arguments go to pytest. Exit code 1 when tests could not be collected: the rows then say too little."""
    known = ids(FEATURES.read_text(encoding="utf-8"))
    recorder = Recorder(known)
    runs = [list(arguments)] if arguments is not None else [[], *_on_a_real_plane()]
    failed = [_run(recorder, run) for run in runs]
    for feature in known:
        print(f"{feature} {'done' if recorder.is_done(feature) else 'open'}")
    for test in recorder.failed:
        print(f"failed: {test}", file=sys.stderr)
    print(f"{sum(map(recorder.is_done, known))} of {len(known)} done")
    return int(any(failed))


def _on_a_real_plane() -> list[list[str]]:
    if binaries.are_there():
        return [["--api-server", "real"]]
    print("rows that only a real control plane proves stay open: `make test-cluster` builds it, once", file=sys.stderr)
    return []


def _run(recorder: Recorder, arguments: Sequence[str]) -> bool:
    """Whether tests could not be collected."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = pytest.main(["-m", "feature", "--continue-on-collection-errors", *arguments], plugins=[recorder])
    failed = recorder.unreadable or code in _NOTHING_RAN
    if failed:
        print(said.getvalue(), file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
