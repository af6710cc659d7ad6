"""Open requests: capacity that a step asked a group for, from the moment before the group is raised.

Each write names what it read: a request that changed meanwhile is not overwritten. Closed ones stay for some
hours, so that a second delivery of the same task finds them and asks for nothing twice.
"""

from collections.abc import Iterator

from spillway.aws.table import keys
from spillway.aws.table.leases import Lease
from spillway.aws.table.store import ABSENT, Condition, Conflict, Table, condition, expiry
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


def create(table: Table, request: OpenRequest, lease: Lease | None = None) -> bool:
    """False when it is there already, whatever became of it, or the lease is lost."""
    return _write(table, request, ABSENT, lease)


def advance(table: Table, before: OpenRequest, after: OpenRequest, lease: Lease | None = None) -> bool:
    """False when the table no longer holds `before`, or the lease is lost: the caller reads again or leaves it."""
    return _write(table, after, condition("body = :before", before=_body(before)), lease)


def _write(table: Table, request: OpenRequest, when: Condition, lease: Lease | None) -> bool:
    attributes: dict[str, object] = {"body": _body(request)}
    if not is_live(request):
        attributes[keys.TTL] = expiry(_KEEP_CLOSED_S)
    sk = keys.request(request.id)
    try:
        if lease is None:
            table.put(sk, attributes, when)
        else:
            table.put_fenced(sk, attributes, when, lease.sk, lease.held())
    except Conflict:
        return False
    return True


def _body(request: OpenRequest) -> str:
    return encode(request).decode()
