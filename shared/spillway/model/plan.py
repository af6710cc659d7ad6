"""What we decided, step by step, and why. The JSON of these models is a contract: `docs/schema/plan.json`."""

from datetime import datetime
from enum import StrEnum

from spillway.model.base import SCHEMA_VERSION, Model
from spillway.model.reason import Code, Reason


class Served(Model, frozen=True, omit_defaults=False):
    """Pods of one shape that a step is for; `examples` are at most three `namespace/name`."""

    shape: str
    pods: int
    examples: tuple[str, ...] = ()


class Fallback(Model, frozen=True, omit_defaults=False):
    """Where the step's demand goes next when AWS refuses, and how many nodes of that group serve the same pods."""

    region: str
    group: str
    nodes: int


class ScaleOut(Model, frozen=True, omit_defaults=False):
    """Raise a group's desired capacity, after giving back nodes that we had cordoned."""

    step: int
    region: str
    group: str
    from_desired: int
    to_desired: int
    nodes: int
    reason: Reason
    uncordon: tuple[str, ...] = ()
    serves: tuple[Served, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    gang: bool = False


class Why(StrEnum):
    EMPTY = "empty"
    UNDERUTILISED = "underutilised"
    REPLACED = "replaced"
    DRIFTED = "drifted"
    EXPIRED = "expired"
    DEAD = "dead"
    UNREGISTERED = "unregistered"
    INTERRUPTED = "interrupted"
    VANISHED = "vanished"


GOES_ANYWAY = (Why.INTERRUPTED, Why.VANISHED)
"""Not our choice: no cap on removals holds what AWS takes, or has taken."""


class Eviction(Model, frozen=True, omit_defaults=False):
    """Pods of a lower tier are evicted first; a tier starts when the one before is gone."""

    pod: str
    tier: int


class AtDeadline(StrEnum):
    GIVE_UP = "give_up"
    FORCE = "force"


class ScaleIn(Model, frozen=True, omit_defaults=False):
    """Drain a node and end its instance, lowering desired by one."""

    step: int
    region: str
    group: str
    node: str
    instance_id: str
    why: Why
    deadline_s: int
    reason: Reason
    after: tuple[int, ...] = ()
    evict: tuple[Eviction, ...] = ()
    at_deadline: AtDeadline = AtDeadline.GIVE_UP


class GiveBack(Model, frozen=True, omit_defaults=False):
    """Lower desired to what is really there, when nothing more will come; ends no instance."""

    step: int
    region: str
    group: str
    from_desired: int
    to_desired: int
    reason: Reason


class GroupReason(Model, frozen=True, omit_defaults=False):
    region: str
    group: str
    code: Code
    text: str


class Unserved(Model, frozen=True, omit_defaults=False):
    shape: str
    pods: int
    reasons: tuple[GroupReason, ...]
    examples: tuple[str, ...] = ()


class Kept(Model, frozen=True, omit_defaults=False):
    node: str
    reason: Reason


class Summary(Model, frozen=True, omit_defaults=False):
    """Counts of pods and nodes; prices in USD an hour over groups whose price is known."""

    pods_pending: int = 0
    pods_on_free_room: int = 0
    pods_on_coming_nodes: int = 0
    pods_on_new_nodes: int = 0
    pods_unserved: int = 0
    nodes_new: int = 0
    nodes_removed: int = 0
    price_usd_h_new: float = 0.0
    price_usd_h_before: float = 0.0
    price_usd_h_after: float = 0.0
    price_bound_usd_h: float | None = None


class Placement(Model, frozen=True, omit_defaults=False):
    """`pods` pending pods of a shape, from the `first` in the order of `planner.queues` on,
    go to `target`: a node's name, an instance id that has no node yet, or `region/group#k`, the k-th node still to come
    to that group."""

    target: str
    shape: str
    first: int
    pods: int


class Plan(Model, frozen=True, omit_defaults=False):
    """`created_at` is the later `taken_at` of the heads in `snapshots`; a second delivery gives the same bytes."""

    plan_id: str
    cluster: str
    created_at: datetime
    policy_version: str
    snapshots: tuple[str, ...]
    summary: Summary
    scale_out: tuple[ScaleOut, ...] = ()
    scale_in: tuple[ScaleIn, ...] = ()
    give_back: tuple[GiveBack, ...] = ()
    unserved: tuple[Unserved, ...] = ()
    kept: tuple[Kept, ...] = ()
    warnings: tuple[Reason, ...] = ()
    placements: tuple[Placement, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def has_steps(self) -> bool:
        return bool(self.scale_out or self.scale_in or self.give_back)


class OutcomeStatus(StrEnum):
    DONE = "done"
    CHANGED = "changed"  # the world was not what the step saw; nothing was written
    REFUSED = "refused"  # AWS had no capacity
    UNSERVED = "unserved"  # every fallback was refused
    ABANDONED = "abandoned"  # the drain was given up and left no trace
    NO_REPLACEMENT = "no_replacement"
    HELD_BACK = "held_back"  # a limit on removals
    STOPPED = "stopped"  # the switch was thrown
    FAILED = "failed"


class Outcome(Model, frozen=True):
    """What happened to a step, written by the task that saw it."""

    plan_id: str
    step: int
    status: OutcomeStatus
    at: datetime
    reason: str
    region: str = ""
    group: str = ""
    node: str = ""
    nodes: int = 0
    hop: int = 0
