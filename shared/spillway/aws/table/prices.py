"""Prices as AWS told them, with the time of each answer: a new process asks for none that is young, and an old one stands in
where AWS fails."""

import zlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from spillway.aws.market import SpotTold, Told
from spillway.aws.table import keys
from spillway.aws.table.store import Table, expiry

_KEEP_S = 30 * 86400
_ON_DEMAND, _SPOT = "on-demand", "spot"


@dataclass(frozen=True)
class PriceShelf:
    """By instance type. Raises AwsForbidden and AwsUnavailable."""

    table: Table

    def on_demand(self, region: str) -> Told:
        body = self._body(region, _ON_DEMAND)
        return msgspec.json.decode(body, type=dict[str, tuple[datetime, float | None]]) if body else {}

    def spot(self, region: str) -> SpotTold:
        body = self._body(region, _SPOT)
        return msgspec.json.decode(body, type=dict[str, tuple[datetime, list[dict[str, Any]]]]) if body else {}

    def put_on_demand(self, region: str, prices: Told) -> None:
        self._put(region, _ON_DEMAND, prices)

    def put_spot(self, region: str, prices: SpotTold) -> None:
        self._put(region, _SPOT, prices)

    def _body(self, region: str, market: str) -> bytes:
        item = self.table.get(keys.prices(region, market))
        return zlib.decompress(item["body"]) if item else b""

    def _put(self, region: str, market: str, prices: Told | SpotTold) -> None:
        body = zlib.compress(msgspec.json.encode(prices, order="deterministic"))
        self.table.put(keys.prices(region, market), {"body": body, keys.TTL: expiry(_KEEP_S)})
