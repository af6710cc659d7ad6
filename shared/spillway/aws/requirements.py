"""Attribute-based selection: which types have the attributes that a group names in their place."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from spillway.aws import clients, launch, parallel, shapes
from spillway.aws.memo import Memo

KEY = "InstanceTypesFromInstanceRequirements"
"""Of the answers: AWS's own are bare lists of names, so each stands beside its question (`shapes.RequirementsAnswer`)."""

Item = Mapping[str, Any]

_met: Memo[tuple[str, str], Item] = Memo(timedelta(hours=6))  # new types come, seldom


def types_of(answers: Iterable[shapes.RequirementsAnswer]) -> dict[str, tuple[str, ...]]:
    """Names by the key of their question."""
    return {
        launch.Question(one.instance_requirements, one.architecture_types).key: tuple(sorted(one.instance_types))
        for one in answers
    }


def are_named(items: Iterable[Item], versions: Iterable[Item]) -> bool:
    """Whether any group or template names attributes; without them there is nothing to wait for."""
    policies = (item.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {}) for item in items)
    overrides = (override for policy in policies for override in policy.get("Overrides", ()))
    return any("InstanceRequirements" in one for one in (*overrides, *(version["LaunchTemplateData"] for version in versions)))


def questions(items: Iterable[Item], versions: Iterable[Item], images: Iterable[Item]) -> list[launch.Question]:
    """What the groups name attributes for, each once; groups and templates that do not read ask for nothing."""
    definitions = launch.Definitions(
        versions=tuple(shapes.read_all(versions, shapes.LaunchTemplateVersion, "")[0]),
        images={image.image_id: image for image in shapes.read_all(images, shapes.Image, "")[0]},
    )
    found: dict[str, launch.Question] = {}
    for group in shapes.read_all(items, shapes.Group, "")[0]:
        try:
            asked = launch.of_group(group, definitions).questions
        except launch.Unreadable:
            continue
        found |= {question.key: question for question in asked}
    return [found[key] for key in sorted(found)]


def meeting(region: str, asked: Sequence[launch.Question]) -> list[Item]:
    """The answers to the questions. Raises AwsForbidden or AwsUnavailable."""
    by_key = {(region, question.key): question for question in asked}

    def fetch(keys: list[tuple[str, str]]) -> dict[tuple[str, str], Item]:
        return dict(zip(keys, parallel.each(lambda key: _ask(region, by_key[key]), keys), strict=True))

    return list(_met.get(by_key, fetch).values())


def _ask(region: str, question: launch.Question) -> Item:
    request = {
        "InstanceRequirements": msgspec.to_builtins(question.requirements),
        "ArchitectureTypes": list(question.architectures),
        "VirtualizationTypes": ["hvm"],  # images of Kubernetes' nodes are no others
    }
    pages = clients.pages("ec2", region, "get_instance_types_from_instance_requirements", **request)
    names = [item["InstanceType"] for page in pages for item in page["InstanceTypes"]]
    return {**{key: request[key] for key in ("InstanceRequirements", "ArchitectureTypes")}, "InstanceTypes": names}
