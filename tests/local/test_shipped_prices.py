"""The price table that ships with Spillway is made by a script, out of a list of types and prices of one day."""

import csv
import json
from typing import Any

import pytest

from bench.data import OPTIONAL
from spillway_local import shipped_prices

TYPES = OPTIONAL / "ec2_types.csv"


def row(name: str, price: str, date: str = "2026-07-20") -> dict[str, str]:
    return {"instance_type": name, "price_usd_per_hour_us_east_1": price, "price_source": f"a table {date}"}


@pytest.mark.feature("FS-09")
def test_holds_the_prices_by_type_and_says_of_what_day_and_whence_they_are() -> None:
    made: dict[str, Any] = json.loads(
        shipped_prices.table([row("m5.large", "0.096"), row("c5.large", "0.085"), row("x9.big", "")])
    )

    assert made["prices"] == {"c5.large": 0.085, "m5.large": 0.096}
    assert made["region"] == "us-east-1"
    assert "generated 2026-07-20" in made["about"]


def test_prices_of_several_days_make_no_table() -> None:
    with pytest.raises(ValueError, match="2026-07-20, 2026-08-01"):
        shipped_prices.table([row("m5.large", "0.096"), row("c5.large", "0.085", "2026-08-01")])


@pytest.mark.skipif(not TYPES.is_file(), reason="the optional data folder is not here")
def test_the_table_that_ships_is_what_the_script_makes() -> None:
    with TYPES.open(encoding="utf-8", newline="") as lines:
        assert shipped_prices.table(csv.DictReader(lines)) == shipped_prices.TABLE.read_text(encoding="utf-8")
