"""The Pricing API and spot prices, answered from a dump: moto 5.2.5 has no pricing, and every spot price there is 0.00001."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from spillway.aws import clients
from spillway.aws.market import PRICING_REGION

_EVENT = "before-send.pricing.GetProducts"


class _Raw:
    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        return iter([self._body])


@contextmanager
def price_list(prices: Mapping[str, Mapping[str, float]]) -> Iterator[None]:
    """While it holds, GetProducts knows these on-demand prices in USD an hour, by region and instance type."""

    def answer(request: Any, **_: object) -> AWSResponse:
        wanted = {item["Field"]: item["Value"] for item in json.loads(request.body)["Filters"]}
        price = prices.get(wanted["regionCode"], {}).get(wanted["instanceType"])
        body = json.dumps({"FormatVersion": "aws_v1", "PriceList": [] if price is None else [_product(price)]}).encode()
        headers = HTTPHeaders()
        headers["content-type"] = "application/x-amz-json-1.1"
        return AWSResponse(request.url, 200, headers, _Raw(body))

    events = clients.client("pricing", PRICING_REGION).meta.events
    events.register_first(_EVENT, answer)
    try:
        yield
    finally:
        events.unregister(_EVENT, answer)


def _product(price: float) -> str:
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": f"{price:.10f}"}}
    return json.dumps({"terms": {"OnDemand": {"sku.term": {"priceDimensions": {"sku.term.rate": dimension}}}}})
