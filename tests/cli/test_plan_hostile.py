"""`spillway plan` on a dump in which somebody wrote what he should not: the plan is made, short, and safe to print."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.dumps import Dumps, desired, group, pod
from tests.kube.every_kind import samples

pytestmark = pytest.mark.feature("RS-06")

WILD = "\x1b]0;owned\x07\x1b[2J\r\n[red]|`<b>\u202e"


def with_file(folder: Path, name: str, content: Any) -> Path:
    raw = content if isinstance(content, bytes) else json.dumps({"apiVersion": "v1", "kind": "List", "items": content}).encode()
    (folder / "cluster" / f"{name}.json").write_bytes(raw)
    return folder


@pytest.fixture
def folder(dumps: Dumps) -> Path:
    """One pod that wants a node, and one object of each kind, full of what no one should print."""
    wild = json.loads(json.dumps(list(samples().values())).replace('"x"', json.dumps(WILD * 200)))
    for one in wild:
        one["metadata"].setdefault("annotations", {})["karpenter.sh/do-not-disrupt"] = WILD * 200
    bad = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": 3} for name in (WILD, "x" * 9000, "", "ok")]
    return with_file(dumps.write([pod("waits", cpu="3", memory="1Gi")], {"us-east-1": [group("a")]}), "wild", [*wild, *bad])


def test_who_is_sound_gets_his_node(dumps: Dumps, folder: Path) -> None:
    assert desired(dumps.plan(folder)) == {"us-east-1/a": (0, 1)}


def test_nothing_of_it_commands_a_terminal(dumps: Dumps, folder: Path) -> None:
    code, out, _ = dumps.run("plan", "--from", folder, "--assign")
    assert code == 0
    assert all(line.isprintable() for line in out.split("\n"))
    assert "ok is set aside" in " ".join(out.split())


def test_no_text_of_the_plan_is_long(dumps: Dumps, folder: Path) -> None:
    def texts(value: Any) -> list[str]:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return [value] if isinstance(value, str) else [text for one in inner for text in texts(one)]

    assert max(map(len, texts(dumps.plan(folder)))) <= 1000


@pytest.mark.parametrize(
    "broken",
    [
        b"", b"\xff\xfe", b'{"\xff": 1}', b'{"kind": "\xff", "items": []}', b'{"kind": "List", "items": ["\\ud800"]}',
        b'{"items": [' + b"[" * 100_000, b'{"kind": "List", "metadata": {"continue": "\xff"}, "items": []}',
    ],
    ids=range(7),
)  # fmt: skip
def test_a_file_that_is_no_json_is_one_sentence(dumps: Dumps, folder: Path, broken: bytes) -> None:
    code, out, errors = dumps.run("plan", "--from", with_file(folder, "broken", broken))
    assert (code, out) == (2, "")
    assert "broken.json" in errors
    assert "Traceback" not in errors
    assert len(errors.strip().split("\n")) == 1
