"""The planner's memory, one item for each node, refusal, request and drain, and for each type of each group.

A node's clocks are written when they change. `last_seen` alone is written each minute only while the node is
young (whether it vanished within a minute of joining hangs on it), later once an hour: 5,000 nodes would
otherwise cost 7 million writes a day.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta

import msgspec

from spillway.aws.table import keys, leases, notices, removals, requests
from spillway.aws.table.store import Conflict, Table, condition, expiry
from spillway.model.base import decode, encode
from spillway.model.memory import LearnedTemplate, Memory, NodeMemory, OpenRequest, Unavailable
from spillway.model.policy import Policy
from spillway.planner.learned import FORGET_AFTER
from spillway.planner.unavailable import BREAKER, not_grown

_KEEP_NODE_S = 7 * 86400
_KEEP_REFUSAL_S = 6 * 3600  # after its end, so that the next refusal finds how often it was
_YOUNG = timedelta(minutes=10)
_REFRESH = timedelta(hours=1)
_REFRESH_TEMPLATE = timedelta(days=1)


def load(table: Table, is_running: Callable[[str], bool]) -> Memory:
    """`is_running` tells by plan id whether the plan's execution is; it is asked once for each plan that left something."""
    known: dict[str, bool] = {}

    def is_orphan(plan_id: str) -> bool:
        if plan_id not in known:
            known[plan_id] = is_running(plan_id)
        return not known[plan_id]

    return Memory(
        nodes=tuple(decode(item["body"], NodeMemory) for item in table.query(keys.NODE)),
        unavailable=tuple(unavailable(table)),
        requests=tuple(msgspec.structs.replace(one, orphan=is_orphan(one.plan_id)) for one in requests.live(table)),
        drains=tuple(msgspec.structs.replace(one, orphan=one.orphan or is_orphan(one.plan_id)) for one in leases.drains(table)),
        templates=tuple(decode(item["body"], LearnedTemplate) for item in table.query(keys.TEMPLATE)),
        notices=tuple(notices.known(table)),
        removals=tuple(removals.recent(table)),
    )


def save(table: Table, before: Memory, after: Memory) -> None:
    """Writes the nodes, refusals and templates that differ; requests, drains and notices belong to the tasks that made them."""
    _save_templates(table, before, after)
    old = {node.node: node for node in before.nodes}
    nodes = [node for node in after.nodes if _is_worth_writing(old.get(node.node), node)]
    gone = old.keys() - {node.node for node in after.nodes}
    table.put_many(
        ((keys.node(node.node), {"body": encode(node).decode(), keys.TTL: expiry(_KEEP_NODE_S)}) for node in nodes),
        [keys.node(name) for name in sorted(gone)],
    )
    known = {(one.scope, one.key): one for one in before.unavailable}
    for one in after.unavailable:
        if known.get((one.scope, one.key)) != one:
            mark_unavailable(table, one)
    left = {(one.scope, one.key) for one in after.unavailable}
    for scope, key in sorted(known.keys() - left):
        _forget(table, known[scope, key])


def _save_templates(table: Table, before: Memory, after: Memory) -> None:
    """When it was last seen is written once a day, so that what nothing changes costs a write a day and outlives its TTL."""
    old, new = {one.key: one for one in before.templates}, {one.key: one for one in after.templates}
    changed = [
        one
        for one in after.templates
        if (known := old.get(one.key)) is None
        or msgspec.structs.replace(known, seen_at=one.seen_at) != one
        or one.seen_at - known.seen_at >= _REFRESH_TEMPLATE
    ]
    table.put_many(
        (
            (keys.template(*one.key), {"body": encode(one).decode(), keys.TTL: expiry(FORGET_AFTER.total_seconds())})
            for one in changed
        ),
        [keys.template(*key) for key in sorted(old.keys() - new.keys())],
    )


def meet(table: Table, nodes: Iterable[NodeMemory]) -> None:
    """Nodes that were seen between two ticks; those that are remembered already stay as they are."""
    new = {(table.pk, keys.node(node.node)): node for node in nodes}
    for key in new.keys() - table.get_many(list(new)).keys():
        body = {"body": encode(new[key]).decode(), keys.TTL: expiry(_KEEP_NODE_S)}
        try:
            table.put(key[1], body, condition("attribute_not_exists(pk)"))
        except Conflict:
            continue  # the planner has met it meanwhile


def unavailable(table: Table) -> Iterator[Unavailable]:
    for item in table.query(keys.UNAVAILABLE):
        yield decode(item["body"], Unavailable)


def mark_unavailable(table: Table, refusal: Unavailable) -> bool:
    """False when the table holds one that ends later: a refusal is never shortened by an older view."""
    until = refusal.until.isoformat(timespec="microseconds")
    keep_s = max(0.0, (refusal.until - refusal.since).total_seconds()) + _KEEP_REFUSAL_S
    item = {"body": encode(refusal).decode(), "ends_at": until, keys.TTL: expiry(keep_s)}
    try:
        table.put(
            keys.unavailable(refusal.scope, refusal.key),
            item,
            condition("attribute_not_exists(pk) OR ends_at <= :until", until=until),
        )
    except Conflict:
        return False
    return True


def count_in_vain(table: Table, policy: Policy, request: OpenRequest) -> None:
    """The group was raised and nothing at all came of it: its breaker counts that, once for each request."""
    backoff = policy.for_group(request.group).scale_out.backoff
    key = f"{request.region}/{request.group}"
    before = next((one for one in unavailable(table) if (one.scope, one.key) == (BREAKER, key)), None)
    after = not_grown(before, request.region, request.group, request.asked_at, backoff)
    if after != before:
        mark_unavailable(table, after)


def _forget(table: Table, refusal: Unavailable) -> None:
    try:
        table.delete(
            keys.unavailable(refusal.scope, refusal.key),
            condition("ends_at <= :until", until=refusal.until.isoformat(timespec="microseconds")),
        )
    except Conflict:
        return  # it was refused again meanwhile


def _is_worth_writing(before: NodeMemory | None, after: NodeMemory) -> bool:
    if before is None:
        return True
    if msgspec.structs.replace(before, last_seen=after.last_seen) != after:
        return True
    is_young = before.last_seen - before.first_seen < _YOUNG
    return before != after and (is_young or after.last_seen - before.last_seen >= _REFRESH)
