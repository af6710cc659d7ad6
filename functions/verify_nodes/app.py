"""Are the instances that a plan asked for in one region Ready nodes by now? Marks requests whose nodes all are.

A node is Ready for us once it also advertises the devices that its group promises: a GPU node without its GPUs runs none of
the pods that it was bought for.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from spillway import clock
from spillway.aws import tasks
from spillway.aws.access import access
from spillway.aws.table import Table, memory, outcomes, requests, snapshots
from spillway.env import env
from spillway.errors import NotFound
from spillway.kube import node as nodes
from spillway.kube.session import connect
from spillway.model.base import Resources
from spillway.model.fleet import NodeGroup
from spillway.model.memory import NodeMemory, OpenRequest, RequestState
from spillway.model.plan import Outcome, OutcomeStatus
from spillway.planner.starting import devices
from spillway.telemetry import Metric, emit, logger


class Event(tasks.AskedOfRegion):
    pass


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """`ready` and `waiting` nodes of the plan's open requests in the region."""
    asked = tasks.parse("verify_nodes", Event, event)
    task = tasks.begin(asked.cluster, asked.plan_id, tasks.Side.OUT)
    mine = [one for one in requests.of_plan(task.table, asked.plan_id) if one.region == asked.region]
    _tell(task.table, [one for one in mine if one.state == RequestState.READY])  # what a crash left untold
    waiting = [one for one in mine if one.state == RequestState.OPEN]
    ready = arrived = 0
    for request, count in _ready(task.table, waiting):
        after = _advanced(request, count)
        if after == request or requests.advance(task.table, request, after):
            ready += after.ready
            arrived += max(0, after.ready - request.ready)
            _tell(task.table, [after] if after.state == RequestState.READY else [])
    emit(asked.cluster, {Metric.NODES_ARRIVED: arrived}, asked.region)
    return {"ready": ready, "waiting": sum(one.nodes - one.missing for one in waiting) - ready}


def _ready(table: Table, waiting: list[OpenRequest]) -> Iterable[tuple[OpenRequest, int]]:
    """Each request with how many of its instances are Ready nodes; which are its own, the region's loop has found out.

    The nodes are remembered: one that somebody deletes before the next snapshot would else never be missed.
    """
    wanted = {instance for request in waiting for instance in request.instances}
    joined = nodes.by_instance(connect(partial(access, env())), wanted, partial(_fleet, table)) if wanted else {}
    memory.meet(
        table,
        [
            NodeMemory(node=one.name, first_seen=one.created, last_seen=one.created, instance_id=instance_id)
            for instance_id, one in sorted(joined.items())
            if one.created
        ],
    )
    promised = _promised(table) if any(node.ready for node in joined.values()) else {}
    for request in waiting:
        wanted_devices = promised.get((request.region, request.group), {})
        yield request, sum(_is_ready(joined[instance], wanted_devices) for instance in request.instances if instance in joined)


def _is_ready(node: nodes.LiveNode, promised: Resources) -> bool:
    if node.ready and (lacking := node.lacks(promised)):
        logger.info("a node is Ready without all that its group promises", node=node.name, lacking=lacking)
        return False
    return node.ready


def _promised(table: Table) -> Mapping[tuple[str, str], Resources]:
    """What device plugins are to advertise on nodes of each group, by region and name, as the newest fleet snapshot tells."""
    try:
        known = snapshots.latest_fleet(table).groups
    except NotFound:
        return {}
    return {(one.region, one.name): devices(one.template.allocatable) for one in known if one.template}


def _fleet(table: Table) -> Iterable[NodeGroup]:
    """As last seen. An instance that came since has its node recognized a minute later."""
    return snapshots.latest_fleet(table).groups


def _advanced(request: OpenRequest, ready: int) -> OpenRequest:
    expected = request.nodes - request.missing
    state = RequestState.READY if ready >= expected else request.state
    return msgspec.structs.replace(request, ready=min(ready, expected), state=state)


def _tell(table: Table, done: list[OpenRequest]) -> None:
    for request in done:
        text = f"{request.ready} nodes of group {request.group} in {request.region} are Ready"
        outcomes.put(
            table,
            Outcome(
                plan_id=request.plan_id,
                step=request.step,
                hop=request.hop,
                status=OutcomeStatus.DONE,
                at=clock.utcnow(),
                reason=text,
                region=request.region,
                group=request.group,
                nodes=request.ready,
            ),
        )
