"""The Auto Scaling groups that serve the cluster, in every region: what exists, what each would launch, what failed."""

from datetime import datetime
from enum import StrEnum

import msgspec

from spillway.model.base import SCHEMA_VERSION, Labels, Model, Resources, encode
from spillway.model.cluster import Taint
from spillway.model.group_state import InstanceRefresh, ManagedNodeGroup, ScalingPolicy, ScheduledAction, WarmPool
from spillway.model.market import Ceiling, Draw, Offering
from spillway.model.reason import Reason
from spillway.model.selector import UNTOLD


class CapacityType(StrEnum):
    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED = "reserved"


class Instance(Model, frozen=True):
    """A member of a group. `lifecycle` is Auto Scaling's LifecycleState (InService, Pending, Terminating:Wait, …).

    `launched_at` comes from EC2, or is when it left the warm pool; None where nobody told. `state` and `private_dns` are EC2's
    own, "" where not read.
    `definition` launched it, in the terms of Choice. `reservation` is the capacity reservation or block that it runs in.
    It counts `weight` units of desired. `impaired` is what EC2's status checks find wrong with it, "" for nothing.
    """

    id: str
    zone: str
    instance_type: str
    lifecycle: str
    launched_at: datetime | None = None
    state: str = ""
    protected: bool = False
    healthy: bool = True
    private_dns: str = ""
    definition: str = ""
    reservation: str = ""
    weight: int = 1
    impaired: str = ""

    @property
    def is_pending(self) -> bool:
        return self.lifecycle.startswith("Pending")

    @property
    def is_member(self) -> bool:
        """Counts towards desired: not leaving, in standby or in a warm pool; a root volume is replaced in place."""
        return self.lifecycle == "InService" or self.is_pending or "RootVolume" in self.lifecycle

    @property
    def is_warm(self) -> bool:
        """Waits in the group's warm pool: no member and no node, also where its kubelet has joined for a moment."""
        return self.lifecycle.startswith("Warmed:")

    @property
    def is_ready_to_start(self) -> bool:
        """In a warm pool, and prepared: not on its way into it or out of it."""
        return self.healthy and self.lifecycle in ("Warmed:Stopped", "Warmed:Running", "Warmed:Hibernated")


class FailureClass(StrEnum):
    """What a refused launch means; the table of texts is `aws/failure_table.py`."""

    ZONAL_CAPACITY = "zonal_capacity"
    REGIONAL_CAPACITY = "regional_capacity"
    CAPACITY = "capacity"  # of what the group asks for, AWS does not say where
    SPOT_FULFILMENT = "spot_fulfilment"
    SPOT_PRICE = "spot_price"  # the group's own maximum is too low
    RESERVATION = "reservation"  # a capacity reservation or block is used up, over or not yet there
    VCPU_QUOTA = "vcpu_quota"  # On-Demand; in old accounts a number of instances
    SPOT_QUOTA = "spot_quota"
    VOLUME_LIMIT = "volume_limit"
    OTHER_QUOTA = "other_quota"  # of network interfaces, addresses, fleets, …
    ADDRESSES = "addresses"  # the subnet is full
    UNSUPPORTED = "unsupported"  # AWS does not offer it there, now or ever
    IMAGE = "image"
    SNAPSHOT = "snapshot"
    KEY_PAIR = "key_pair"
    ROLE = "role"  # an instance profile, or what Auto Scaling may do
    SECURITY_GROUP = "security_group"
    ENCRYPTION_KEY = "encryption_key"
    PLACEMENT_GROUP = "placement_group"
    NETWORK = "network"  # a subnet or a network interface is not there
    LOAD_BALANCER = "load_balancer"
    LICENCE = "licence"  # terms to accept, a subscription, a licence to have
    TEMPLATE = "template"  # all else that the launch template or the group says wrongly
    ACCOUNT = "account"  # blocked, not verified, not activated
    THROTTLED = "throttled"
    SERVICE = "service"  # AWS's own error
    HOOK = "hook"  # a lifecycle hook was abandoned
    STARTUP = "startup"  # it came and did not stay
    REJECTED = "rejected"  # Auto Scaling does not take the new desired capacity
    LATE = "late"  # AWS refused nothing, nothing came in time either
    REBALANCE = "rebalance"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> "FailureClass | None":
        """Classes that older versions stored."""
        return {"quota": cls.VCPU_QUOTA, "configuration": cls.TEMPLATE}.get(str(value))


