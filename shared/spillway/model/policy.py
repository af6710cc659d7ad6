"""The policy: what people may tell Spillway. Names and defaults are a contract (`docs/schema/policy.json`).

Every field is optional. Amounts are Kubernetes quantities; a name that ends in `_s` is in seconds.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    model_validator,
)

from spillway.model import quantity
from spillway.model.plan import AtDeadline, Why
from spillway.model.selector import Requirement


def _is_quantity(value: str | int | float) -> str:
    quantity.parse(value)
    return str(value)


def _is_percent_or_count(value: str | int) -> str | int:
    if isinstance(value, str):
        number = value.removesuffix("%")
        if not (value.endswith("%") and number.isdigit() and int(number) <= 100):
            raise ValueError(f"{value!r} is neither a count nor a percentage from 0% to 100%")
    elif value < 0:
        raise ValueError(f"{value} is negative")
    return value


Quantity = Annotated[str | int | float, AfterValidator(_is_quantity)]
Seconds = NonNegativeInt
Expander = Literal["least-waste", "most-pods", "least-nodes", "priority", "price", "random"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


S = TypeVar("S", bound=_Section)


class RegionMode(StrEnum):
    IN_ORDER = "in_order"
    CHEAPEST = "cheapest"
    SPREAD = "spread"


class Mode(StrEnum):
    RUN = "run"
    DRY_RUN = "dry_run"
    SCALE_OUT_ONLY = "scale_out_only"
    SCALE_IN_ONLY = "scale_in_only"
    OFF = "off"


class PreferencePolicy(StrEnum):
    """Karpenter's word and values."""

    RESPECT = "respect"
    IGNORE = "ignore"


class Namespaces(_Section):
    """Whose waiting pods are demand; running pods of all namespaces keep their nodes. An empty `include` is all."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class SelectorExpression(_Section):
    key: str = Field(min_length=1)
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _has_the_values_of_its_operator(self) -> Self:
        if bool(self.values) != (self.operator in ("In", "NotIn")):
            raise ValueError(f"values {'must not stand' if self.values else 'are missing'} beside {self.operator}")
        return self


class LabelSelector(_Section):
    """As in a Kubernetes manifest, spelling and all; all of it holds together."""

    match_labels: Mapping[str, str] = Field({}, alias="matchLabels")
    match_expressions: tuple[SelectorExpression, ...] = Field((), alias="matchExpressions")

    def requirements(self) -> tuple[Requirement, ...]:
        labels = (Requirement(key=key, operator="In", values=(value,)) for key, value in self.match_labels.items())
        return (*labels, *(Requirement(key=e.key, operator=e.operator, values=e.values) for e in self.match_expressions))


class Pods(_Section):
    selector: LabelSelector = Field(
        LabelSelector(), description="Waiting pods that it does not match are no demand; running pods always keep their nodes"
    )
    new_pod_delay_s: Seconds = Field(0, description="A younger pod is no demand yet: its controller may still move it")
    priority_cutoff: int = Field(-10, description="Pods below it ask for nothing and keep no node (Cluster Autoscaler's)")
    preference_policy: PreferencePolicy = Field(
        PreferencePolicy.RESPECT,
        description="Preferred affinity, ScheduleAnyway, PreferNoSchedule: kept while they cost nothing, or ignored",
    )
    scheduler_names: tuple[str, ...] = Field(("default-scheduler",), description="Pods of other schedulers are no demand")
    bypass_scheduler_names: tuple[str, ...] = Field(
        (), description="Of those, schedulers that write no condition: pods that they have not placed are demand at once"
    )

    @model_validator(mode="after")
    def _bypasses_known_schedulers(self) -> Self:
        unknown = sorted(set(self.bypass_scheduler_names).difference(self.scheduler_names))
        if unknown:
            raise ValueError(f"bypass_scheduler_names: {', '.join(unknown)} must be among scheduler_names, too")
        return self


class Nodes(_Section):
    startup_taints: tuple[str, ...] = Field((), description="Keys or prefixes that a node sheds while it starts")


class ImageFamily(StrEnum):
    """Images by what their kubelets keep for themselves. `custom` is a kubelet with Kubernetes' own defaults."""

    AL2023 = "al2023"
    AL2 = "al2"
    BOTTLEROCKET = "bottlerocket"
    UBUNTU = "ubuntu"
    CUSTOM = "custom"


