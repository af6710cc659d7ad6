"""Reads all regions at once, each against its own deadline. A region whose groups do not come is an error in its place; what
a region answers besides its groups is optional: an error stands in place of that one answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from time import monotonic
from typing import Any

from spillway.aws import (
    activities,
    clients,
    definitions,
    groups,
    launch_templates,
    market,
    owners,
    parallel,
    quotas,
    requirements,
    reservations,
    shapes,
)
from spillway.aws.documented import ODD, odd
from spillway.aws.partial import Partial
from spillway.aws.table.instance_types import TypeShelf
from spillway.errors import AwsError, AwsUnavailable
from spillway.model.fleet import FleetSnapshot, NodeGroup

ANSWER_S = 40
"""For a region, from its first call."""
LATE_S = 3
"""What a call has at least that begins when that time is nearly over, or is: one that hangs takes nothing from those that
come after it. Four waves of late ones still leave room within the function's timeout to store what has come."""
_KEPT_S = 1  # within its time a call that can answer with what it kept has to do so
_NAMES_PER_FILTER = 200  # EC2 refuses more values of a filter
_STATES = ["pending", "running", "shutting-down", "stopping", "stopped", "terminated"]

Item = Mapping[str, Any]


def read(
    regions: Sequence[str],
    cluster: str,
    group_names: Iterable[str] = (),
    previous: FleetSnapshot | None = None,
    shelf: TypeShelf | None = None,
    prices: market.Shelf | None = None,
) -> dict[str, dict[str, Any] | AwsError]:
    """Answers of each region in the form of `fleet.reduce`. `group_names` are `region/name`.

    `previous` is the cursor of activities: launches that it saw in progress are followed to their end. Types on the `shelf`,
    and young `prices`, are not asked for.
    """
    names = [name.partition("/")[::2] for name in group_names]
    before = {group.key: group for group in previous.groups} if previous else {}

    def one(region: str) -> dict[str, Any] | AwsError:
        try:
            return _read_region(region, cluster, [name for where, name in names if where == region], before, shelf, prices)
        except AwsError as error:
            return error
        except ODD as error:
            return odd(region, "the read of its groups", error)

    reading = {region: parallel.begin(partial(one, region)) for region in regions}
    return {region: future.result() for region, future in reading.items()}


class RegionRead:
    """Questions to one region, all of them open at once. None is waited for after `ends_at`, in seconds of `monotonic`, but
    for those that were asked so late that they would have less than LATE_S."""

    def __init__(self, region: str) -> None:
        self.region = region
        self._asked: dict[str, tuple[Future[Any], float]] = {}  # with the time of the question
        self.ends_at = monotonic() + ANSWER_S

    def ask(self, key: str, call: Callable[[], Any]) -> None:
        self._asked[key] = parallel.begin(call), monotonic()

    def left_s(self) -> float:
        """What a call has that begins now."""
        return max(LATE_S, self.ends_at - monotonic())

    def answer(self, key: str) -> Any:
        """Waits for it; raises AwsError."""
        try:
            future, asked = self._asked[key]
            return future.result(max(0.0, max(self.ends_at, asked + LATE_S) - monotonic()))
        except TimeoutError:
            raise AwsUnavailable(self.region, key, f"no answer within {ANSWER_S} s") from None
        except ODD as error:
            raise odd(self.region, key, error) from error

    def items(self, key: str) -> Sequence[Item]:
        """Those that came; none where the answer is an error, which stands among `answers`."""
        found = self._answer_or_error(key)
        found = found.value if isinstance(found, Partial) else found
        return () if isinstance(found, AwsError) else found

    def answers(self) -> dict[str, Any]:
        return {key: self._answer_or_error(key) for key in self._asked}

    def _answer_or_error(self, key: str) -> Any:
        try:
            return self.answer(key)
        except AwsError as error:
            return error


