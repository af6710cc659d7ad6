"""The page of launch failures names each class with the scopes that the table gives it."""

from collections import defaultdict

import pytest

from spillway.aws.failure_general import GENERAL
from spillway.aws.failure_table import ROWS
from spillway.model.fleet import FailureClass, Scope
from spillway_local.cloudformation import ROOT

NO_TEXT = {failure: {Scope.GROUP} for failure in (FailureClass.LATE, FailureClass.REJECTED, FailureClass.UNKNOWN)}


@pytest.mark.feature("FS-08")
def test_each_class_is_on_the_page_with_how_far_it_reaches() -> None:
    reach: defaultdict[FailureClass, set[Scope]] = defaultdict(set, NO_TEXT)
    for row in (*ROWS, *GENERAL):
        reach[row.failure].add(row.scope)
    lines = (ROOT / "docs/launch-failures.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| `")]

    told = {FailureClass(row[0].strip(" `")): {Scope(one.strip()) for one in row[1].split(";")} for row in rows}

    assert told == {failure: scopes for failure, scopes in reach.items() if failure is not FailureClass.REBALANCE}