def _is_threshold(value: str) -> str:
    number = value.removesuffix("%")
    if not value.endswith("%"):
        return _is_quantity(value)
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", number) or float(number) > 100:
        raise ValueError(f"{value!r} is neither a quantity nor a percentage from 0% to 100%")
    return value


class KubeletPolicy(_Section):
    """What nodes that nobody has seen yet keep for themselves, where neither the launch template nor EKS tells.

    What is set here holds against what they tell; the tags of a group and what its nodes have shown hold against both.
    """

    image: ImageFamily | None = Field(None, description="Whose defaults hold; null: as the image tells, else al2023")
    max_pods: PositiveInt | None = Field(None, description="null: as network interfaces have addresses, with custom 110")
    prefix_delegation: bool = Field(False, description="The VPC CNI hands out prefixes of 16 addresses: more pods a node")
    reserved_interfaces: NonNegativeInt = Field(0, description="Network interfaces without pods: 1 with custom networking")
    kube_reserved: Mapping[str, Quantity] = Field({}, description="By resource, in place of the image's own figure")
    system_reserved: Mapping[str, Quantity] = Field({}, description="By resource")
    eviction_hard: Mapping[Literal["memory.available", "nodefs.available"], Annotated[str, AfterValidator(_is_threshold)]] = {}
    hugepages: Mapping[Literal["hugepages-2Mi", "hugepages-1Gi"], Quantity] = Field(
        {}, description="What a node sets aside when it starts"
    )
    instance_store: bool = Field(False, description="Pods' ephemeral storage is on the disks of the instance (RAID 0)")


class Scheduler(_Section):
    profile: Literal["least_allocated", "most_allocated"] = Field("least_allocated", description="The kube-scheduler's score")
    nominate: bool = Field(False, description="Write status.nominatedNodeName for planned pods (KEP-5278)")


class Headroom(_Section):
    percent: Mapping[str, NonNegativeFloat] = Field({}, description="Percent of requests to keep free, by resource")
    fixed: Mapping[str, Quantity] = Field({}, description="Amounts to keep free, by resource")
    spare_nodes_per_group: NonNegativeInt = 0


class Limits(_Section):
    """Over all groups of the cluster, what runs and what comes together; null is no limit."""

    nodes: NonNegativeInt | None = None
    cpu: Quantity | None = None
    memory: Quantity | None = None
    resources: Mapping[str, Quantity] = {}
    nodes_per_plan: PositiveInt | None = None


class Backoff(_Section):
    first_s: PositiveInt = Field(300, description="How long a refused group is passed over; doubles at each refusal")
    max_s: PositiveInt = 1800
    breaker_after: PositiveInt = Field(
        3, description="Raised so often in a row without growing, a group is passed over for max_s, with or without a refusal"
    )


class ScaleOutPolicy(_Section):
    objective: Literal["least_cost", "seed_order"] | tuple[Expander, ...] = "least_cost"
    provision_time_s: PositiveInt = Field(900, description="Younger capacity is coming; older is not")
    headroom: Headroom = Headroom()
    limits: Limits = Limits()
    gang_wait_s: Seconds = Field(600, description="How long room is kept for the rest of a gang")
    backoff: Backoff = Backoff()


class Consolidation(StrEnum):
    OFF = "off"
    EMPTY = "empty"
    EMPTY_AND_UNDERUTILISED = "empty_and_underutilised"
    REPLACE = "replace"


class Budget(_Section):
    """At most `nodes` leave at once; a percentage is of the cluster's own nodes and rounds up. All budgets that apply hold."""

    nodes: Annotated[str | int, AfterValidator(_is_percent_or_count)]
    reasons: tuple[Why, ...] = Field((), description="Only for these reasons; none means all")
    schedule: str | None = Field(None, description="Cron line; the budget holds from then on for duration_s")
    duration_s: PositiveInt | None = None
    time_zone: str = "UTC"


class ClusterMinimum(_Section):
    nodes: NonNegativeInt | None = None
    cpu: Quantity | None = None
    memory: Quantity | None = None


class RemovalLimits(_Section):
    """How many nodes we take away at most, as a brake on what a wrong view or a wrong policy can do; null is no limit.

    All nodes of the cluster are counted together. What AWS takes counts, and is not held back.
    """

    nodes_per_plan: PositiveInt | None = None
    nodes_per_hour: PositiveInt | None = None


