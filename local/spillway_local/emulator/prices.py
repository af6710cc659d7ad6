"""The Pricing API, answered from a dump: moto 5.2.5 has none."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from spillway.aws.market import PRICING_REGION
from spillway_local.emulator.sending import answered


@contextmanager
def price_list(prices: Mapping[str, Mapping[str, float]]) -> Iterator[None]:
    """While it holds, GetProducts knows these on-demand prices in USD an hour, by region and instance type."""

    def answer(request: Mapping[str, Any]) -> Mapping[str, Any]:
        wanted = {item["Field"]: item["Value"] for item in request["Filters"]}
        known = prices.get(wanted["regionCode"], {})
        named = [wanted["instanceType"]] if "instanceType" in wanted else sorted(known)
        return {"FormatVersion": "aws_v1", "PriceList": [_product(name, known[name]) for name in named if name in known]}

    with answered("pricing", PRICING_REGION, "GetProducts", answer):
        yield


def _product(name: str, price: float) -> str:
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": f"{price:.10f}"}}
    terms = {"OnDemand": {"sku.term": {"priceDimensions": {"sku.term.rate": dimension}}}}
    return json.dumps({"product": {"attributes": {"instanceType": name}}, "terms": terms})
