"""Versions of launch templates, in as few calls as they take.

DescribeLaunchTemplateVersions answers for one template, or, without a template, the latest or the default versions of all
templates of the region, two hundred a page. Many templates are looked for in that listing first, and by themselves where
they are not in it.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from itertools import islice
from typing import Any

from spillway.aws import clients, parallel
from spillway.aws.memo import Memo
from spillway.errors import AwsUnavailable
from spillway.telemetry import logger

LATEST, DEFAULT = "$Latest", "$Default"
PAGE = 200
ONE_BY_ONE = parallel.AT_ONCE

Item = Mapping[str, Any]
Key = tuple[str, str, str]  # region, id or name of the template, version

# A numbered version never changes, and is kept for as long as the process lives; what an alias stands for does.
_numbered: Memo[Key, Item] = Memo(timedelta(days=365))
_moving: Memo[Key, Item] = Memo(timedelta(minutes=5))


def references(items: Iterable[Item]) -> list[Item]:
    """Every LaunchTemplateSpecification that the groups name."""
    found: list[Item] = []
    for item in items:
        policy = item.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {})
        named = [item.get("LaunchTemplate"), policy.get("LaunchTemplateSpecification")]
        named += [override.get("LaunchTemplateSpecification") for override in policy.get("Overrides", ())]
        found += [reference for reference in named if reference]
    return found


def versions(region: str, items: Iterable[Item]) -> list[Item]:
    """The versions that the groups name; a template that is gone is left out. Raises AwsForbidden.

    `DefaultVersion` is true of what was asked for as such alone: of a numbered version it may have been true long ago.
    """
    wanted = [
        (region, one.get("LaunchTemplateId") or one["LaunchTemplateName"], one.get("Version") or DEFAULT)
        for one in references(items)
    ]
    numbered = [key for key in wanted if not key[2].startswith("$")]
    moving = [key for key in wanted if key[2].startswith("$")]
    found = parallel.each(lambda of: of[0].get(of[1], _fetch), [(_numbered, numbered), (_moving, moving)])
    return [{**version, "DefaultVersion": key[2] == DEFAULT} for of in found for key, version in of.items()]


def _fetch(keys: list[Key]) -> dict[Key, Item]:
    """Of one region; raises AwsForbidden."""
    default = [key for key in keys if key[2] == DEFAULT]
    others = [key for key in keys if key[2] != DEFAULT]  # a number is mostly the latest one's
    found: dict[Key, Item] = {}
    for alias, mine in ((DEFAULT, default), (LATEST, others)):
        if len(mine) > ONE_BY_ONE:
            found |= _listed(alias, mine)
    missing = [key for key in keys if key not in found]
    asked = parallel.each(_one, missing)
    return found | {key: version for key, version in zip(missing, asked, strict=True) if version is not None}


def _listed(alias: str, keys: list[Key]) -> dict[Key, Item]:
    """Those that the listing of an alias shows; raises AwsForbidden.

    It ends where it has taken as long as asking for each would have: an account may have thousands of other templates.
    """
    region, wanted = keys[0][0], set(keys)
    found: dict[Key, Item] = {}
    answers = clients.pages("ec2", region, "describe_launch_template_versions", Versions=[alias], MaxResults=PAGE)
    try:
        for page in islice(answers, max(1, len(keys) // parallel.AT_ONCE)):
            for version in page["LaunchTemplateVersions"]:
                names = version["LaunchTemplateId"], version["LaunchTemplateName"]
                told = {(region, name, number) for name in names for number in (alias, str(version["VersionNumber"]))}
                found |= dict.fromkeys(told & wanted, version)
            if len(found) == len(wanted):
                break
    except AwsUnavailable as error:
        logger.warning(f"launch templates in {region} are asked for one by one: {error}")
    return found


def _one(key: Key) -> Item | None:
    """None where it is gone: that is only its own loss. Raises AwsForbidden: that concerns all."""
    region, template, version = key
    which = "LaunchTemplateId" if template.startswith("lt-") else "LaunchTemplateName"
    request = {which: template, "Versions": [version]}
    try:
        found: list[Item] = clients.ask("ec2", region, "describe_launch_template_versions", **request)["LaunchTemplateVersions"]
    except AwsUnavailable as error:
        logger.warning(f"launch template {template} version {version} in {region} is left out: {error}")
        return None
    return next(iter(found), None)
