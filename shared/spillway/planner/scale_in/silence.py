"""Nodes that have not been Ready for long, and whether they are so many that it is the network that is cut.

Two witnesses make a node dead: the API server, which hears no kubelet, and EC2, which finds its instance impaired, or Auto
Scaling, which finds it unhealthy. Kubelets that cannot reach the API server run their pods on. Sources: Karpenter's node
health controller, which stops at a fifth of the nodes; kubernetes-ec2-autoscaler, which did not, and ended busy nodes.
"""

from collections.abc import Iterable
from datetime import timedelta

from spillway.model.reason import Code, Reason
from spillway.planner.scale_in.budgets import share
from spillway.planner.view import LiveNode, View


class Silence:
    """`silent` are the names of our nodes that are not Ready for longer than `dead_s`, `most` how many of `own` may be."""

    def __init__(self, view: View) -> None:
        own = [live for live in view.nodes if live.group is not None and not live.is_leaving]
        self._view, self.own = view, len(own)
        self.silent = frozenset(live.node.name for live in own if self._is_silent(live))
        self.most = max(1, share(view.policy.scale_in.dead_at_once, self.own))

    @property
    def is_general(self) -> bool:
        """So many at once are no dead machines."""
        return len(self.silent) > self.most

    def warnings(self) -> Iterable[Reason]:
        if self.is_general:
            text = (
                f"{len(self.silent)} of {self.own} nodes are not Ready for long, more than the {self.most} that the policy "
                "takes for dead: none of them is ended; look whether their kubelets reach the API server"
            )
            yield Reason(code=Code.MANY_SILENT, text=text)

    def _is_silent(self, live: LiveNode) -> bool:
        since = self._view.clock_of(live).unready_since
        if live.node.ready or since is None or live.group is None:
            return False
        limit = timedelta(seconds=self._view.policy_of(live.group).scale_in.dead_s)
        return self._view.cluster.taken_at - since >= limit


def witness(live: LiveNode) -> str:
    """What EC2 or Auto Scaling says against the instance, "" for nothing."""
    if live.instance is None:
        return ""
    if live.instance.impaired:
        return f"EC2 finds its instance impaired ({live.instance.impaired})"
    return "" if live.instance.healthy else "Auto Scaling finds its instance unhealthy"