class Scope(StrEnum):
    """How far a failure reaches. An offering is a type in one market, wherever in the region."""

    ZONE = "zone"
    OFFERING = "offering"
    GROUP = "group"
    QUOTA = "quota"
    REGION = "region"


class LaunchFailure(Model, frozen=True):
    """A launch that AWS refused: the activity's own text, classified.

    `zone` and `instance_type` are "", `capacity_type` is None where neither the text nor the activity names one.
    """

    activity_id: str
    at: datetime
    failure: FailureClass
    scope: Scope
    text: str
    zone: str = ""
    instance_type: str = ""
    capacity_type: CapacityType | None = None


class Variant(Model, frozen=True):
    """What sets some of a group's next nodes apart from the others, beside what all of them have. A label that will be there
    with a value that nobody knows has UNTOLD."""

    labels: Labels = {}
    taints: tuple[Taint, ...] = ()


class Choice(Model, frozen=True):
    """One instance type that a group may launch, and what a node of it brings. An instance counts `weight` units of desired.

    `definition` is the launch template version (`lt-0abc:7`) or launch configuration that launches it. Of the
    `memory_bytes` that EC2 names, `overhead_bytes` are what `allocatable` leaves to the hypervisor and the kernel: a guess.
    `own` are the labels and taints that its nodes have beside the template's.
    """

    instance_type: str
    allocatable: Resources
    weight: int = 1
    definition: str = ""
    memory_bytes: int = 0
    overhead_bytes: int = 0
    own: Variant = Variant()


