"""Leases. Of a group: for one write (read, raise, record), a minute at most. Of a node: for its whole drain.

A lease carries a fencing token that grows with each new holder, also over releases: a write that names its lease
(see `requests`) fails once somebody else has taken it. Times in a lease are ours, in milliseconds, since two
functions compare them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from spillway import clock
from spillway.aws.table import keys
from spillway.aws.table.store import Condition, Conflict, Table, condition, expiry
from spillway.errors import LeaseHeld
from spillway.model.memory import Drain

GROUP_LEASE_S = 60
DRAIN_LEASE_S = 300  # renewed at each round of a drain, which the workflow never puts off for so long
_DEAD = timedelta(minutes=10)  # a drain that has not renewed for so long after its lease's end will not come back
_KEEP_TOKEN_S = 7 * 86400


@dataclass(frozen=True)
class Lease:
    """`holder` is who wrote it last: `<plan>#<step>#<hop>` for a group, `<plan>#<step>` for a node."""

    sk: str
    holder: str
    token: int
    until: datetime

    def held(self) -> Condition:
        """True of the lease's item while nobody else has taken it."""
        return condition("holder = :holder AND fence = :fence", holder=self.holder, fence=self.token)

    def left_s(self) -> float:
        return (self.until - clock.utcnow()).total_seconds()


@contextmanager
def group(table: Table, region: str, name: str, holder: str) -> Iterator[Lease]:
    """The right to change a group's desired capacity. Raises LeaseHeld, also for the same holder: an earlier
    invocation of the same task may still be at it."""
    lease = _take(table, keys.group_lease(region, name), holder, clock.utcnow() + timedelta(seconds=GROUP_LEASE_S), {})
    try:
        yield lease
    finally:
        release(table, lease)


def watch(table: Table, holder: str, until: datetime) -> Lease:
    """The right to watch the cluster and to store what is seen. Raises LeaseHeld, also for the same holder."""
    return _take(table, keys.WATCH_LEASE, holder, until, {})


def is_held(table: Table, lease: Lease) -> bool:
    """Whether nobody else has taken it since."""
    item = table.get(lease.sk) or {}
    return (item.get("holder"), item.get("fence")) == (lease.holder, lease.token)


def node(table: Table, name: str, plan_id: str, step: int, until: datetime) -> Lease:
    """Takes the node for a step's drain, or renews what the step holds. Raises LeaseHeld."""
    sk, holder = keys.node_lease(name), f"{plan_id}#{step}"
    try:
        item = table.update(
            sk, "SET held_until = :until REMOVE #ttl", condition("holder = :holder", holder=holder), until=_ms(until)
        )
    except Conflict:
        return _take(table, sk, holder, until, {"plan_id": plan_id, "step": step, "since": clock.utcnow().isoformat()})
    return Lease(sk, holder, item["fence"], until)


def drain(table: Table, name: str, plan_id: str, step: int) -> Lease:
    """Takes or renews the node's lease until the next round of its drain. Raises LeaseHeld."""
    return node(table, name, plan_id, step, clock.utcnow() + timedelta(seconds=DRAIN_LEASE_S))


def drains_for(table: Table, name: str, plan_id: str, step: int) -> bool:
    """Whether the step has the node already."""
    return (table.get(keys.node_lease(name)) or {}).get("holder") == f"{plan_id}#{step}"


def release(table: Table, lease: Lease) -> None:
    """Does nothing when the lease is no longer ours. The token stays, so that it never counts from one again."""
    try:
        table.update(
            lease.sk,
            "SET held_until = :zero, #ttl = :gone REMOVE holder",
            lease.held(),
            zero=0,
            gone=expiry(_KEEP_TOKEN_S),
        )
    except Conflict:
        return


def release_node(table: Table, name: str, plan_id: str, step: int) -> None:
    """Releases a node's lease by who holds it; does nothing when that is somebody else."""
    item = table.get(keys.node_lease(name))
    if item and item.get("holder") == f"{plan_id}#{step}":
        release(table, Lease(item["sk"], item["holder"], item["fence"], _moment(item["held_until"])))


def drains(table: Table) -> Iterator[Drain]:
    """Nodes whose lease is held, also past its end: whoever died with it left something to sweep.

    One that ended long ago is an orphan also while other drains of its plan go on.
    """
    dead = clock.utcnow() - _DEAD
    for item in table.query(keys.NODE_LEASE):
        if "holder" in item:
            yield Drain(
                node=item["sk"].removeprefix(keys.NODE_LEASE),
                plan_id=item["plan_id"],
                step=item["step"],
                since=datetime.fromisoformat(item["since"]),
                orphan=_moment(item["held_until"]) < dead,
            )


def _take(table: Table, sk: str, holder: str, until: datetime, about: dict[str, Any]) -> Lease:
    now = clock.utcnow()
    sets = ", ".join(f"{name} = :{name}" for name in ("holder", "held_until", *about))
    try:
        item = table.update(
            sk,
            f"SET {sets} REMOVE #ttl ADD fence :one",
            condition("attribute_not_exists(holder) OR held_until < :now", now=_ms(now)),
            holder=holder,
            held_until=_ms(until),
            one=1,
            **about,
        )
    except Conflict:
        raise LeaseHeld(_what(sk), (table.get(sk) or {}).get("holder", "another invocation")) from None
    return Lease(sk, holder, item["fence"], until)


def _what(sk: str) -> str:
    if sk == keys.WATCH_LEASE:
        return "the view of the cluster"
    if sk.startswith(keys.GROUP_LEASE):
        return f"group {sk.removeprefix(keys.GROUP_LEASE)}"
    return f"node {sk.removeprefix(keys.NODE_LEASE)}"


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
