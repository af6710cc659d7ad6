"""Which pods of a node are evicted now: lower tiers first, daemons never, and nobody that the plan did not reckon with."""

from collections.abc import Sequence
from dataclasses import dataclass

from spillway.kube.evict import LivePod
from spillway.model.plan import ScaleIn, Why

_VOLUNTARY = (Why.EMPTY, Why.UNDERUTILISED, Why.REPLACED, Why.DRIFTED, Why.EXPIRED)


@dataclass(frozen=True)
class Remaining:
    """Pods that still hold the node: `strangers` came after the plan, `now` are asked to go, `later` wait for those."""

    strangers: tuple[LivePod, ...] = ()
    now: tuple[LivePod, ...] = ()
    leaving: tuple[LivePod, ...] = ()
    later: tuple[LivePod, ...] = ()

    @property
    def count(self) -> int:
        return len(self.strangers) + len(self.now) + len(self.leaving) + len(self.later)


def remaining(pods: Sequence[LivePod], step: ScaleIn, priority_cutoff: int) -> Remaining:
    """DaemonSet and static pods go with the instance. A pod below the cutoff keeps no node, and is still asked to go.

    Where the drain is our own wish, a pod that the plan did not name may be one that must not move: a stranger.
    """
    tiers = {eviction.pod: eviction.tier for eviction in step.evict}
    work = [pod for pod in pods if not pod.daemon]
    strangers = tuple(
        pod for pod in work if step.why in _VOLUNTARY and pod.key not in tiers and pod.priority >= priority_cutoff
    )
    rest = [pod for pod in work if pod not in strangers]
    lowest = min((tiers.get(pod.key, 0) for pod in rest), default=0)
    turn = [pod for pod in rest if tiers.get(pod.key, 0) == lowest]
    return Remaining(
        strangers=strangers,
        now=tuple(pod for pod in turn if not pod.deleting),
        leaving=tuple(pod for pod in turn if pod.deleting),
        later=tuple(pod for pod in rest if pod not in turn),
    )


def named(pods: Sequence[LivePod]) -> str:
    """Up to three names, and how many more."""
    more = f" and {len(pods) - 3} more" if len(pods) > 3 else ""
    return ", ".join(pod.key for pod in pods[:3]) + more


def counted(pods: int) -> str:
    return "1 pod" if pods == 1 else f"{pods} pods"
