"""Every case in `open/`: right, or on the list of those that are not yet."""

from pathlib import Path

import pytest

from tests.cases import harness


@pytest.mark.parametrize("label", harness.labels())
def test_the_plan_of_a_case_is_right(label: str, tmp_path: Path) -> None:
    found = harness.shortfalls(label, tmp_path)
    if label in harness.expected_failures():
        assert found, f"{label} passes: remove it from {harness.LIST.name}"
        pytest.xfail("; ".join(found))
    assert not found, "; ".join(found)


def test_the_list_of_expected_failures_names_cases_in_order_and_once() -> None:
    listed = harness.LIST.read_text(encoding="utf-8").splitlines()
    assert listed == sorted(set(listed))
    assert not set(listed) - set(harness.labels()), "names no case"
