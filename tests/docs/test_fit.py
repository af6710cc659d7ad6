"""The page on fit names each rule of the planner, and each filter of the scheduler."""

import re

import pytest

from spillway.planner import rules
from spillway_local.cloudformation import ROOT
from tests.fit.checker import FILTERS

PAGE = (ROOT / "docs/fit.md").read_text(encoding="utf-8")
ROWS = [line.strip("|").split("|") for line in PAGE.partition("## What a new node is")[0].splitlines() if line.startswith("|")][
    2:
]


@pytest.mark.feature("SO-06")
def test_each_module_of_a_rule_is_on_the_page() -> None:
    modules = {
        f"rules/{one.name}" for one in (ROOT / "shared/spillway/planner/rules").glob("*.py") if one.name != "__init__.py"
    }
    assert modules == set(re.findall(r"`(rules/\w+\.py)`", PAGE))
    judged = {f"rules/{rule.__name__.rpartition('.')[2]}.py" for rule in rules.FILTERS}
    assert judged <= {name for row in ROWS for name in re.findall(r"`(rules/\w+\.py)`", row[1])}


@pytest.mark.feature("SO-06")
def test_each_filter_of_the_scheduler_is_in_a_row() -> None:
    plugins = {name.strip() for row in ROWS for name in row[2].split(",")}
    assert FILTERS.keys() <= plugins
