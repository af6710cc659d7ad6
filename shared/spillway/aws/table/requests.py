"""Open requests: capacity that a step asked a group for, from the moment before the group is raised.

Each write names what it read: a request that changed meanwhile is not overwritten. Closed ones stay for some
hours, so that a second delivery of the same task finds them and asks for nothing twice.
"""

from collections.abc import Iterator

import msgspec

from spillway.aws.table import keys
from spillway.aws.table.leases import Lease
from spillway.aws.table.store import ABSENT, Condition, Conflict, Put, Table, condition, expiry
from spillway.model.base import decode, encode
from spillway.model.memory import OpenRequest, RequestState

_KEEP_CLOSED_S = 6 * 3600  # longer than any execution lives
_LIVE = (RequestState.PLANNED, RequestState.OPEN)


def request_id(plan_id: str, step: int, hop: int) -> str:
    return f"{plan_id}#{step}#{hop}"


def is_live(request: OpenRequest) -> bool:
    """Planned or open: somebody still waits for it."""
    return request.state in _LIVE


def get(table: Table, id_: str) -> OpenRequest | None:
    item = table.get(keys.request(id_))
    return decode(item["body"], OpenRequest) if item else None


def of_plan(table: Table, plan_id: str) -> tuple[OpenRequest, ...]:
    """All of a plan, open and closed, by id."""
    return tuple(decode(item["body"], OpenRequest) for item in table.query(f"{keys.REQUEST}{plan_id}#"))


def live(table: Table) -> Iterator[OpenRequest]:
    """Those of all plans that somebody still waits for."""
    for item in table.query(keys.REQUEST):
        request = decode(item["body"], OpenRequest)
        if is_live(request):
            yield request


def of_region(table: Table, region: str) -> tuple[OpenRequest, ...]:
    """All plans' requests of a region, open and closed in the last hours."""
    found = (decode(item["body"], OpenRequest) for item in table.query(keys.REQUEST))
    return tuple(request for request in found if request.region == region)


def create(table: Table, request: OpenRequest, lease: Lease | None = None) -> bool:
    """False when it is there already, whatever became of it, or the lease is lost."""
    return _write(table, [_put(request, ABSENT)], lease)


def advance(
    table: Table, before: OpenRequest, after: OpenRequest, lease: Lease | None = None, following: OpenRequest | None = None
) -> bool:
    """False when the table no longer holds `before`, or the lease is lost: the caller reads again or leaves it.

    `following`, the request for what `before` could not serve, is made in the same transaction.
    """
    puts = [_put(after, condition("body = :before", before=_body(before)))]
    if following is not None:
        puts.append(_put(following, ABSENT))
    return _write(table, puts, lease)


def _put(request: OpenRequest, when: Condition) -> Put:
    ends = {} if is_live(request) else {keys.TTL: expiry(_KEEP_CLOSED_S)}
    return Put(keys.request(request.id), {"body": _body(request), **ends}, when)


def _write(table: Table, puts: list[Put], lease: Lease | None) -> bool:
    try:
        table.put_together(puts, (lease.sk, lease.held()) if lease else None)
    except Conflict:
        return False
    return True


def _body(request: OpenRequest) -> str:
    return encode(msgspec.structs.replace(request, orphan=False)).decode()
