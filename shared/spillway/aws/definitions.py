"""What groups launch, as AWS answers it: launch configurations, instance types, EKS node groups."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from spillway.aws import clients, groups, parallel
from spillway.aws.memo import Memo
from spillway.aws.nodegroups import named_by
from spillway.aws.partial import Partial
from spillway.aws.table.instance_types import TypeShelf
from spillway.errors import AwsError, AwsUnavailable

Item = Mapping[str, Any]

_CONFIGURATIONS_PER_CALL = 50  # DescribeLaunchConfigurations refuses more names
_FILTER_VALUES = 200  # EC2 refuses more values of a filter

_Nodegroup = tuple[str, str, str]  # region, cluster and name

# What cannot change is kept for as long as the process lives; what can, for as long as a user would wait.
_FOREVER, _MINUTES = timedelta(days=365), timedelta(minutes=5)
_configurations: Memo[tuple[str, str], Item] = Memo(_FOREVER)
_types: Memo[tuple[str, str], Item] = Memo(_FOREVER)
_images: Memo[tuple[str, str], Item | None] = Memo(timedelta(hours=6))  # one that is gone is None: it seldom comes back
_nodegroups: Memo[_Nodegroup, Item | None] = Memo(_MINUTES)  # one that is gone is None


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
    named = [*_overrides(items), *(version["LaunchTemplateData"] for version in versions), *configurations]
    return sorted({name for one in named if (name := one.get("InstanceType"))})


def _overrides(items: Iterable[Item]) -> list[Item]:
    return [
        override
        for item in items
        for override in item.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {}).get("Overrides", ())
    ]


def instance_types(region: str, names: Iterable[str], shelf: TypeShelf | None = None) -> list[Item]:
    """The types that exist in the region; asked for by filter, since a call that names an unknown type is refused whole.

    Those on the `shelf` are not asked for. Raises AwsForbidden or AwsUnavailable.
    """

    def fetch(keys: list[tuple[str, str]]) -> dict[tuple[str, str], Item]:
        wanted = [name for _, name in keys]
        kept = shelf.get(region, wanted) if shelf else {}
        asked = _described_types(region, [name for name in wanted if name not in kept])
        if shelf and asked:
            shelf.put(region, asked.values())
        return {(region, name): item for name, item in {**kept, **asked}.items()}

    return list(_types.get(((region, name) for name in names), fetch).values())


def _described_types(region: str, names: Sequence[str]) -> dict[str, Item]:
    return {
        one["InstanceType"]: one
        for batch in groups.batches(names, _FILTER_VALUES)
        for page in clients.pages(
            "ec2", region, "describe_instance_types", Filters=[{"Name": "instance-type", "Values": list(batch)}]
        )
        for one in page["InstanceTypes"]
    }


def images(region: str, items: Iterable[Item], versions: Iterable[Item], configurations: Iterable[Item]) -> list[Item]:
    """Images that the groups name by id and that are ours to see. Raises AwsForbidden or AwsUnavailable."""
    named = [*_overrides(items), *(version["LaunchTemplateData"] for version in versions), *configurations]
    ids = sorted({name for one in named if (name := one.get("ImageId", "")).startswith("ami-")})

    def fetch(keys: list[tuple[str, str]]) -> dict[tuple[str, str], Item | None]:
        found = {
            (region, one["ImageId"]): one
            for batch in groups.batches([name for _, name in keys], _FILTER_VALUES)
            for page in clients.pages("ec2", region, "describe_images", Filters=[{"Name": "image-id", "Values": list(batch)}])
            for one in page["Images"]
        }
        return {key: found.get(key) for key in keys}

    return [image for image in _images.get(((region, name) for name in ids), fetch).values() if image]


def nodegroups(region: str, items: Iterable[Item], moving: Collection[str] = ()) -> list[Item] | Partial:
    """describe-nodegroup answers of the groups that EKS manages, without those that are gone. Raises AwsForbidden.

    Of `moving` groups, by name, they are those of now: an update may have begun or ended. Missing ones are named
    `cluster/name`.
    """
    named = {item["AutoScalingGroupName"]: named_by(groups.tags(item)) for item in items}
    wanted = {(region, *mine): group for group, mine in named.items() if mine}
    anew = {key for key, group in wanted.items() if group in moving}
    failed: dict[_Nodegroup, AwsError] = {}
    found = _nodegroups.get(wanted, lambda keys: _describe_nodegroups(keys, failed), anew)
    answers: list[Item] = [{"nodegroup": answer["nodegroup"]} for answer in found.values() if answer is not None]
    missing = {f"{key[1]}/{key[2]}": error for key, error in failed.items() if key not in found}
    return Partial(answers, missing) if missing else answers


def _describe_nodegroups(keys: list[_Nodegroup], failed: dict[_Nodegroup, AwsError]) -> dict[_Nodegroup, Item | None]:
    """One call for each: EKS has no other. One that fails is only its own loss. Raises AwsForbidden: that concerns all."""
    answers: dict[_Nodegroup, Item | None] = {}

    def ask(key: _Nodegroup) -> None:
        region, cluster, name = key
        try:
            answers[key] = clients.ask("eks", region, "describe_nodegroup", clusterName=cluster, nodegroupName=name)
        except AwsUnavailable as error:
            if clients.is_refused_as(error, "ResourceNotFoundException"):
                answers[key] = None
            else:
                failed[key] = error

    parallel.each(ask, keys)
    return answers