def _read_region(
    region: str,
    cluster: str,
    names: Sequence[str],
    before: Mapping[str, NodeGroup],
    shelf: TypeShelf | None,
    prices: market.Shelf | None,
) -> dict[str, Any]:
    """In three waves: the groups, what they name, and what that names; in five where attributes stand for types.

    What of the answers does not read is asked nothing about; `fleet.reduce` names it. Raises AwsError when the groups cannot be
    listed.
    """
    reading = RegionRead(region)
    ask = reading.ask
    ask("AutoScalingGroups", lambda: groups.describe(region, cluster, names))
    items = _readable(reading.answer("AutoScalingGroups"), shapes.Group)
    moving = _moving(region, items, before)

    ask("Activities", lambda: activities.of_groups(region, _wanted(region, items, before)))
    ask(
        "Reservations", lambda: _reservations(region, [item["AutoScalingGroupName"] for item in items if item.get("Instances")])
    )
    ask("LaunchTemplateVersions", lambda: launch_templates.versions(region, items))
    ask("LaunchConfigurations", lambda: definitions.launch_configurations(region, items))
    ask("Nodegroups", lambda: definitions.nodegroups(region, items, moving))
    ask("WarmPools", lambda: owners.warm_pools(region, items))
    ask("InstanceRefreshes", lambda: owners.instance_refreshes(region, moving))
    ask("ScalingPolicies", lambda: owners.scaling_policies(region) if items else [])
    ask("ScheduledUpdateGroupActions", lambda: owners.scheduled_actions(region) if items else [])
    ask("Quotas", lambda: quotas.vcpu_quotas(region) if items else [])

    versions = _readable(reading.items("LaunchTemplateVersions"), shapes.LaunchTemplateVersion)
    configurations = _readable(reading.items("LaunchConfigurations"), shapes.LaunchConfiguration)
    types = definitions.type_names(items, versions, configurations)
    ask("Images", lambda: definitions.images(region, items, versions, configurations))
    met = list[str]()
    if requirements.are_named(items, versions):
        asked = requirements.questions(items, versions, reading.items("Images"))
        ask(requirements.KEY, lambda: requirements.meeting(region, asked))
        met = [name for answer in reading.items(requirements.KEY) for name in answer["InstanceTypes"]]
    ask("InstanceTypes", lambda: definitions.instance_types(region, [*types, *met], shelf))
    within_s = reading.left_s() - _KEPT_S
    ask("OnDemandPrices", lambda: market.on_demand_prices(region, [*types, *met], prices, within_s))
    spot = any(may_be_spot(item) for item in items) or any(map(_is_spot, (*versions, *configurations)))
    ask("MetricDataResults", lambda: quotas.usage(region, reading.items("Quotas"), [*types, *met], spot))
    if spot:
        ask("SpotPriceHistory", lambda: market.spot_prices(region, [*types, *met], prices, within_s))
    if reservations.are_wanted(items, versions):
        arns = reservations.resource_group_arns(items, versions)
        ask("CapacityReservations", lambda: reservations.capacity_reservations(region))
        ask("CapacityReservationGroups", lambda: reservations.members(region, arns))
    return reading.answers()


def _readable(items: Iterable[Item], kind: type[shapes.Shape]) -> list[Item]:
    """Those of a kind that read, without what is null in them."""
    return [{key: value for key, value in item.items() if value is not None} for item in items if shapes.reads(item, kind)]


def is_restless(item: Item) -> bool:
    """Something is on its way or has failed: only then do the group's activities tell anything new."""
    states = [instance["LifecycleState"] for instance in item.get("Instances", ())]
    arrived = sum(state == "InService" for state in states)
    return bool(item["DesiredCapacity"] != arrived or len(states) != arrived)


def _moving(region: str, items: Sequence[Item], before: Mapping[str, NodeGroup]) -> list[str]:
    """Groups that may be under a refresh or an update of their node group, which are told for one group at a time.

    Those with something on its way, those that were under one before, since it may rest at a checkpoint, and new ones that
    look half replaced. One that has moved no instance yet is thus not seen, nor is there anything to keep out of its way.
    """
    names = []
    for item in items:
        known = before.get(f"{region}/{item['AutoScalingGroupName']}")
        was_moving = known and (known.refresh or (known.managed and known.managed.status != "ACTIVE"))
        if is_restless(item) or was_moving or (known is None and _is_mixed(item)):
            names.append(item["AutoScalingGroupName"])
    return names


def _is_mixed(item: Item) -> bool:
    """Its instances were launched by more than one version or configuration."""
    kinds = {
        (one.get("LaunchConfigurationName"), one.get("LaunchTemplate", {}).get("Version")) for one in item.get("Instances", ())
    }
    return len(kinds) > 1


def may_be_spot(item: Item) -> bool:
    """A mixed group that launches spot instances above its base."""
    distribution = item.get("MixedInstancesPolicy", {}).get("InstancesDistribution", {})
    return bool(distribution.get("OnDemandPercentageAboveBaseCapacity", 100) < 100)


def _is_spot(definition: Item) -> bool:
    """A launch template version or a launch configuration that asks for spot instances."""
    options = definition.get("LaunchTemplateData", {}).get("InstanceMarketOptions", {})
    return bool(definition.get("SpotPrice") or options.get("MarketType") == "spot")


def _wanted(region: str, items: Sequence[Item], before: Mapping[str, NodeGroup]) -> dict[str, tuple[str, ...]]:
    """Groups that are restless, had a failure, or had launches whose end nobody has seen; the ids of the latter by name."""
    wanted: dict[str, tuple[str, ...]] = {}
    for item in items:
        name = item["AutoScalingGroupName"]
        known = before.get(f"{region}/{name}")
        ids = known.launching_ids if known else ()
        if is_restless(item) or ids or (known and known.failures):
            wanted[name] = ids
    return wanted


def _reservations(region: str, names: Sequence[str]) -> list[Item]:
    """Instances of the groups by Auto Scaling's tag: a call that names an id that is gone would be refused whole."""

    def of(batch: Sequence[str]) -> list[Item]:
        filters = [
            {"Name": "tag:aws:autoscaling:groupName", "Values": list(batch)},
            {"Name": "instance-state-name", "Values": _STATES},
        ]
        pages = clients.pages("ec2", region, "describe_instances", Filters=filters, MaxResults=1000)
        return [reservation for page in pages for reservation in page["Reservations"]]

    found = parallel.each(of, list(groups.batches(names, _NAMES_PER_FILTER)))
    return [reservation for batch in found for reservation in batch]