class DrainablePolicy(_Section):
    """What pods let their node go, where Cluster Autoscaler has a flag for it (docs/drainability.md)."""

    young_s: Seconds = Field(300, description="A pod that started less than this ago is not moved")
    min_replicas: NonNegativeInt = Field(0, description="A pod whose controller wants fewer than this many is not moved")
    custom_controllers: Literal["keep", "move"] = Field("keep", description="Pods of controllers that Kubernetes does not know")
    local_storage: Literal["keep", "move"] = Field("keep", description="Pods with hostPath volumes, or emptyDir on disk")
    system_pods_s: Seconds | None = Field(
        3600, description="How long a pod of kube-system without a disruption budget is not moved; null is for ever"
    )


class Window(_Section):
    """Opens when the cron line fires, for `duration_s`. One that cannot be read never opens."""

    schedule: str
    duration_s: PositiveInt
    time_zone: str = "UTC"


class ScaleInPolicy(_Section):
    enabled: bool = True
    idle_s: Seconds = Field(600, description="An empty node goes after this")
    unneeded_s: Seconds = Field(600, description="An underutilised node goes after this")
    utilisation_threshold: float = Field(0.5, ge=0, le=1)
    gpu_utilisation_threshold: float = Field(
        0.5, ge=0, le=1, description="Of nodes with accelerators, whose use alone counts there"
    )
    ignore_daemons_utilisation: bool = Field(False, description="Leave DaemonSets out of a node's use")
    spare_nodes: NonNegativeInt = Field(0, description="So many idle nodes stay until spare_idle_s")
    spare_per: Literal["group", "instance_type"] = "group"
    spare_idle_s: Seconds = 604800
    dead_s: Seconds = Field(1800, description="A node that is not Ready for this long may be dead")
    dead_at_once: Annotated[str | int, AfterValidator(_is_percent_or_count)] = Field(
        "20%", description="More silent nodes than this are a cut network; a percentage rounds up"
    )
    consolidation: Consolidation = Consolidation.EMPTY_AND_UNDERUTILISED
    budgets: tuple[Budget, ...] = (Budget(nodes="10%"),)
    limits: RemovalLimits = RemovalLimits()
    windows: tuple[Window, ...] = Field((), description="Nodes are given back in these only; none means always")
    cluster_minimum: ClusterMinimum = ClusterMinimum()
    respect_protection: bool = Field(False, description="True: instances protected from scale in are never ended by us")
    max_age_s: PositiveInt | None = None
    drift: bool = False
    batch: Literal["wait", "evict"] = Field("wait", description="What happens to running pods of Jobs")
    batch_ends_s: Seconds | None = Field(
        None, description="Pods that are waited for are evicted when their node has been unneeded for this long; null is never"
    )
    drainable: DrainablePolicy = DrainablePolicy()


class DrainPolicy(_Section):
    settle_s: Seconds = Field(5, description="Between taint and re-check: a scheduler's decision under way lands")
    max_grace_s: Seconds = Field(600, description="A pod's longer grace is cut to this")
    deadline_s: PositiveInt = 3600
    at_deadline: AtDeadline = AtDeadline.GIVE_UP
    complete_hooks: tuple[str, ...] = Field(
        ("spillway*",), description="Names or globs of termination lifecycle hooks that wait for nothing but the drain"
    )


class Interruptions(_Section):
    spot: Literal["drain", "cordon", "ignore"] = "drain"
    rebalance: Literal["drain", "cordon", "ignore"] = "ignore"
    health: Literal["drain", "cordon", "ignore"] = "drain"


class Paid(_Section):
    """Instances that are paid already, by Savings Plans or reserved instances: so many of the cluster's on-demand nodes cost
    nothing more. Either `count` or `vcpus`."""

    instance_type: str = Field(min_length=1, description="A type, or a glob such as m5.* where sizes may be swapped")
    region: str | None = None
    zone: str | None = Field(None, description="Where it holds in one zone only; counted for groups of that zone alone")
    count: PositiveInt | None = Field(None, description="Instances, of whatever size the glob allows")
    vcpus: PositiveInt | None = Field(None, description="vCPUs of instances of any size")
    until: AwareDatetime | None = Field(None, description="It holds up to here; null is for ever")

    @model_validator(mode="after")
    def _is_of_one_amount(self) -> Self:
        if (self.count is None) == (self.vcpus is None):
            raise ValueError("either count or vcpus is wanted")
        return self


