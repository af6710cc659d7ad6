"""The node that a group would launch next, as far as it is sure: the least of every type the group may choose.

Sources, weakest first: EC2's figures of the types, user data, the policy, the EKS node group, tags of the Auto Scaling
group. What its nodes have shown beats all but the tags, and is the planner's (`planner/learned.py`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from spillway.aws import allocatable, images, kubelet, shapes, types, user_data
from spillway.aws import labels as sources
from spillway.aws.kubelet import MIB, Settings
from spillway.aws.launch import Definitions, Launch, Option, Question, Unreadable
from spillway.aws.nodegroups import Nodegroups
from spillway.aws.prices import Prices
from spillway.aws.shapes import Group, InstanceType, LaunchData, Requirements
from spillway.model import quantity
from spillway.model.base import Resources
from spillway.model.fleet import Choice, NodeTemplate
from spillway.model.group_state import ManagedNodeGroup
from spillway.model.policy import ImageFamily, KubeletPolicy, Policy

T = TypeVar("T")

_ENOUGH = {"cpu", "memory", "pods"}  # tags that name these make EC2's figures unnecessary


@dataclass(frozen=True)
class Catalogue:
    """What a region answered about launching, indexed."""

    region: str
    definitions: Definitions
    prices: Prices
    types: Mapping[str, InstanceType] = field(default_factory=dict)
    nodegroups: Nodegroups = field(default_factory=Nodegroups)
    types_problem: str = ""
    policy: Policy = field(default_factory=Policy)


def of_launch(launch: Launch, group: Group, tags: Mapping[str, str], catalogue: Catalogue) -> tuple[NodeTemplate, list[str]]:
    """The template of a group and a sentence for each thing that cannot be read. Raises Unreadable."""
    own, problems = sources.resources_of_tags(tags)
    tainted, more = sources.taints_of_tags(tags)
    nodegroup, _ = catalogue.nodegroups.of(group.auto_scaling_group_name, tags)
    kubelets = catalogue.policy.for_group(group.auto_scaling_group_name).kubelet
    makers = _makers(launch, nodegroup, catalogue, kubelets)
    problems += [problem for maker in makers.values() if (problem := maker.problem)]
    choices, least = _choices(launch, own, makers, catalogue)
    eks_labels, eks_taints = (nodegroup.labels, sources.by_key(nodegroup.taints)) if nodegroup else ({}, {})
    taints = sources.by_key(_shared([maker.node.settings.taints for maker in makers.values()])) | eks_taints | tainted
    shared = dict(_shared([tuple(maker.node.settings.labels.items()) for maker in makers.values()]))
    sure = _well_known(launch, group.availability_zones, makers, nodegroup, catalogue)
    template = NodeTemplate(
        instance_types=launch.types,
        allocatable=dict(sorted(quantity.smallest(*(one.allocatable for one in choices), *least).items())),
        labels=dict(sorted({**sure, **shared, **eks_labels, **sources.of_tags(tags)}.items())),
        taints=tuple(taints[key] for key in sorted(taints)),
        price_usd_h=catalogue.prices.of(launch, group.availability_zones),
        choices=choices,
        fingerprint=launch.fingerprint,
        stated=tuple(sorted(own)),
    )
    return template, list(dict.fromkeys(problems + more))


@dataclass(frozen=True)
class _Maker:
    """How one definition makes nodes; `problem` is what of it could not be read."""

    node: allocatable.Node
    problem: str = ""


def _makers(
    launch: Launch, nodegroup: ManagedNodeGroup | None, catalogue: Catalogue, policy: KubeletPolicy
) -> dict[tuple[str, str], _Maker]:
    """By definition and image of the launch's options."""
    found: dict[tuple[str, str], _Maker] = {}
    for option in launch.options:
        key = _key(option)
        if key not in found:
            found[key] = _maker(option.data, option.definition, nodegroup, catalogue, policy)
    return found


