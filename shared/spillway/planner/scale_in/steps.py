"""Verdicts as steps of a plan."""

from spillway.model.cluster import PodSet, PodState
from spillway.model.fleet import NodeGroup
from spillway.model.plan import AtDeadline, Eviction, ScaleIn, Why
from spillway.model.reason import Code, Reason
from spillway.planner.scale_in.never_joined import Lost
from spillway.planner.scale_in.verdict import Goes
from spillway.planner.view import LiveNode, View

CRITICAL = 2_000_000_000
"""From this priority on (system-cluster-critical) pods leave after the others, which may need them."""


def of_node(view: View, live: LiveNode, goes: Goes, step: int, moves: tuple[PodSet, ...] = ()) -> ScaleIn:
    """Raises ValueError for a node without an instance, which no rule lets go."""
    machine = live.node.machine
    if machine is None:
        raise ValueError(f"node {live.node.name} has no instance")
    deadline_s, at_deadline = _deadline(view, live, goes.why)
    return ScaleIn(
        step=step,
        region=machine.region,
        group=live.group.name if live.group else "",
        node=live.node.name,
        instance_id=machine.instance_id,
        why=goes.why,
        deadline_s=deadline_s,
        at_deadline=at_deadline,
        evict=tuple(_evictions(view, live, moves)) if goes.why is Why.UNDERUTILISED else (),
        reason=Reason(code=goes.code, text=f"node {live.node.name} {goes.text}"),
    )


def of_instance(view: View, one: Lost, step: int) -> ScaleIn:
    group: NodeGroup = one.group
    wait_s = view.policy_of(group).scale_out.provision_time_s
    return ScaleIn(
        step=step,
        region=group.region,
        group=group.name,
        node="",
        instance_id=one.instance.id,
        why=Why.UNREGISTERED,
        deadline_s=view.policy.drain.deadline_s,
        at_deadline=view.policy.drain.at_deadline,
        reason=Reason(
            code=Code.NEVER_JOINED,
            text=f"instance {one.instance.id} of group {group.name} did not become a node within {wait_s} s",
        ),
    )


def _deadline(view: View, live: LiveNode, why: Why) -> tuple[int, AtDeadline]:
    """The end of the instance, where the policy's is later: then the node is not given back. From a dead node no pod leaves by
    itself: it is not waited for longer than a pod may take."""
    policy = view.policy.drain
    if why is Why.INTERRUPTED and live.ends_at is not None:
        left_s = max(1, int((live.ends_at - view.now).total_seconds()))
        return min(policy.deadline_s, left_s), AtDeadline.FORCE if left_s <= policy.deadline_s else policy.at_deadline
    if why is Why.DEAD:
        return min(policy.deadline_s, max(1, policy.max_grace_s)), AtDeadline.FORCE
    return policy.deadline_s, policy.at_deadline


def _evictions(view: View, live: LiveNode, moves: tuple[PodSet, ...]) -> list[Eviction]:
    """Also pods that should have gone long ago: a drain takes whoever is not named for a stranger."""
    named = (*moves, *(pods for pods in live.workload if pods.state is PodState.TERMINATING))
    found = []
    for pods in named:
        shape = view.shapes[pods.shape]
        tier = int(shape.priority >= CRITICAL)
        found += [Eviction(pod=f"{shape.namespace}/{name}", tier=tier) for name in pods.names]
    return sorted(found, key=lambda one: (one.tier, one.pod))
