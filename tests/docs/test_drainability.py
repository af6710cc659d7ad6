"""docs/drainability.md lists the rules of scale in as the code has them."""

import pytest

from spillway.planner.scale_in import pods, rules
from spillway_local import drainability


@pytest.mark.feature("SI-07")
def test_the_page_is_made_of_the_rules() -> None:
    """`make drainability` writes it anew."""
    page = drainability.PAGE.read_text(encoding="utf-8")
    assert page[page.index(drainability.HEADING) :] == drainability.tables()
    for rule in (*rules.RULES, *pods.RULES):
        assert f"{rule.RULE} |" in page
