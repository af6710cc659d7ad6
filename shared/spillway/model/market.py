"""What AWS sells to a group: types with their prices, and how many of them are still to be had."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from spillway.model.base import Model


class Offering(Model, frozen=True):
    """An instance type that a group may launch, and its price in USD an hour where AWS told: on-demand, and spot by zone.

    `shipped`: AWS told no on-demand price, the one that came with us stands in.
    """

    instance_type: str
    vcpus: int = 0
    on_demand_usd_h: float | None = None
    spot_usd_h: Mapping[str, float] = {}
    shipped: bool = False


class CeilingKind(StrEnum):
    QUOTA = "quota"
    RESERVATION = "capacity reservation"
    BLOCK = "capacity block"


class Ceiling(Model, frozen=True):
    """A quota in vCPUs, or a capacity reservation or block in instances: `limit` in all, `used` of it at `as_of`.

    `key` is the quota's code or the reservation's id. `used` is None where AWS did not tell. `name` is what people call it.
    `starts` and `ends` bound a reservation in time, `open` is False for one in a state that takes no launch.
    """

    region: str
    key: str
    kind: CeilingKind
    name: str
    limit: int
    used: int | None = None
    as_of: datetime | None = None
    starts: datetime | None = None
    ends: datetime | None = None
    open: bool = True


Draw = Mapping[str, int]
"""What one more node of a group takes from any one of these ceilings of its region: thousandths (of a vCPU, of an instance)
by the ceiling's key."""

WHOLE = 1000
"""The thousandths of one vCPU or instance: a group that is half spot draws half a node's vCPUs from each market's quota."""
