"""Reads all regions at once. A region that does not answer, or not in time, is an error in its place; what a region
answers besides its groups is optional: an error stands in place of that one answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from threading import Thread
from typing import Any, TypeVar

from spillway.aws import clients, definitions, groups, market
from spillway.errors import AwsError, AwsUnavailable
from spillway.model.fleet import FleetSnapshot, NodeGroup

WAIT_S = 40
"""For all regions together: less than the function's timeout, with room to store what the others said."""
_CALLS_AT_ONCE = 8
_NAMES_PER_FILTER = 200  # EC2 refuses more values of a filter
_ALIVE = ["pending", "running", "shutting-down", "stopping", "stopped"]

Item = Mapping[str, Any]
T = TypeVar("T")


def read(
    regions: Sequence[str], cluster: str, group_names: Iterable[str] = (), previous: FleetSnapshot | None = None
) -> dict[str, dict[str, Any] | AwsError]:
    """Answers of each region in the form of `fleet.reduce`. `group_names` are `region/name`.

    `previous` is the cursor of activities: launches that it saw in progress are followed to their end.
    """
    names = [name.partition("/")[::2] for name in group_names]
    before = {group.key: group for group in previous.groups} if previous else {}

    def one(region: str) -> dict[str, Any] | AwsError:
        try:
            return _read_region(region, cluster, [name for where, name in names if where == region], before)
        except AwsError as error:
            return error

    reading = {region: _begin(partial(one, region)) for region in regions}
    wait(reading.values(), timeout=WAIT_S)
    return {region: future.result() if future.done() else _late(region) for region, future in reading.items()}


def _begin(call: Callable[[], T]) -> "Future[T]":
    """In a thread that nobody has to wait for: an executor's would be waited for at the end of the process."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


def _late(region: str) -> AwsUnavailable:
    return AwsUnavailable(region, "autoscaling:DescribeAutoScalingGroups", f"no answer within {WAIT_S} s")


def _read_region(region: str, cluster: str, names: Sequence[str], before: Mapping[str, NodeGroup]) -> dict[str, Any]:
    """Raises AwsForbidden or AwsUnavailable when the groups cannot be listed."""
    items = groups.describe(region, cluster, names)
    answers: dict[str, Any] = {"AutoScalingGroups": items}

    def ask(key: str, call: Callable[[], Any]) -> Any:
        try:
            answers[key] = call()
        except AwsError as error:
            answers[key] = error
            return ()
        return answers[key]

    ask("Activities", lambda: _activities(region, items, before))
    ask("Reservations", lambda: _reservations(region, [item["AutoScalingGroupName"] for item in items if item["Instances"]]))
    versions = ask("LaunchTemplateVersions", lambda: definitions.launch_template_versions(region, items))
    configurations = ask("LaunchConfigurations", lambda: definitions.launch_configurations(region, items))
    ask("Nodegroups", lambda: definitions.nodegroups(region, items))
    types = definitions.type_names(items, versions, configurations)
    ask("InstanceTypes", lambda: definitions.instance_types(region, types))
    ask("OnDemandPrices", lambda: market.on_demand_prices(region, types))
    if any(may_be_spot(item) for item in items) or any(map(_is_spot, (*versions, *configurations))):
        ask("SpotPriceHistory", lambda: market.spot_prices(region, types))
    return answers


def is_restless(item: Item) -> bool:
    """Something is on its way or has failed: only then do the group's activities tell anything new."""
    states = [instance["LifecycleState"] for instance in item["Instances"]]
    arrived = sum(state == "InService" for state in states)
    return bool(item["DesiredCapacity"] != arrived or len(states) != arrived)


def may_be_spot(item: Item) -> bool:
    """A mixed group that launches spot instances above its base."""
    distribution = item.get("MixedInstancesPolicy", {}).get("InstancesDistribution", {})
    return bool(distribution.get("OnDemandPercentageAboveBaseCapacity", 100) < 100)


def _is_spot(definition: Item) -> bool:
    """A launch template version or a launch configuration that asks for spot instances."""
    options = definition.get("LaunchTemplateData", {}).get("InstanceMarketOptions", {})
    return bool(definition.get("SpotPrice") or options.get("MarketType") == "spot")


def _activities(region: str, items: Sequence[Item], before: Mapping[str, NodeGroup]) -> list[Item]:
    """Of groups that are restless, had a failure, or had a launch whose end nobody has seen."""
    wanted: dict[str, tuple[str, ...]] = {}
    for item in items:
        name = item["AutoScalingGroupName"]
        known = before.get(f"{region}/{name}")
        ids = known.launching_ids if known else ()
        if is_restless(item) or ids or (known and known.failures):
            wanted[name] = ids
    with ThreadPoolExecutor(_CALLS_AT_ONCE) as pool:
        read = pool.map(lambda name: groups.activities(region, name, ids=wanted[name]), wanted)
        return [one for found in read for one in found]


def _reservations(region: str, names: Sequence[str]) -> list[Item]:
    """Instances of the groups by Auto Scaling's tag: a call that names an id that is gone would be refused whole."""
    return [
        reservation
        for batch in groups.batches(names, _NAMES_PER_FILTER)
        for page in clients.pages(
            "ec2",
            region,
            "describe_instances",
            Filters=[
                {"Name": "tag:aws:autoscaling:groupName", "Values": list(batch)},
                {"Name": "instance-state-name", "Values": _ALIVE},
            ],
            MaxResults=1000,
        )
        for reservation in page["Reservations"]
    ]
