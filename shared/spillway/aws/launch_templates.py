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
from spillway.aws.partial import Partial
from spillway.errors import AwsError, AwsUnavailable
from spillway.telemetry import logger

LATEST, DEFAULT = "$Latest", "$Default"
PAGE = 200
ONE_BY_ONE = parallel.AT_ONCE

# Source: EC2 API reference, "Error codes for the Amazon EC2 API"
_GONE = (
    "InvalidLaunchTemplateId.NotFound",
    "InvalidLaunchTemplateName.NotFoundException",
    "InvalidLaunchTemplateId.VersionNotFound",
)

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
        found += [one for one in named if one and (one.get("LaunchTemplateId") or one.get("LaunchTemplateName"))]
    return found


def versions(region: str, items: Iterable[Item]) -> list[Item] | Partial:
    """The versions that the groups name, without those that are gone. Missing ones are named `template:version`, as the
    groups name them. Raises AwsForbidden.

    `DefaultVersion`, and `LatestVersion`, which AWS does not have, are true of what was asked for as such alone: of a
    numbered version it may have been true long ago, and the largest number that is known need not be the latest.
    """
    wanted = [
        (region, one.get("LaunchTemplateId") or one["LaunchTemplateName"], one.get("Version") or DEFAULT)
        for one in references(items)
    ]
    numbered = [key for key in wanted if not key[2].startswith("$")]
    moving = [key for key in wanted if key[2].startswith("$")]
    failed: dict[Key, AwsError] = {}
    gone: set[Key] = set()
    asked = parallel.each(
        lambda of: of[0].get(of[1], lambda keys: _fetch(keys, failed, gone)), [(_numbered, numbered), (_moving, moving)]
    )
    _moving.forget(gone)
    known = {key: version for of in asked for key, version in of.items() if key not in gone}
    found: list[Item] = [
        {**version, "DefaultVersion": key[2] == DEFAULT, "LatestVersion": key[2] == LATEST} for key, version in known.items()
    ]
    missing = {f"{key[1]}:{key[2]}": error for key, error in failed.items() if key not in known}
    return Partial(found, missing) if missing else found


def _fetch(keys: list[Key], failed: dict[Key, AwsError], gone: set[Key]) -> dict[Key, Item]:
    """Of one region; those that AWS did not tell of go into `failed`, those that it does not have into `gone`.

    Raises AwsForbidden.
    """
    default = [key for key in keys if key[2] == DEFAULT]
    others = [key for key in keys if key[2] != DEFAULT]  # a number is mostly the latest one's
    found: dict[Key, Item] = {}
    for alias, mine in ((DEFAULT, default), (LATEST, others)):
        if len(mine) > ONE_BY_ONE:
            found |= _listed(alias, mine)
    missing = [key for key in keys if key not in found]
    asked = parallel.each(lambda key: _one(key, failed), missing)
    gone |= {key for key, version in zip(missing, asked, strict=True) if version is None and key not in failed}
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


def _one(key: Key, failed: dict[Key, AwsError]) -> Item | None:
    """None where it is gone or `failed`: that is only its own loss. Raises AwsForbidden: that concerns all."""
    region, template, version = key
    which = "LaunchTemplateId" if template.startswith("lt-") else "LaunchTemplateName"
    request = {which: template, "Versions": [version]}
    try:
        found: list[Item] = clients.ask("ec2", region, "describe_launch_template_versions", **request)["LaunchTemplateVersions"]
    except AwsUnavailable as error:
        if not clients.is_refused_as(error, *_GONE):
            failed[key] = error
        return None
    return next(iter(found), None)