def _maker(
    data: LaunchData, definition: str, nodegroup: ManagedNodeGroup | None, catalogue: Catalogue, policy: KubeletPolicy
) -> _Maker:
    said, problem = Settings(), ""
    try:
        said = user_data.read(data.user_data) if data.user_data else said
    except user_data.Unreadable as error:
        problem = f"user data of {definition} is passed over: {error}"
    image = catalogue.definitions.images.get(data.image_id)
    names = (data.image_id, *((image.name, image.public_ssm_parameter_name) if image else ()))
    told = images.family_of_nodegroup(nodegroup)
    family = told or said.family or images.family_of_names(names) or ImageFamily.AL2023
    settings = kubelet.of_policy(policy).over(Settings(family=told)).over(said).over(Settings(family=family))
    return _Maker(allocatable.Node(data, settings, image, managed=told is not None), problem)


def _choices(
    launch: Launch, own: Resources, makers: Mapping[tuple[str, str], _Maker], catalogue: Catalogue
) -> tuple[tuple[Choice, ...], list[Resources]]:
    """Each type of the launch, and what attributes without types are sure of. Raises Unreadable.

    Nothing but the tags' own figures where they name all that matters and a type is unknown.
    """
    unknown = [name for name in launch.types if name not in catalogue.types]
    if unknown and own.keys() >= _ENOUGH:
        return (), [own]
    if unknown:
        why = catalogue.types_problem or "DescribeInstanceTypes does not know it here"
        raise Unreadable(
            f"instance type {', '.join(unknown)}: {why}; "
            "tags node-template/resources/cpu, memory and pods of the group would do instead"
        )
    choices, least = list[Choice](), list[Resources]()
    for option in launch.options:
        node = makers[_key(option)].node
        if option.question is None:
            choices.append(_choice(option, catalogue.types[option.instance_type], node, own, launch.unit))
            continue
        sure = allocatable.of_requirements(_minimums(option.question), node)
        if not (sure["cpu"] and sure["memory"]) and not own.keys() >= _ENOUGH:
            raise Unreadable(
                "the group's instance requirements are sure of no CPU or no memory; raise VCpuCount.Min and MemoryMiB.Min, "
                "or add tags node-template/resources/cpu, memory and pods"
            )
        least.append({**sure, **own})
    return tuple(choices), least


def _minimums(question: Question) -> Requirements:
    try:
        return shapes.read(question.requirements, Requirements)
    except msgspec.ValidationError as error:
        raise Unreadable(f"the group's instance requirements are not as AWS documents them: {error}") from error


_WEIGHTS = {"vcpu": lambda kind: kind.v_cpu_info.default_v_cpus, "memory-mib": lambda kind: kind.memory_info.size_in_mib}


def _choice(option: Option, kind: InstanceType, node: allocatable.Node, own: Resources, unit: str) -> Choice:
    return Choice(
        instance_type=option.instance_type,
        allocatable=dict(sorted({**allocatable.of_type(kind, node), **own}.items())),
        weight=_WEIGHTS[unit](kind) if unit in _WEIGHTS else option.weight,
        definition=option.definition,
        memory_bytes=kind.memory_info.size_in_mib * MIB,
        overhead_bytes=allocatable.overhead(kind),
    )


def _well_known(
    launch: Launch,
    zones: tuple[str, ...],
    makers: Mapping[tuple[str, str], _Maker],
    nodegroup: ManagedNodeGroup | None,
    catalogue: Catalogue,
) -> dict[str, str]:
    kinds = [catalogue.types[name] for name in launch.types if name in catalogue.types]
    is_whole = len(kinds) == len(launch.types) and not launch.questions
    told = {maker.node.image.architecture if maker.node.image else "" for maker in makers.values()}
    return sources.well_known(
        catalogue.region,
        zones,
        launch.types if not launch.questions else (),
        {types.architecture(kind) for kind in kinds} if is_whole else {types.ARCHITECTURES.get(name, "") for name in told},
        {"windows" if images.is_windows(maker.node.image, nodegroup) else "linux" for maker in makers.values()},
    )


def _key(option: Option) -> tuple[str, str]:
    return option.definition, option.data.image_id


def _shared(each: Iterable[Iterable[T]]) -> list[T]:
    """What all have, in the order of the first."""
    first, *others = [list(one) for one in each]
    return [item for item in first if all(item in other for other in others)]
