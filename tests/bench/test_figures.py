"""What `make bench` offers, and how it says that something is missing or wrong."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import data
from bench.__main__ import DONE, FAILED, FIGURES, WRONG_USAGE, main
from bench.check import Wrong
from bench.figure import Figure
from spillway_local.handlers import Handlers

CLAIMED = {
    "cost_burst_300",
    "cost_burst_2000",
    "bound_burst_300",
    "karpenter_20000",
    "ca_scale_up_50000",
    "ca_binpack_51000",
    "plan_150000",
    "plan_growth",
}


def test_every_figure_that_we_claim_is_there() -> None:
    assert FIGURES.keys() >= CLAIMED


def test_every_function_has_a_cold_start() -> None:
    assert {name for name in FIGURES if name.startswith("cold_start_")} == {f"cold_start_{name}" for name in Handlers()}


def test_the_page_has_every_figure() -> None:
    page = (data.ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert [name for name in FIGURES if f"`{name}`" not in page] == []


def test_a_figure_is_a_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    def figure() -> Iterator[Figure]:
        yield {"figure": "speed_of_light", "value": 1.0, "unit": "c", "goal": 1.0}

    assert main(["--only", "speed"], {"speed_of_light": figure, "weight": pytest.fail}) == DONE
    assert json.loads(capsys.readouterr().out)["figure"] == "speed_of_light"


def test_missing_data_skips_one_figure_and_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "OPTIONAL", data.ROOT.parent / "nowhere")
    assert main(["--only", "ca_binpack"]) == DONE
    assert main(["--only", "plan_150000"]) == DONE
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert "no dump ca_binpack_51000" in first["skipped"]
    assert "no generator" in second["skipped"]


def test_a_result_that_does_not_pass_the_check_fails_and_the_others_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    def wrong() -> Iterator[Figure]:
        raise Wrong("two pods on one chair")
        yield {}

    def right() -> Iterator[Figure]:
        yield {"figure": "right"}

    assert main([], {"wrong": wrong, "right": right}) == FAILED
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"figure": "wrong", "failed": "two pods on one chair"}
    assert second == {"figure": "right"}


def test_an_unknown_figure_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "beauty"]) == WRONG_USAGE
    assert "cost_burst_300" in capsys.readouterr().err


def test_a_reading_tells_grouping_from_decoding() -> None:
    read = data.read(data.folder("burst_300"))
    assert sum(len(pods.names) for pods in read.world.cluster.pods) == 300
    assert 0 < read.grouping.wall < read.reading.wall


def test_the_bench_needs_the_project_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "OPTIONAL", Path(sys.prefix) / "nowhere")
    assert data.folder("burst_300").is_relative_to(data.ROOT)
