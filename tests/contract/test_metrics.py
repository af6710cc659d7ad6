"""Every metric is written, documented, and shown under the dimensions that it is written with."""

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from spillway.telemetry import NAMESPACE, Metric, emit, start_at_zero, unit
from spillway_local.cloudformation import ROOT, load, resources

CLUSTER, REGION = frozenset({"cluster"}), frozenset({"cluster", "region"})
DIMENSIONS = {"cluster": {CLUSTER}, "cluster and region": {REGION}, "cluster; cluster and region": {CLUSTER, REGION}}
SEARCH = re.compile(r"""SEARCH\('\{Spillway,cluster,region} cluster="prod" MetricName="(\w+)"', '\w+', 60\)""")


def documented() -> dict[str, tuple[str, ...]]:
    """Rows of docs/metrics.md: unit, dimensions, functions that write it, meaning."""
    lines = (ROOT / "docs/metrics.md").read_text(encoding="utf-8").splitlines()
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if line.startswith("| `")]
    return {row[0].strip("`"): row[1:] for row in rows}


def written() -> dict[str, dict[str, set[frozenset[str]]]]:
    """Dimensions by metric and function: a handler's `emit(cluster, values)` or `emit(cluster, values, region)`."""
    found: dict[str, dict[str, set[frozenset[str]]]] = defaultdict(dict)
    for path in sorted(ROOT.glob("functions/*/app.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        dimensions = {CLUSTER if len(call.args) + len(call.keywords) == 2 else REGION for call in _emits(tree)}
        for name in _named(tree):
            found[Metric[name].value][path.parent.name] = dimensions
    return found


def _emits(tree: ast.AST) -> Iterator[ast.Call]:
    return (n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "emit")


def _named(tree: ast.AST) -> set[str]:
    return {
        n.attr
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "Metric"
    }


def dashboard() -> list[dict[str, object]]:
    body = load()["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"][0]
    text = re.sub(r"\$\{(\w[\w:.]*)}", lambda found: "prod" if found[1] == "ClusterName" else "x", body).replace("${!", "${")
    widgets: list[dict[str, object]] = json.loads(text)["widgets"]
    return widgets


def shown() -> set[tuple[str, frozenset[str]]]:
    """Our metrics on the dashboard, each with its dimensions."""
    found = set()
    for widget in dashboard():
        for line in widget["properties"].get("metrics", []):  # type: ignore[attr-defined]
            if isinstance(line[0], dict):
                names = SEARCH.findall(line[0]["expression"])
                assert names, line[0]["expression"]
                found |= {(name, REGION) for name in names}
            elif line[0] == NAMESPACE:
                found.add((line[1], frozenset(line[2:-1:2])))
    return found


@pytest.mark.feature("OB-04")
def test_the_page_lists_every_metric_with_its_unit() -> None:
    assert {name: row[0] for name, row in documented().items()} == {one.value: unit(one).value for one in Metric}


@pytest.mark.feature("OB-04")
@pytest.mark.parametrize("metric", list(Metric))
def test_a_metric_is_written_as_the_page_says(metric: Metric) -> None:
    _, dimensions, functions, meaning = documented()[metric.value]
    by_function = written()[metric.value]
    assert sorted(by_function) == re.findall(r"\w+", functions)
    assert set().union(*by_function.values()) >= DIMENSIONS[dimensions]
    assert meaning


@pytest.mark.feature("OB-04")
def test_the_dashboard_shows_every_metric_under_dimensions_that_are_written() -> None:
    assert {name for name, _ in shown()} == {metric.value for metric in Metric}
    wrong = [(name, sorted(used)) for name, used in shown() if used not in DIMENSIONS[documented()[name][1]]]
    assert not wrong


@pytest.mark.feature("OB-04")
def test_alarms_watch_metrics_that_are_written() -> None:
    for name, alarm in resources("AWS::CloudWatch::Alarm").items():
        if alarm.get("Namespace") == NAMESPACE:
            assert {item["Name"] for item in alarm["Dimensions"]} == CLUSTER
            assert CLUSTER in DIMENSIONS[documented()[alarm["MetricName"]][1]], name


@pytest.mark.feature("OB-04")
def test_every_metric_is_there_from_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    """What no scheduled function writes at each of its runs is written as zero, under all of its dimensions."""
    start_at_zero.cache_clear()
    start_at_zero("prod", ("us-east-1", "us-west-2"))
    start_at_zero("prod", ("us-east-1", "us-west-2"))

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.get("region", "") for line in lines] == ["", "us-east-1", "us-west-2"], "once"
    zeros = [{name for name, value in line.items() if value == [0.0]} for line in lines]
    every_minute = {"snapshot_cluster", "snapshot_fleet", "plan"}
    seldom = {name: row[1] for name, row in documented().items() if not every_minute & set(re.findall(r"\w+", row[2]))}
    assert zeros[0] == {name for name, dimensions in seldom.items() if dimensions == "cluster"}
    assert zeros[1] == zeros[2] == {name for name, dimensions in seldom.items() if dimensions == "cluster and region"}
    assert {"NodesRefused", "DrainsAbandoned", "EventsDropped"} <= seldom.keys()


@pytest.mark.feature("OB-04")
def test_a_metric_carries_the_documented_dimensions_and_no_others(capsys: pytest.CaptureFixture[str]) -> None:
    emit("prod", {Metric.PLANS: 0})
    emit("prod", {Metric.NODES_REFUSED: 2}, "us-west-2")

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert [frozenset(line["_aws"]["CloudWatchMetrics"][0]["Dimensions"][0]) for line in lines] == [CLUSTER, REGION]
    assert [line["_aws"]["CloudWatchMetrics"][0]["Namespace"] for line in lines] == [NAMESPACE] * 2
    assert lines[0]["Plans"] == [0.0]  # zero is written, so that a gap means that nothing ran


def test_the_dashboard_is_valid_and_no_widget_hides_another() -> None:
    cells = [
        (x, y)
        for widget in dashboard()
        for x in range(widget["x"], widget["x"] + widget["width"])  # type: ignore[operator]
        for y in range(widget["y"], widget["y"] + widget["height"])  # type: ignore[operator]
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_the_last_plan_is_on_the_dashboard() -> None:
    (widget,) = [one for one in dashboard() if one["type"] == "custom"]
    body = load()["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"][1]
    assert body == {"Widget": {"Ref": "WidgetFunction.Alias"}}
    assert Path(ROOT / "functions/widget/app.py").exists()
    assert widget["properties"]["updateOn"]["refresh"]  # type: ignore[index]
