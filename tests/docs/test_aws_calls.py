"""docs/aws-calls.md says how many calls a tick takes, and this is how many it takes."""

import pytest

from spillway_local import fleet_calls


@pytest.mark.feature("FS-01")
@pytest.mark.parametrize(("groups", "regions"), fleet_calls.FLEETS.items())
def test_a_tick_takes_as_many_calls_as_the_page_says(groups: int, regions: int) -> None:
    """`make calls` writes it anew."""
    counted = fleet_calls.count(groups // regions)
    page = fleet_calls.PAGE.read_text(encoding="utf-8")

    written = fleet_calls.tables(dict.fromkeys(fleet_calls.FLEETS, counted)).splitlines()
    assert next(line for line in written if line.startswith(f"| {groups:,} |")) in page
    if groups == max(fleet_calls.FLEETS):
        assert [line for line in written if line.startswith("| `") and line not in page] == []
        assert page.count("\n| `") == sum(line.startswith("| `") for line in written)
