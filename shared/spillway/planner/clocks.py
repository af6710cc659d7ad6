"""What must survive between ticks, brought up to date by what both snapshots show.

A clock runs in the API server's time (`cluster.taken_at`), so no two clocks are ever compared.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from spillway.model.cluster import ClusterSnapshot
from spillway.model.fleet import FailureClass, FleetSnapshot, Instance
from spillway.model.memory import Memory, NodeMemory, Unavailable
from spillway.model.policy import Policy
from spillway.planner import learned
from spillway.planner.scale_in.utilisation import use_of
from spillway.planner.unavailable import key_of, lasts, proven_since, refused
from spillway.planner.view import LiveNode, View, view

FORGET_NODES_AFTER = timedelta(days=7)
VANISHES_WITHIN = timedelta(seconds=60)  # of its first sight; a drained node lives longer
_LIST_TAKES = timedelta(seconds=5)  # a list may be dated after what it shows: a node this young is none that is missing


def observe(
    memory: Memory,
    cluster: ClusterSnapshot,
    fleet: FleetSnapshot,
    policy: Policy,
    now: datetime,
    assume_idle_since: datetime | None = None,
) -> Memory:
    """The memory after this tick: clocks of nodes go on, vanished nodes are found, refusals and what nodes show remembered.

    A node that the memory does not know is idle or unneeded since `assume_idle_since`, never before it was created; None: since
    this snapshot. Requests and drains stay as they are. Same input, same memory.
    """
    seen = view(cluster, fleet, memory, policy, now)
    before = {node.node: node for node in memory.nodes}
    present = {live.node.name: _clocks(seen, live, before.get(live.node.name), assume_idle_since) for live in seen.nodes}
    absent = [old for name, old in before.items() if name not in present and now - old.last_seen < FORGET_NODES_AFTER]
    return msgspec.structs.replace(
        memory,
        nodes=tuple(sorted([*present.values(), *absent], key=lambda node: node.node)),
        unavailable=tuple(_unavailable(memory, seen)),
        vanished=tuple(sorted(_vanished(absent, seen))),
        templates=learned.observe(seen),
    )


def _clocks(seen: View, live: LiveNode, old: NodeMemory | None, assumed: datetime | None) -> NodeMemory:
    node, at = live.node, seen.cluster.taken_at
    instance_id = node.machine.instance_id if node.machine else ""
    if old is not None and old.instance_id not in ("", instance_id):
        old = None  # another machine under the same name: its clocks are its own
    first = at if assumed is None else max(assumed, node.created)
    idle_since = unneeded_since = None
    if not live.workload:
        idle_since = first if old is None else old.idle_since or at
    use = use_of(seen, live)
    if use is not None and use.is_low:
        unneeded_since = first if old is None else old.unneeded_since or at
    unready_since = None
    if not node.ready:
        unready_since = (old.unready_since if old else None) or node.ready_changed or at
    return NodeMemory(
        node=node.name,
        first_seen=old.first_seen if old else at,
        last_seen=at,
        idle_since=idle_since,
        unready_since=unready_since,
        unneeded_since=unneeded_since,
        instance_id=instance_id,
    )


def _vanished(absent: Iterable[NodeMemory], seen: View) -> Iterable[str]:
    """Nodes that went as soon as they came, while their instance is in service: somebody deletes them."""
    running = {
        instance.id
        for group in seen.groups.values()
        if group.region not in seen.unknown_regions
        for instance in group.instances
        if instance.lifecycle == "InService" and instance.id not in seen.joined
    }
    listed = seen.cluster.taken_at - _LIST_TAKES
    return (
        n.node
        for n in absent
        if n.instance_id in running and n.last_seen <= listed and n.last_seen - n.first_seen <= VANISHES_WITHIN
    )


def _unavailable(memory: Memory, seen: View) -> list[Unavailable]:
    """Old records that still hold, moved on by each refusal that is newer, oldest refusal first."""
    known = [group for group in seen.groups.values() if group.region not in seen.unknown_regions]
    records = {(record.scope, record.key): record for record in memory.unavailable}
    failures = sorted(
        ((f.at, group.key, f.activity_id, group, f) for group in known for f in group.failures), key=lambda entry: entry[:3]
    )
    for _, _, _, group, failure in failures:
        if failure.failure is FailureClass.REBALANCE or proven_since(_reached(group.instances, failure.zone), failure.at):
            continue
        scope, key = key_of(group, failure)
        backoff = seen.policy_of(group).scale_out.backoff
        records[scope.value, key] = refused(records.get((scope.value, key)), group, failure, backoff)
    return [records[key] for key in sorted(records) if lasts(records[key], known, seen.now)]


def _reached(instances: Iterable[Instance], zone: str) -> list[Instance]:
    return [instance for instance in instances if not zone or instance.zone == zone]
