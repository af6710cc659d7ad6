"""Dumps for tests, written in the shorthands of tests/cases/README.md, and what `spillway plan` makes of them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "cases" / "runner"))

import case_dump

from spillway_local import cli

GPU = "nvidia.com/gpu"


def group(name: str, kind: str = "m5.xlarge", **fields: Any) -> dict[str, Any]:
    return {"short": "group", "name": name, "type": kind, "max": 10_000} | fields


def node(name: str, **fields: Any) -> dict[str, Any]:
    return {"short": "node", "name": name} | fields


def pod(name: str, **fields: Any) -> dict[str, Any]:
    return {"short": "pod", "name": name} | fields


def types(**cpus: int) -> list[dict[str, Any]]:
    """Instance types that differ in size only: `types(small=4, big=8)`."""
    return [
        {"short": "type", "name": name, "cpu": cpu, "memory": f"{cpu * 4}Gi", "price": cpu / 20} for name, cpu in cpus.items()
    ]


class Dumps:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._capsys, self._made = folder, capsys, 0

    def write(self, cluster: list[Any], groups: dict[str, list[Any]] | None = None, **more: Any) -> Path:
        """`groups` by region; `more` are other parts of a case, and `types`, the same in every region."""
        kinds = more.pop("types", [])
        fleet = {
            region: {"AutoScalingGroups": found, "InstanceTypes": kinds}
            for region, found in (groups or {"us-east-1": []}).items()
        }
        self._made += 1
        folder = self._folder / f"dump-{self._made}"
        case_dump.write_dump(case_dump.expand({"defaults": "std", "cluster": cluster, "fleet": fleet} | more), folder)
        return folder

    def run(self, *arguments: object) -> tuple[int, str, str]:
        """(exit code, standard output, standard error) of `spillway …`."""
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def plan(self, folder: Path, *arguments: object) -> dict[str, Any]:
        code, out, errors = self.run("plan", "--from", folder, "--output", "json", "--assign", *arguments)
        assert code == 0, errors
        found: dict[str, Any] = json.loads(out)
        return found


def places(plan: dict[str, Any]) -> dict[str, str]:
    """Pod to the node that the plan gives it."""
    return {pod: entry["node"] for entry in plan["assignments"] for pod in entry["pods"]}


def desired(plan: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """`region/group` to (from, to) desired."""
    return {f"{s['region']}/{s['group']}": (s["from_desired"], s["to_desired"]) for s in plan["scale_out"]}