class NodeTemplate(Model, frozen=True):
    """What a new node of the group is sure to bring: the least of all types the group may launch.

    `labels` lacks the zone when the group has several: the zone is then the group's choice, not ours.
    `price_usd_h` is None when no price is known. `choices` is empty where the group names attributes and nobody told which
    types have them. `fingerprint` names the definitions and images that launch; a node of another one shows nothing of the
    next. `stated` are the resources whose amounts the group's tags fix. `labels` and `taints` are those of every next node;
    what types differ in is each choice's own, and `others` are those of nodes that no choice stands for.
    """

    instance_types: tuple[str, ...]
    allocatable: Resources
    labels: Labels = {}
    taints: tuple[Taint, ...] = ()
    price_usd_h: float | None = None
    choices: tuple[Choice, ...] = ()
    fingerprint: str = ""
    stated: tuple[str, ...] = ()
    others: tuple[Variant, ...] = ()

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The sorts of node that may come, each as it differs from others; () where all are alike."""
        found = {encode(one): one for one in (*(choice.own for choice in self.choices), *self.others)}
        return tuple(found[key] for key in sorted(found)) if any(one != Variant() for one in found.values()) else ()

    def choice_of(self, instance_type: str, definition: str = "") -> Choice | None:
        """What stands for an instance of that type, of that definition if several do; None where nothing is sure."""
        mine = [choice for choice in self.choices if choice.instance_type == instance_type]
        exact = [choice for choice in mine if choice.definition == definition]
        return exact[0] if exact else mine[0] if len(mine) == 1 else None

    def of(self, choice: Choice) -> "NodeTemplate":
        """For a node of which it is known what it is."""
        told = {key: value for key, value in choice.own.labels.items() if value != UNTOLD}
        own = Variant(labels={key: value for key, value in choice.own.labels.items() if key not in told})
        return msgspec.structs.replace(
            self,
            allocatable=choice.allocatable,
            labels={**self.labels, **told},
            taints=(*self.taints, *choice.own.taints),
            choices=(msgspec.structs.replace(choice, own=own),),
            others=(),
        )


class NodeGroup(Model, frozen=True):
    """One Auto Scaling group in one region. `template` is None when it cannot be read; `problem` then says why.

    `launching` counts activities that are in progress, of which the oldest began at `launching_since`; by their ids,
    `launching_ids`, the next read finds how they ended. `failures` are refusals, newest first. `options` are Cluster
    Autoscaler's `node-template/autoscaling-options` tags by name, as they are written.

    `weighted`: desired, min and max count units of what its instances weigh, not instances.

    `status` is "" but for a group that is being deleted. `warm` are the instances of its warm pool, which are in no other
    count. The healthy percentages are those of its instance maintenance policy, None without one.

    `unknown_owners` are kinds of those that change its size of which AWS told nothing, now or before.

    `offerings` are in the group's order of preference; `takes_cheapest`: it launches the cheapest on-demand one instead.
    `on_demand_share` is the part of further instances that is on-demand. Each of `draws` must find room for one more.
    """

    region: str
    name: str
    min_size: int
    max_size: int
    desired: int
    zones: tuple[str, ...] = ()
    capacity_type: CapacityType = CapacityType.ON_DEMAND
    instances: tuple[Instance, ...] = ()
    template: NodeTemplate | None = None
    problem: str = ""
    suspended: tuple[str, ...] = ()
    launching: int = 0
    launching_since: datetime | None = None
    launching_ids: tuple[str, ...] = ()
    failures: tuple[LaunchFailure, ...] = ()
    options: Labels = {}
    status: str = ""
    warm: tuple[Instance, ...] = ()
    warm_pool: WarmPool | None = None
    protects_new_instances: bool = False
    zone_distribution: str = "balanced-best-effort"
    capacity_rebalance: bool = False
    max_instance_lifetime_s: int | None = None
    min_healthy_percent: int | None = None
    max_healthy_percent: int | None = None
    refresh: InstanceRefresh | None = None
    managed: ManagedNodeGroup | None = None
    scaling_policies: tuple[ScalingPolicy, ...] = ()
    scheduled_actions: tuple[ScheduledAction, ...] = ()
    unknown_owners: tuple[str, ...] = ()
    offerings: tuple[Offering, ...] = ()
    on_demand_share: float = 1.0
    takes_cheapest: bool = False
    weighted: bool = False
    draws: tuple[Draw, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.region}/{self.name}"

    @property
    def units(self) -> int:
        """What its members count for: their number, but where it is weighted."""
        return sum(instance.weight for instance in self.instances if instance.is_member)

    @property
    def node_units(self) -> int:
        """What desired is raised by for one more node: the most that any of its types weighs. Whichever Auto Scaling chooses,
        at least as many nodes come as were asked for; of lighter types, more."""
        choices = self.template.choices if self.template and self.weighted else ()
        return max((choice.weight for choice in choices), default=1)

    @property
    def is_countable(self) -> bool:
        """Whether we know how many nodes its desired stands for."""
        return not self.weighted or (not self.problem and self.template is not None and bool(self.template.choices))

    def nodes(self, units: int) -> int:
        """How many nodes come of so many units at least."""
        return -(-units // self.node_units)

    @property
    def balances_zones(self) -> bool:
        """Auto Scaling may end a node of one zone, undrained, to launch another in a second one."""
        return len(self.zones) > 1 and "AZRebalance" not in self.suspended


class RegionView(Model, frozen=True):
    """`known` False: the region did not answer; its groups, if any, are as of `as_of` and no longer to be trusted."""

    name: str
    known: bool
    as_of: datetime | None = None
    problem: str = ""


class FleetSnapshot(Model, frozen=True):
    """Regions and groups by name. `taken_at` is the time of the read. `ended` are instances of no group that EC2 has ended and
    still speaks of."""

    cluster: str
    home_region: str
    taken_at: datetime
    regions: tuple[RegionView, ...] = ()
    groups: tuple[NodeGroup, ...] = ()
    id: str = ""
    warnings: tuple[Reason, ...] = ()
    ceilings: tuple[Ceiling, ...] = ()  # those that groups draw on
    ended: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION
