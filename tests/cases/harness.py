"""Every variant of every case in `open/` by its label, what falls short of it, and which of them are known to.

`python -m tests.cases.harness` writes expected_failures.txt anew.
"""

import sys
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "runner"))

import case_dump  # noqa: E402
import run_cases  # noqa: E402

from tests.cases.planner import plan  # noqa: E402

LIST = HERE / "expected_failures.txt"
IN_PROCESS = SimpleNamespace(call="tests.cases.planner:plan", function=plan)


@cache
def cases() -> dict[str, Any]:
    return {path.stem: run_cases.load_case(path) for path in sorted((HERE / "open").glob("*.json"))}


@cache
def labels() -> dict[str, tuple[str, str]]:
    """`id[variant]`, or `id` alone for the case itself, to (file, variant)."""
    found = {}
    for stem, case in cases().items():
        for name in run_cases.variants_of(case):
            found[case["id"] if name == "base" else f"{case['id']}[{name}]"] = (stem, name)
    return found


def expected_failures() -> set[str]:
    return set(LIST.read_text(encoding="utf-8").splitlines())


def shortfalls(label: str, scratch: Path) -> list[str]:
    """All that the plan of this variant lacks; empty when it is right. `scratch` is an empty folder."""
    stem, name = labels()[label]
    variants = run_cases.variants_of(cases()[stem])
    patched, expect = variants[name]
    dump, outcome = _outcome(patched, scratch / "dump")

    def plan_of(other: str) -> Any:
        case = variants[other][0] if other in variants else cases()[stem]
        return _outcome(case, scratch / "other")[1][1]

    return list(run_cases.judge(dump, outcome, expect, plan_of))


def _outcome(case: dict[str, Any], folder: Path) -> tuple[Any, Any]:
    dump = run_cases.dump_of(case)
    case_dump.write_dump(dump, folder)
    return dump, run_cases.run_product(folder, case.get("args", []), IN_PROCESS)


def main() -> None:
    failing = {}
    for label in labels():
        with tempfile.TemporaryDirectory() as scratch:
            if found := shortfalls(label, Path(scratch)):
                failing[label] = found
                sys.stdout.write(f"{label}  {'; '.join(found[:2])}\n")
    LIST.write_text("".join(f"{label}\n" for label in sorted(failing)), encoding="utf-8")
    sys.stdout.write(f"{len(labels()) - len(failing)} of {len(labels())} pass, {len(failing)} are listed in {LIST.name}\n")


if __name__ == "__main__":
    main()
