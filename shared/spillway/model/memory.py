"""What must survive between ticks: clocks of nodes, refusals, capacity asked for, drains under way, what events told."""

from datetime import datetime
from enum import StrEnum

from spillway.model.base import SCHEMA_VERSION, Labels, Model, Resources
from spillway.model.cluster import Taint


class NodeMemory(Model, frozen=True):
    """Clocks of one node, in the API server's time. None: not so now. A node is idle without a workload pod, and unneeded while
    no more of it is asked for than an underutilised node's threshold."""

    node: str
    first_seen: datetime
    last_seen: datetime
    idle_since: datetime | None = None
    unready_since: datetime | None = None
    unneeded_since: datetime | None = None
    instance_id: str = ""


class Unavailable(Model, frozen=True):
    """A scope in backoff. `scope` is one of `fleet.Scope`, or `breaker`; `key` names it, as in `us-east-1/gpu` or `us-east-1`.

    `fingerprint` is that of the template that was refused, where only another template mends it.
    """

    scope: str
    key: str
    until: datetime
    since: datetime
    times: int = 1
    reason: str = ""
    fingerprint: str = ""


class LearnedTemplate(Model, frozen=True):
    """What nodes showed that a group launched on one instance type: the least of each resource, the labels and taints that
    all of them have. `fingerprint` is that of the group's template then.

    `overhead_bytes` is how much less memory than EC2 names the smallest of them has, None where no node told.
    """

    region: str
    group: str
    instance_type: str
    fingerprint: str
    seen_at: datetime
    allocatable: Resources
    labels: Labels = {}
    taints: tuple[Taint, ...] = ()
    overhead_bytes: int | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        return self.region, self.group, self.instance_type


class RequestState(StrEnum):
    PLANNED = "planned"  # written down, the group is not raised yet
    OPEN = "open"  # asked for, some of it not here yet
    READY = "ready"  # all nodes are Ready
    REFUSED = "refused"  # what was missing was given back; the rest moved on or was left
    CHANGED = "changed"  # desired was not what the step saw: nothing was written


class OpenRequest(Model, frozen=True):
    """Capacity that a step asked a group for. `id` is `<plan>#<step>#<hop>`; hop 0 is the step's own group.

    `orphan`: the execution that owned it has ended; the next plan finishes or undoes it.
    The group is to grow from `from_desired` to `to_desired`; `nodes` are asked for, `ready` are Ready,
    `missing` were refused and given back.
    """

    id: str
    plan_id: str
    step: int
    hop: int
    region: str
    group: str
    from_desired: int
    to_desired: int
    nodes: int
    asked_at: datetime
    state: RequestState = RequestState.OPEN
    ready: int = 0
    missing: int = 0
    orphan: bool = False
    before: tuple[str, ...] = ()  # instance ids that the group had when we asked
    instances: tuple[str, ...] = ()  # those that came for it since, as the waiting loop last saw them


class Drain(Model, frozen=True):
    """A node that a running plan is draining or removing; `orphan` when its execution has ended."""

    node: str
    plan_id: str
    step: int
    since: datetime
    orphan: bool = False


class Told(StrEnum):
    GONE = "gone"  # the instance stops or ends
    ENDED = "ended"  # we ended the instance, and its group's desired went down with it
    ENDS = "ends"  # AWS takes the instance
    DELIVERED = "delivered"  # the capacity block has begun
    EXPIRES = "expires"  # the capacity block is about to end


class Notice(Model, frozen=True):
    """What an event, or a task of ours, told at `at` of an instance or a capacity block, whose id is `subject`.

    `ends_at` is the end of the instance, or of the reservation; None where nothing is to end.
    """

    region: str
    subject: str
    told: Told
    at: datetime
    ends_at: datetime | None = None


class Removal(Model, frozen=True):
    """A removal that a plan's step began at `at`, and has not given up."""

    plan_id: str
    step: int
    at: datetime


class Memory(Model, frozen=True):
    """Everything, sorted by key. `vanished` names nodes that went within a minute of joining while their instance lives;
    `removals` are those of the last hour."""

    nodes: tuple[NodeMemory, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
    requests: tuple[OpenRequest, ...] = ()
    drains: tuple[Drain, ...] = ()
    vanished: tuple[str, ...] = ()
    templates: tuple[LearnedTemplate, ...] = ()
    notices: tuple[Notice, ...] = ()
    removals: tuple[Removal, ...] = ()
    schema_version: int = SCHEMA_VERSION
