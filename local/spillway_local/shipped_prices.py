"""`python -m spillway_local.shipped_prices TYPES.csv`: makes the price table that ships with Spillway.

The table (`shared/spillway/aws/data/on_demand_prices.json`, 2 KB in the layer) is the last resort where no one else tells a
price. TYPES.csv has a line for each instance type with the columns `instance_type`, `price_usd_per_hour_us_east_1` and
`price_source`, which ends in the date of the prices; the optional data folder has one, `ec2_types.csv`.
"""

import csv
import json
import sys
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path

TABLE = Path(str(resources.files("spillway.aws").joinpath("data/on_demand_prices.json")))
REGION = "us-east-1"
_PRICE = "price_usd_per_hour_us_east_1"
_ORIGIN = (
    "From the published table of aws/karpenter-provider-aws (Apache-2.0), "
    "pkg/providers/pricing/zz_generated.pricing_aws.go, commit 6fc13b5236fd"
)


def table(rows: Iterable[Mapping[str, str]]) -> str:
    """The file's text; types without a price are left out. Raises ValueError where the prices are of several days."""
    priced = [row for row in rows if row[_PRICE]]
    dates = {row["price_source"].rpartition(" ")[2] for row in priced}
    if len(dates) != 1:
        raise ValueError(f"prices of one day are wanted, these are of {', '.join(sorted(dates)) or 'none'}")
    about = (
        f"On-demand prices in USD an hour, Linux, {REGION}. Last resort where neither a dump nor the Pricing API says. "
        f"{_ORIGIN}, generated {dates.pop()}."
    )
    prices = {row["instance_type"]: float(row[_PRICE]) for row in sorted(priced, key=lambda row: row["instance_type"])}
    return json.dumps({"about": about, "region": REGION, "prices": prices}, indent=1) + "\n"


def main(source: Path) -> None:
    with source.open(encoding="utf-8", newline="") as lines:
        TABLE.write_text(table(csv.DictReader(lines)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
