"""How much of a node is asked for: the larger share of CPU and memory; of a node with accelerators that of those alone.

Source: cluster-autoscaler/simulator/utilization/info.go. DaemonSet and mirror pods count, unless the policy or the group's
tag leaves daemons out of both what is asked and what is there. Pods below the priority cutoff never count, nor do pods that
should have ended long ago.
"""

from collections import Counter
from typing import NamedTuple

from spillway.planner.amounts import ACCELERATORS
from spillway.planner.scale_in import options
from spillway.planner.scale_in.terminating import overdue
from spillway.planner.view import LiveNode, View

ACCELERATOR_LABEL = "k8s.amazonaws.com/accelerator"


class Use(NamedTuple):
    """`share` of `resource`, the largest that counts; `most` is what an underutilised node has at most."""

    resource: str
    share: float
    most: float

    @property
    def is_low(self) -> bool:
        return self.share <= self.most


def use_of(view: View, live: LiveNode) -> Use | None:
    """None for a node of no group, and for one that names no CPU or memory: nobody knows how full it is."""
    group, have = live.group, live.node.allocatable
    if group is None:
        return None
    devices = sorted(name for name in ACCELERATORS if have.get(name, 0) > 0)
    is_gpu = bool(devices) or ACCELERATOR_LABEL in live.node.labels
    most = options.gpu_threshold(view, group) if is_gpu else options.threshold(view, group)
    counted = devices if is_gpu else ["cpu", "memory"]
    if not counted:
        return Use("accelerators", 0.0, most)  # labelled, and not advertised yet
    asked, daemons = _asked(view, live)
    without = daemons if options.ignores_daemons(view, group) and not is_gpu else Counter[str]()
    there = {name: have.get(name, 0) - without[name] for name in counted}
    if min(there.values()) <= 0:
        return None
    shares = {name: (asked[name] - without[name]) / there[name] for name in counted}
    name = max(counted, key=lambda one: shares[one])
    return Use(name, shares[name], most)


def _asked(view: View, live: LiveNode) -> tuple[Counter[str], Counter[str]]:
    """All that is asked for there, and what DaemonSets' pods ask for of it."""
    asked, daemons = Counter[str](), Counter[str]()
    for pods in live.pods:
        shape = view.shapes[pods.shape]
        if shape.priority < view.policy.pods.priority_cutoff and not shape.is_daemon:
            continue
        number = len(pods.names) - overdue(view, shape, pods)
        for name, amount in shape.requests.items():
            asked[name] += amount * number
            if shape.is_daemon and not shape.mirror:
                daemons[name] += amount * number
    return asked, daemons
