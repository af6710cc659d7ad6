"""Alarms: what they watch, whom they tell, and the page that says what to do."""

import re
from typing import Any

import pytest

from spillway_local.cloudformation import ROOT, load, resources

ALARMS = resources("AWS::CloudWatch::Alarm")
SECTIONS = re.findall(r"^## (\S+)$", (ROOT / "docs/runbook.md").read_text(encoding="utf-8"), re.MULTILINE)


def section(alarm: dict[str, Any]) -> str:
    description = alarm["AlarmDescription"]["Fn::Sub"]
    link = re.search(r"docs/runbook\.md#(\S+)$", description)
    assert link, description
    return link[1]


def test_every_alarm_leads_to_its_own_section_of_the_runbook_and_every_section_has_an_alarm() -> None:
    assert sorted(section(alarm) for alarm in ALARMS.values()) == sorted(SECTIONS)


@pytest.mark.parametrize("name", ALARMS)
def test_a_section_is_named_like_its_alarm(name: str) -> None:
    assert section(ALARMS[name]) == re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_tells_the_topic_of_the_parameter(name: str) -> None:
    told = {"Fn::If": ["HasAlarmTopic", [{"Ref": "AlarmTopic"}], {"Ref": "AWS::NoValue"}]}
    assert ALARMS[name]["AlarmActions"] == ALARMS[name]["OKActions"] == told


@pytest.mark.feature("CS-14")
@pytest.mark.parametrize("name", ["NoClusterSnapshot", "NoFleetSnapshot", "NoPlan"])
def test_silence_is_an_alarm_where_something_must_happen_every_minute(name: str) -> None:
    alarm = ALARMS[name]
    assert alarm["TreatMissingData"] == "breaching"
    assert (alarm["Statistic"], alarm["ComparisonOperator"], alarm["Threshold"]) == ("Sum", "LessThanThreshold", 1)
    assert (alarm["Period"], alarm["EvaluationPeriods"]) == (60, 5), "the runbook and the pages say five minutes"
    assert alarm.get("DatapointsToAlarm", 5) == 5, "one tick that fails is none"


@pytest.mark.feature("OP-08")
def test_a_single_vanished_node_is_an_alarm() -> None:
    alarm = ALARMS["NodesVanished"]
    assert (alarm["MetricName"], alarm["Statistic"], alarm["EvaluationPeriods"]) == ("NodesVanished", "Sum", 1)
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)


@pytest.mark.feature("FS-08")
def test_a_single_refusal_in_unknown_words_is_an_alarm() -> None:
    alarm = ALARMS["LaunchFailureUnknown"]
    assert (alarm["MetricName"], alarm["Statistic"], alarm["EvaluationPeriods"]) == ("LaunchFailuresUnknown", "Sum", 1)
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)


@pytest.mark.feature("EX-06")
def test_an_open_breaker_is_an_alarm() -> None:
    alarm = ALARMS["BreakerOpen"]
    assert (alarm["MetricName"], alarm["Statistic"], alarm["EvaluationPeriods"]) == ("BreakersOpen", "Maximum", 1)
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)


def test_a_stack_whose_schedule_is_off_raises_no_alarm() -> None:
    assert all(alarm["ActionsEnabled"] == {"Fn::If": ["Runs", True, False]} for alarm in ALARMS.values())


def test_an_execution_that_fails_times_out_or_is_aborted_is_an_alarm() -> None:
    metrics = [item["MetricStat"]["Metric"] for item in ALARMS["ExecutionFailed"]["Metrics"] if "MetricStat" in item]
    assert {item["MetricName"] for item in metrics} == {"ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted"}
    assert {item["Namespace"] for item in metrics} == {"AWS/States"}


def test_the_dashboard_shows_every_alarm() -> None:
    body = load()["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"][0]
    assert sorted(re.findall(r"\$\{(\w+)\.Arn}", body)) == sorted(ALARMS)
