"""What a rule of drainability is: a module of five names. To add one: write the module, and put it into `pods.RULES`.

A rule looks at pods of one shape on one node. Of most shapes most rules have nothing to say, whichever node they are on:
`applies` tells so once for the shape.
"""

from datetime import datetime
from typing import Protocol

from spillway.model.cluster import PodSet, PodShape
from spillway.model.policy import DrainablePolicy
from spillway.planner.scale_in.disruptions import Disruptions
from spillway.planner.scale_in.verdict import PodVerdict
from spillway.planner.view import View


class Ground:
    """All that rules read beside the pods: the view, what the policy says for the node's group, and the budgets.

    `unneeded_since` is when the node's use fell under its threshold, None while it is above.
    """

    def __init__(
        self,
        view: View,
        policy: DrainablePolicy,
        disruptions: Disruptions,
        batch_waits: bool = True,
        batch_ends_s: int | None = None,
        unneeded_since: datetime | None = None,
    ) -> None:
        self.view, self.policy, self.disruptions = view, policy, disruptions
        self.batch_waits, self.batch_ends_s, self.unneeded_since = batch_waits, batch_ends_s, unneeded_since

    @property
    def at(self) -> datetime:
        """The API server's time, in which all of its times are."""
        return self.view.cluster.taken_at

    @property
    def batch_is_over(self) -> bool:
        """Whether the hard grace of pods that are waited for has ended."""
        if self.batch_ends_s is None or self.unneeded_since is None:
            return False
        return (self.at - self.unneeded_since).total_seconds() >= self.batch_ends_s


class PodRule(Protocol):
    """`RULE` says in a sentence what it holds, `SOURCE` whose rule it is, `SETTING` the policy's field for it, "" for none."""

    RULE: str
    SOURCE: str
    SETTING: str

    def applies(self, shape: PodShape, ground: Ground) -> bool:
        """Whether it can have anything to say of pods of the shape."""
        ...

    def verdict(self, shape: PodShape, pods: PodSet, ground: Ground) -> PodVerdict | None:
        """None leaves them to the next rule."""
        ...


def age_s(pods: PodSet, ground: Ground) -> float:
    """Of the youngest: since its kubelet took it, as far as that is known."""
    youngest = max((moment for moment in pods.started if moment is not None), default=max(pods.created))
    return (ground.at - youngest).total_seconds()


def controller(shape: PodShape) -> str:
    """The owner's kind as Cluster Autoscaler compares it: whichever API group defines it."""
    return shape.owner_kind.partition(".")[0]
