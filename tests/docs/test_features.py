"""`make features` tells which rows of docs/features.md a passing test proves."""

import re
from pathlib import Path

import pytest

from spillway_local import features

ROOT = Path(__file__).parents[2]
PAGE = features.FEATURES.read_text(encoding="utf-8")

TESTS = """
import pytest

@pytest.mark.feature("SO-01")
def test_passes(): pass

@pytest.mark.feature("SO-02")
@pytest.mark.parametrize("right", [True, False])
def test_fails_once(right): assert right

@pytest.mark.feature("SO-03")
def test_is_skipped(): pytest.skip("not here")

@pytest.mark.feature("SO-04")
def test_is_known_to_fail(): pytest.xfail("not yet")

@pytest.fixture
def broken():
    yield
    raise RuntimeError

@pytest.mark.feature("SO-05")
def test_cannot_clean_up(broken): pass

@pytest.mark.feature("SO-06")
@pytest.mark.feature("SO-07")
def test_proves_two(): pass

def test_is_not_marked(): raise AssertionError("never run")
"""


def printed(tmp_path: Path, capsys: pytest.CaptureFixture[str], tests: str) -> tuple[int, list[str], str]:
    (tmp_path / f"test_{tmp_path.name}.py").write_text(tests)  # one process imports a name once
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = feature(id): x\n")
    code = features.main(
        ["-c", str(tmp_path / "pytest.ini"), "--import-mode=importlib", "-p", "no:cacheprovider", str(tmp_path)]
    )
    said = capsys.readouterr()
    return code, said.out.splitlines(), said.err


def test_the_page_has_every_row_once() -> None:
    found = features.ids(PAGE)
    assert len(found) == len(set(found)) == 126


def test_a_row_is_done_when_a_marked_test_passed_and_none_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, errors = printed(tmp_path, capsys, TESTS)
    assert code == 0
    assert [line.partition("::")[2] for line in errors.splitlines()] == ["test_fails_once[False]", "test_cannot_clean_up"]
    assert [line for line in lines[:-1] if line.endswith(" done")] == ["SO-01 done", "SO-06 done", "SO-07 done"]
    assert "SO-05 open" in lines
    assert lines[-1] == "3 of 126 done"


def test_a_marker_with_an_unknown_id_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, errors = printed(tmp_path, capsys, TESTS.replace("SO-03", "SO-99"))
    assert code == 1
    assert lines[-1] == "0 of 126 done"
    assert "SO-99" in errors


def test_a_module_that_does_not_import_is_told_and_the_others_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_broken.py").write_text("import nothing_of_that_name\n")
    code, lines, errors = printed(tmp_path, capsys, TESTS)
    assert code == 1
    assert "SO-01 done" in lines
    assert "nothing_of_that_name" in errors


@pytest.mark.parametrize(("there", "runs"), [(True, [[], ["--api-server", "real"]]), (False, [[]])])
def test_a_real_control_plane_is_asked_where_its_programs_are_there(
    there: bool, runs: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(features.binaries, "are_there", lambda: there)
    monkeypatch.setattr(features.pytest, "main", lambda arguments, plugins: asked.append(arguments[3:]))

    features.main()

    assert asked == runs
    assert ("make test-cluster" in capsys.readouterr().err) is not there


def test_every_marker_of_this_project_names_a_row() -> None:
    marked = {
        found
        for path in (ROOT / "tests").rglob("*.py")
        if path != Path(__file__)
        for found in re.findall(r"mark\.feature\(\s*[\"']([^\"']*)[\"']", path.read_text(encoding="utf-8"))
    }
    assert marked <= set(features.ids(PAGE))
