"""Whether the pods of a node let it go, and which of them have to move."""

from collections.abc import Sequence
from typing import NamedTuple

from spillway.model.cluster import PodSet, PodState
from spillway.planner.scale_in.disruptions import Disruptions
from spillway.planner.scale_in.pods import RULES
from spillway.planner.scale_in.pods.base import Ground, PodRule
from spillway.planner.scale_in.verdict import Held, Pods
from spillway.planner.view import LiveNode, View


class Drain(NamedTuple):
    """`moves` are pods that are evicted and need a place elsewhere. With `held` the node stays: some pod of it does."""

    moves: tuple[PodSet, ...] = ()
    held: Held | None = None


class Drainability:
    """Which rules have something to say of a shape is asked once for each shape and policy."""

    def __init__(self, view: View, disruptions: Disruptions) -> None:
        self._view, self._disruptions = view, disruptions
        self._rules: dict[tuple[str, str], Sequence[PodRule]] = {}

    def of(self, live: LiveNode) -> Drain:
        """Of a node of ours."""
        if live.group is None:
            return Drain()
        ground = self._ground(live)
        moves: list[PodSet] = []
        for pods in live.pods:
            if pods.state is PodState.NOMINATED:
                continue  # it is not there yet
            verdict = self._judge(pods, live.group.key, ground)
            if isinstance(verdict, Held):
                name = f"{self._view.shapes[pods.shape].namespace}/{pods.names[0]}"
                return Drain(held=Held(verdict.code, f"{name} {verdict.text}"))
            if verdict is Pods.MOVABLE:
                moves.append(pods)
        return Drain(tuple(moves))

    def _ground(self, live: LiveNode) -> Ground:
        policy = self._view.policy_of(live.group).scale_in if live.group else self._view.policy.scale_in
        return Ground(
            self._view,
            policy.drainable,
            self._disruptions,
            batch_waits=policy.batch == "wait",
            batch_ends_s=policy.batch_ends_s,
            unneeded_since=self._view.clock_of(live).unneeded_since,
        )

    def _judge(self, pods: PodSet, group: str, ground: Ground) -> Pods | Held:
        shape = self._view.shapes[pods.shape]
        key = (pods.shape, group)
        if key not in self._rules:
            self._rules[key] = [rule for rule in RULES if rule.applies(shape, ground)]
        for rule in self._rules[key]:
            if verdict := rule.verdict(shape, pods, ground):
                return verdict
        return Pods.MOVABLE
