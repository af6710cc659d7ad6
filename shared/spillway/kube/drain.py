"""Which pods of a node are asked to go now: phase by phase, and nobody that the plan did not reckon with."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from spillway.kube.live_pods import LivePod
from spillway.model.plan import ScaleIn, Why

VOLUNTARY = (Why.EMPTY, Why.UNDERUTILISED, Why.REPLACED, Why.DRIFTED, Why.EXPIRED)
"""Our own wish: what speaks against it ends it. A machine that is dead or that AWS takes is emptied in any case."""


@dataclass(frozen=True)
class Phase:
    """Pods that go together: `now` are asked, `leaving` have been. Daemons go if they can, and hold nothing if they cannot."""

    daemons: bool
    now: tuple[LivePod, ...]
    leaving: tuple[LivePod, ...]


@dataclass(frozen=True)
class Remaining:
    """What is still on a node. `problem` says why the drain must not go on, "" when it may. `phases` are in their order.

    `stuck` pods have been asked, and their grace is long over; `staying` go with the instance. Neither holds it.
    """

    problem: str
    phases: tuple[Phase, ...]
    stuck: tuple[LivePod, ...]
    staying: tuple[LivePod, ...]

    @property
    def work(self) -> tuple[LivePod, ...]:
        """All that hold the node, daemons left out."""
        return tuple(pod for phase in self.phases if not phase.daemons for pod in (*phase.now, *phase.leaving))


def remaining(pods: Sequence[LivePod], step: ScaleIn, priority_cutoff: int, now: datetime) -> Remaining:
    """Work before daemons, what is critical for the cluster after both, lower tiers of the plan first: agents for logs and
    the network outlive what needs them.

    A pod below the cutoff keeps no node, and is still asked to go.
    """
    tiers = {eviction.pod: eviction.tier for eviction in step.evict}
    staying = tuple(pod for pod in pods if pod.stays)
    stuck = tuple(pod for pod in pods if not pod.stays and pod.is_stuck(now))

    def turn(pod: LivePod) -> tuple[bool, bool, int]:
        return pod.critical, pod.daemon, tiers.get(pod.key, 0)

    going = sorted((pod for pod in pods if pod not in staying and pod not in stuck), key=lambda pod: (turn(pod), pod.key))
    phases = [_phase(daemons, tuple(group)) for (_, daemons, _), group in groupby(going, key=turn)]
    work = [pod for pod in going if not pod.daemon]
    problem = _problem(work, tiers.keys(), priority_cutoff) if step.why in VOLUNTARY else ""
    return Remaining(f"node {step.node} {problem}" if problem else "", tuple(phases), stuck, staying)


def _phase(daemons: bool, pods: tuple[LivePod, ...]) -> Phase:
    now = tuple(pod for pod in pods if not pod.deleting)
    return Phase(daemons, now, tuple(pod for pod in pods if pod.deleting))


def _problem(work: Sequence[LivePod], planned: Collection[str], priority_cutoff: int) -> str:
    """A pod that the plan did not name may be one that must not move, or that has no other place."""
    keeping = [pod for pod in work if pod.priority >= priority_cutoff]
    strangers = [pod for pod in keeping if pod.key not in planned]
    if strangers:
        return f"runs {named(strangers)}, which the plan did not know"
    barred = [pod for pod in keeping if pod.forbids and not pod.deleting]
    return f"runs {named(barred)}, which must not be moved: {barred[0].forbids}" if barred else ""


def named(pods: Sequence[LivePod]) -> str:
    """Up to three names, and how many more."""
    more = f" and {len(pods) - 3} more" if len(pods) > 3 else ""
    return ", ".join(pod.key for pod in pods[:3]) + more


def counted(pods: int) -> str:
    return "1 pod" if pods == 1 else f"{pods} pods"
