"""`spillway plan` as a command: what it prints, and how it fails."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.dumps import Dumps, group, node, pod

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(dumps: Dumps) -> Path:
    cluster = [
        *(node(name, group="a") for name in ("a0", "a1", "a2")),
        pod("busy", count=2, cpu="2", memory="1Gi", node=["a0", "a1"], labels={"app": "x"}),
        pod("p", count=9, cpu="3", memory="1Gi", labels={"app": "x"}),
        pod("q", count=9, cpu="1500m", memory="2Gi", namespace="other"),
    ]
    return dumps.write(cluster, {region: [group("a"), group("b", "c5.2xlarge")] for region in ("us-east-1", "us-west-2")})


def in_a_process(folder: Path, seed: int) -> bytes:
    """Standard output of a fresh Python with its own order of sets."""
    command = [sys.executable, "-c", "import sys; from spillway_local.cli import main; sys.exit(main())"]
    done = subprocess.run(
        [*command, "plan", "--from", str(folder), "--output", "json", "--assign"],
        env=os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": f"{ROOT}/shared:{ROOT}/local"},
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout


@pytest.mark.feature("SO-27")
def test_the_same_dump_gives_the_same_bytes_in_any_process_and_order(folder: Path) -> None:
    first = in_a_process(folder, 1)
    for file in [*(folder / "cluster").iterdir(), *(folder / "fleet").rglob("*.json")]:
        file.write_text(json.dumps(reversed_lists(json.loads(file.read_text()))))
    assert in_a_process(folder, 2) == first


def reversed_lists(answer: dict[str, Any]) -> dict[str, Any]:
    """What was listed, the other way round."""
    return {key: value[::-1] if isinstance(value, list) else value for key, value in answer.items()}


def test_json_is_one_object_and_nothing_else(dumps: Dumps, folder: Path) -> None:
    code, out, errors = dumps.run("plan", "--from", folder, "--output", "json")
    assert (code, errors) == (0, "")
    plan = json.loads(out)
    assert plan["cluster"] == "case"
    assert plan["created_at"] == "2026-01-01T00:00:00Z"
    assert "assignments" not in plan
    assert "placements" not in plan


def test_a_plan_names_the_snapshots_that_it_was_made_from(dumps: Dumps, folder: Path) -> None:
    before = dumps.plan(folder)
    assert len(set(before["snapshots"])) == 2
    assert all(before["snapshots"])
    nodes = folder / "cluster" / "objects.json"
    nodes.write_text(nodes.read_text().replace("1500m", "1400m"))
    assert dumps.plan(folder)["snapshots"][0] != before["snapshots"][0]


def test_assign_adds_the_pods_of_each_node_to_the_tables_too(dumps: Dumps, folder: Path) -> None:
    _, plain, _ = dumps.run("plan", "--from", folder)
    _, assigned, _ = dumps.run("plan", "--from", folder, "--assign")
    assert "Assignments" not in plain
    assert "other/q-8" in assigned


def test_tables_are_what_comes_without_asking(dumps: Dumps, folder: Path) -> None:
    code, out, _ = dumps.run("plan", "--from", folder)
    assert code == 0
    assert out.startswith("Plan ")
    assert "Scale out" in out


def test_a_node_that_the_memory_does_not_know_is_idle_since_the_time_that_is_given(dumps: Dumps, folder: Path) -> None:
    folder = dumps.write([node("a0", group="a"), node("a1", group="a")], {"us-east-1": [group("a", min=1)]})
    assert dumps.plan(folder)["scale_in"] == []
    [step] = dumps.plan(folder, "--assume-idle-since", "2025-12-31T23:00:00Z")["scale_in"]
    assert step["why"] == "empty"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--from"),
        (["--from", "."], "meta.json"),
        (["--from", "no-such-folder"], "no-such-folder"),
        (["--from", ".", "--assume-idle-since", "soon"], "2026-01-01T00:00:00Z"),
        (["--from", ".", "--assume-idle-since", "2026-01-01T00:00:00"], "time zone"),
        (["--from", ".", "--output", "yaml"], "yaml"),
        (["--from", ".", "--ass"], "--ass"),
    ],
)
def test_wrong_usage_exits_2_and_says_what_to_write(
    dumps: Dumps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, errors = dumps.run("plan", *arguments)
    assert (code, out) == (2, "")
    assert says in errors
    assert "Traceback" not in errors


def test_an_idle_time_after_the_dump_is_refused(dumps: Dumps, folder: Path) -> None:
    code, _, errors = dumps.run("plan", "--from", folder, "--assume-idle-since", "2026-01-01T00:00:01Z")
    assert code == 2
    assert "meta.json, key now: it lies before --assume-idle-since" in errors


def test_a_wrong_file_is_one_sentence_on_standard_error(dumps: Dumps, folder: Path) -> None:
    (folder / "fleet" / "us-east-1" / "x.json").write_text('{"Groups": []}')
    code, out, errors = dumps.run("plan", "--from", folder, "--output", "json")
    assert (code, out) == (2, "")
    assert errors.startswith(f"spillway: dump file {folder}/fleet/us-east-1/x.json, key Groups: ")
    assert len(errors.splitlines()) == 1


def test_a_reader_that_has_seen_enough_is_no_error(folder: Path) -> None:
    command = (
        f"{sys.executable} -c 'from spillway_local.cli import main; main()' plan --from {folder} --output json | head -c 1"
    )
    environment = os.environ | {"PYTHONPATH": f"{ROOT}/shared:{ROOT}/local"}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"{", b"")


def test_help_is_there_without_the_heavy_libraries() -> None:
    heavy = "boto3", "kubernetes", "moto", "pydantic", "rich", "yaml", "msgspec"
    code = f"""
import sys
from spillway_local.cli import main
try: main(["--help"])
except SystemExit: pass
print(sorted(set({heavy}) & set(sys.modules)), file=sys.stderr)
"""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}/shared:{ROOT}/local"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
