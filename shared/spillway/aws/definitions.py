"""What groups launch, as AWS answers it: launch templates, launch configurations, instance types, EKS node groups."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from spillway.aws import clients, groups
from spillway.aws.memo import Memo
from spillway.errors import AwsUnavailable
from spillway.telemetry import logger

Item = Mapping[str, Any]
V = TypeVar("V")

_CONFIGURATIONS_PER_CALL = 50  # DescribeLaunchConfigurations refuses more names
_FILTER_VALUES = 200  # EC2 refuses more values of a filter

# What cannot change is kept for as long as the process lives; what can, for as long as a user would wait.
_FOREVER, _MINUTES = timedelta(days=365), timedelta(minutes=5)
_numbered: Memo[tuple[str, str, str], list[Item]] = Memo(_FOREVER)
_moving: Memo[tuple[str, str, str], list[Item]] = Memo(_MINUTES)
_configurations: Memo[tuple[str, str], Item] = Memo(_FOREVER)
_types: Memo[tuple[str, str], Item] = Memo(_FOREVER)
_nodegroups: Memo[tuple[str, str, str], Item] = Memo(_MINUTES)


def template_references(items: Iterable[Item]) -> list[Item]:
    """Every LaunchTemplateSpecification that the groups name."""
    found: list[Item] = []
    for item in items:
        policy = item.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {})
        named = [item.get("LaunchTemplate"), policy.get("LaunchTemplateSpecification")]
        named += [override.get("LaunchTemplateSpecification") for override in policy.get("Overrides", ())]
        found += [reference for reference in named if reference]
    return found


def launch_template_versions(region: str, items: Iterable[Item]) -> list[Item]:
    """The versions that the groups name; a template that is gone is left out. Raises AwsForbidden."""
    wanted = [
        (region, one.get("LaunchTemplateId") or one["LaunchTemplateName"], one.get("Version") or "$Default")
        for one in template_references(items)
    ]
    numbered = _numbered.get((key for key in wanted if not key[2].startswith("$")), _versions)
    moving = _moving.get((key for key in wanted if key[2].startswith("$")), _versions)
    return [version for answer in (*numbered.values(), *moving.values()) for version in answer]


def launch_configurations(region: str, items: Iterable[Item]) -> list[Item]:
    """The launch configurations that the groups name and that exist. Raises AwsForbidden or AwsUnavailable."""
    names = sorted({name for item in items if (name := item.get("LaunchConfigurationName"))})

    def fetch(keys: list[tuple[str, str]]) -> dict[tuple[str, str], Item]:
        return {
            (region, one["LaunchConfigurationName"]): one
            for batch in groups.batches([name for _, name in keys], _CONFIGURATIONS_PER_CALL)
            for page in clients.pages(
                "autoscaling", region, "describe_launch_configurations", LaunchConfigurationNames=list(batch)
            )
            for one in page["LaunchConfigurations"]
        }

    return list(_configurations.get(((region, name) for name in names), fetch).values())


def type_names(items: Iterable[Item], versions: Iterable[Item], configurations: Iterable[Item]) -> list[str]:
    """Every instance type that the groups may launch."""
    overrides = [
        override
        for item in items
        for override in item.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {}).get("Overrides", ())
    ]
    named = [*overrides, *(version["LaunchTemplateData"] for version in versions), *configurations]
    return sorted({name for one in named if (name := one.get("InstanceType"))})


def instance_types(region: str, names: Iterable[str]) -> list[Item]:
    """The types that exist in the region; asked for by filter, since a call that names an unknown type is refused whole.

    Raises AwsForbidden or AwsUnavailable.
    """

    def fetch(keys: list[tuple[str, str]]) -> dict[tuple[str, str], Item]:
        return {
            (region, one["InstanceType"]): one
            for batch in groups.batches([name for _, name in keys], _FILTER_VALUES)
            for page in clients.pages(
                "ec2", region, "describe_instance_types", Filters=[{"Name": "instance-type", "Values": list(batch)}]
            )
            for one in page["InstanceTypes"]
        }

    return list(_types.get(((region, name) for name in names), fetch).values())


def nodegroups(region: str, items: Iterable[Item]) -> list[Item]:
    """describe-nodegroup answers of the groups that EKS manages; one that is gone is left out. Raises AwsForbidden."""
    wanted = [
        (region, tags["eks:cluster-name"], tags["eks:nodegroup-name"])
        for tags in map(groups.tags, items)
        if {"eks:cluster-name", "eks:nodegroup-name"} <= tags.keys()
    ]
    return [{"nodegroup": answer["nodegroup"]} for answer in _nodegroups.get(wanted, _describe_nodegroups).values()]


def _describe_nodegroups(keys: list[tuple[str, str, str]]) -> dict[tuple[str, str, str], Item]:
    def ask(region: str, cluster: str, name: str) -> Item:
        return clients.ask("eks", region, "describe_nodegroup", clusterName=cluster, nodegroupName=name)

    return _each(keys, ask)


def _versions(keys: list[tuple[str, str, str]]) -> dict[tuple[str, str, str], list[Item]]:
    def ask(region: str, template: str, version: str) -> list[Item]:
        which = "LaunchTemplateId" if template.startswith("lt-") else "LaunchTemplateName"
        request = {which: template, "Versions": [version]}
        found: list[Item] = clients.ask("ec2", region, "describe_launch_template_versions", **request)["LaunchTemplateVersions"]
        return found

    return _each(keys, ask)


def _each(keys: Iterable[tuple[str, str, str]], ask: Callable[[str, str, str], V]) -> dict[tuple[str, str, str], V]:
    """One call for each key, so that one that is gone is only its own loss. Raises AwsForbidden: that concerns all."""
    found: dict[tuple[str, str, str], V] = {}
    for key in keys:
        try:
            found[key] = ask(*key)
        except AwsUnavailable as error:
            logger.warning(f"{' '.join(key)} is left out: {error}")
    return found