class Prices(_Section):
    """What people pay where it is not what AWS lists, in USD an hour.

    Keys are instance types, or globs of them, with or without a region before: `m5.large`, `m5.*`, `us-west-2/m5.*`. An exact
    key goes before globs, and these by their order.
    """

    currency: Literal["USD"] = Field("USD", description="Of all prices; AWS's own lists have no other")
    on_demand: Mapping[str, NonNegativeFloat] = Field({}, description="USD an hour in place of AWS's on-demand price")
    discount_percent: Mapping[str, Annotated[float, Field(ge=0, le=100)]] = Field(
        {}, description="Off AWS's on-demand price, as of a Savings Plan that covers all use"
    )
    paid: tuple[Paid, ...] = ()


def _overrides(section: type[_Section]) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    def check(fields: Mapping[str, Any]) -> Mapping[str, Any]:
        section.model_validate(dict(fields))
        return fields

    return check


class GroupOverride(_Section):
    """For one group or a glob of groups: `min` and `max` hold together with the group's own; `ignore` leaves it alone.

    `kubelet`, `scale_out` and `scale_in` hold the fields to override and nothing else.
    """

    min: NonNegativeInt | None = None
    max: NonNegativeInt | None = None
    ignore: bool = False
    kubelet: Annotated[Mapping[str, Any], AfterValidator(_overrides(KubeletPolicy))] = {}
    scale_out: Annotated[Mapping[str, Any], AfterValidator(_overrides(ScaleOutPolicy))] = {}
    scale_in: Annotated[Mapping[str, Any], AfterValidator(_overrides(ScaleInPolicy))] = {}


class GroupPolicy(_Section):
    """What holds for one group after all overrides."""

    min: int | None = None
    max: int | None = None
    ignore: bool = False
    kubelet: KubeletPolicy
    scale_out: ScaleOutPolicy
    scale_in: ScaleInPolicy


class Policy(_Section):
    regions: tuple[str, ...] = Field((), description="Order of preference; the home region first when absent")
    region_mode: RegionMode = RegionMode.IN_ORDER
    namespaces: Namespaces = Namespaces()
    pods: Pods = Pods()
    nodes: Nodes = Nodes()
    kubelet: KubeletPolicy = KubeletPolicy()
    max_snapshot_age_s: PositiveInt = Field(180, description="An older view never scales in, nor buys")
    may_be_empty: bool = Field(
        False, description="True: an API server without nodes is believed (a cluster that starts at none)"
    )
    scheduler: Scheduler = Scheduler()
    scale_out: ScaleOutPolicy = ScaleOutPolicy()
    scale_in: ScaleInPolicy = ScaleInPolicy()
    drain: DrainPolicy = DrainPolicy()
    interruptions: Interruptions = Interruptions()
    prices: Prices = Prices()
    strict_ownership: bool = Field(False, description="Refuse groups with a scaling policy, a schedule or another autoscaler")
    mode: Mode = Mode.RUN
    groups: Mapping[str, GroupOverride] = {}

    @property
    def pod_label_keys(self) -> frozenset[str]:
        """Labels of pods that it reads, and that a snapshot must therefore hold."""
        return frozenset(requirement.key for requirement in self.pods.selector.requirements())

    def for_group(self, name: str) -> GroupPolicy:
        """The policy of one group: globs first in their order, then its exact name; later ones win field by field."""
        globs = [key for key in self.groups if key != name and fnmatchcase(name, key)]
        found = [self.groups[key] for key in [*globs, *([name] if name in self.groups else [])]]
        bounds: dict[str, Any] = {}
        for override in found:
            bounds |= override.model_dump(include={"min", "max", "ignore"}, exclude_unset=True)
        return GroupPolicy(
            **bounds,
            kubelet=_overridden(self.kubelet, [o.kubelet for o in found]),
            scale_out=_overridden(self.scale_out, [o.scale_out for o in found]),
            scale_in=_overridden(self.scale_in, [o.scale_in for o in found]),
        )


def _overridden(section: S, overrides: list[Mapping[str, Any]]) -> S:
    if not overrides:
        return section
    merged: dict[str, Any] = section.model_dump()
    for override in overrides:
        merged = _merged(merged, override)
    return type(section).model_validate(merged)


def _merged(base: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in patch.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = _merged(dict(result[key]), value) if both else value
    return result
