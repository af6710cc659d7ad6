"""Each function by hand, with each sample event that the project ships."""

import json
from pathlib import Path

import pytest

from spillway_local import invoke
from spillway_local.handlers import ROOT, Handlers

EVENTS = sorted((ROOT / "events").glob("*.json"))


@pytest.mark.feature("OP-03")
@pytest.mark.parametrize("event", EVENTS, ids=[path.stem for path in EVENTS])
def test_a_sample_event_runs_and_is_answered_in_json(event: Path, capsys: pytest.CaptureFixture[str]) -> None:
    function = event.name.partition(".")[0]
    assert invoke.main([function, str(event)]) == invoke.DONE, capsys.readouterr().err
    json.loads(capsys.readouterr().out)


@pytest.mark.feature("OP-03")
@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("plan.burst", {"status": "started"}),
        ("scale_out.steps", {"raised": 5}),
        ("drain.begin", {"status": "draining"}),
        ("drain.evict", {"status": "empty"}),
        ("scale_in.terminate", {"status": "ending"}),
        ("remove_node.step", {"status": "removed"}),
    ],
)
def test_it_does_its_work(event: str, said: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    invoke.main([event.partition(".")[0], str(ROOT / "events" / f"{event}.json")])
    assert json.loads(capsys.readouterr().out).items() >= said.items()


@pytest.mark.feature("OP-03")
def test_every_function_has_a_sample_event() -> None:
    assert {path.name.partition(".")[0] for path in EVENTS} == set(Handlers())


def test_an_unknown_function_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke.main(["nothing", str(EVENTS[0])]) == invoke.WRONG_USAGE
    assert "snapshot_fleet" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "words"), [("[1]", "JSON object"), ("{", "no JSON")])
def test_a_file_that_is_no_event_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    file = tmp_path / "event.json"
    file.write_text(text)
    assert invoke.main(["snapshot_fleet", str(file)]) == invoke.WRONG_USAGE
    assert words in capsys.readouterr().err


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke.main(["snapshot_fleet", str(tmp_path / "none.json")]) == invoke.WRONG_USAGE
    assert "none.json" in capsys.readouterr().err


def test_a_bad_event_names_its_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "event.json"
    file.write_text('{"time": "yesterday"}')
    assert invoke.main(["snapshot_fleet", str(file)]) == invoke.WRONG_USAGE
    assert "time" in capsys.readouterr().err
