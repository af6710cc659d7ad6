"""Capacity reservations and blocks, asked of EC2, and who is in a resource group of them, asked of Resource Groups."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from spillway.aws import clients
from spillway.aws.memo import Memo

Item = Mapping[str, Any]

_members: Memo[tuple[str, str], list[str]] = Memo(timedelta(minutes=5))


def are_wanted(items: Iterable[Item], versions: Iterable[Item]) -> bool:
    """Whether any of these groups, or launch template versions, can launch into a reservation only."""
    data = [version["LaunchTemplateData"] for version in versions]
    specifications = [one.get("CapacityReservationSpecification", {}) for one in (*items, *data)]
    return any(one.get("InstanceMarketOptions", {}).get("MarketType") == "capacity-block" for one in data) or any(
        one.get("CapacityReservationPreference") == "capacity-reservations-only" or one.get("CapacityReservationTarget")
        for one in specifications
    )


def capacity_reservations(region: str) -> list[Item]:
    """All of the account and those shared with it; never kept, since every launch changes what is free.

    Raises AwsForbidden or AwsUnavailable.
    """
    pages = clients.pages("ec2", region, "describe_capacity_reservations", MaxResults=1000)
    return [item for page in pages for item in page["CapacityReservations"]]


def resource_group_arns(items: Iterable[Item], versions: Iterable[Item]) -> list[str]:
    """Resource groups that groups or launch template versions target."""
    found: set[str] = set()
    for one in (*items, *(version["LaunchTemplateData"] for version in versions)):
        target = one.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget") or {}
        found |= {
            target.get("CapacityReservationResourceGroupArn", ""),
            *target.get("CapacityReservationResourceGroupArns", ()),
        }
    return sorted(found - {""})


def members(region: str, arns: Iterable[str]) -> dict[str, list[str]]:
    """Ids of the reservations in each resource group. Raises AwsForbidden or AwsUnavailable."""

    def fetch(keys: list[tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
        return {key: _of_group(*key) for key in keys}

    return {arn: ids for (_, arn), ids in _members.get(((region, arn) for arn in arns), fetch).items()}


def _of_group(region: str, arn: str) -> list[str]:
    pages = clients.pages("resource-groups", region, "list_group_resources", Group=arn)
    named = (item["Identifier"]["ResourceArn"] for page in pages for item in page["Resources"])
    return sorted(one.rpartition("/")[2] for one in named if ":capacity-reservation/" in one)
