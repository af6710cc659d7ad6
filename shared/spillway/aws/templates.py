"""The node that a group would launch next, as far as it is sure: the least of every type the group may choose.

Sources, weakest first: EC2's figures of the types, user data, the policy, the EKS node group, tags of the Auto Scaling
group. What its nodes have shown beats all but the tags, and is the planner's (`planner/learned.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from spillway.aws import allocatable, images, kubelet, shapes, traits, types, user_data
from spillway.aws import labels as sources
from spillway.aws.kubelet import MIB, Settings
from spillway.aws.launch import Definitions, Launch, Option, Question, Unreadable
from spillway.aws.nodegroups import Nodegroups
from spillway.aws.prices import Prices
from spillway.aws.shapes import Group, InstanceType, LaunchData, Requirements
from spillway.aws.traits import Traits
from spillway.model import quantity
from spillway.model.base import Resources
from spillway.model.fleet import Choice, NodeTemplate
from spillway.model.group_state import ManagedNodeGroup
from spillway.model.policy import ImageFamily, KubeletPolicy, Policy

Key = tuple[str, str, str, str]
"""Of an option."""

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
    place, tagged = sources.of_place(catalogue.region, group.availability_zones), sources.of_tags(tags)
    nodes = {
        option.key: Traits(
            {**place, **_of_machine(option, maker, nodegroup, catalogue), **maker.node.settings.labels, **eks_labels, **tagged},
            sources.by_key(maker.node.settings.taints) | eks_taints | tainted,
        )
        for option, maker in ((option, makers[_key(option)]) for option in launch.options)
    }
    common = traits.shared(list(nodes.values()))
    own_of = {key: one.beside(common) for key, one in nodes.items()}
    template = NodeTemplate(
        instance_types=launch.types,
        allocatable=dict(sorted(quantity.smallest(*(one.allocatable for one in choices.values()), *least).items())),
        labels=common.variant.labels,
        taints=common.variant.taints,
        price_usd_h=catalogue.prices.of(launch, group.availability_zones),
        choices=tuple(msgspec.structs.replace(choice, own=own_of[key]) for key, choice in choices.items()),
        fingerprint=launch.fingerprint,
        stated=tuple(sorted(own)),
        others=tuple(one for key, one in own_of.items() if key not in choices),
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
) -> tuple[dict[Key, Choice], list[Resources]]:
    """Each type of the launch by its option's key, and what attributes without types are sure of. Raises Unreadable.

    Nothing but the tags' own figures where they name all that matters and a type is unknown.
    """
    unknown = [name for name in launch.types if name not in catalogue.types]
    if unknown and own.keys() >= _ENOUGH:
        return {}, [own]
    if unknown:
        why = catalogue.types_problem or "DescribeInstanceTypes does not know it here"
        raise Unreadable(
            f"instance type {', '.join(unknown)}: {why}; "
            "tags node-template/resources/cpu, memory and pods of the group would do instead"
        )
    choices, least = dict[Key, Choice](), list[Resources]()
    for option in launch.options:
        node = makers[_key(option)].node
        if option.question is None:
            choices[option.key] = _choice(option, catalogue.types[option.instance_type], node, own, launch.unit)
            continue
        sure = allocatable.of_requirements(_minimums(option.question), node)
        if not (sure["cpu"] and sure["memory"]) and not own.keys() >= _ENOUGH:
            raise Unreadable(
                "the group's instance requirements are sure of no CPU or no memory; raise VCpuCount.Min and MemoryMiB.Min, "
                "or add tags node-template/resources/cpu, memory and pods"
            )
        least.append({**sure, **own})
    return choices, least


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


def _of_machine(option: Option, maker: _Maker, nodegroup: ManagedNodeGroup | None, catalogue: Catalogue) -> dict[str, str]:
    """Of a type that EC2 did not tell of, and of attributes without types, its image says the architecture."""
    image, kind = maker.node.image, catalogue.types.get(option.instance_type)
    of_image = types.ARCHITECTURES.get(image.architecture, "") if image else ""
    system = "windows" if images.is_windows(image, nodegroup) else "linux"
    return sources.of_machine(option.instance_type, types.architecture(kind) if kind else of_image, system)


def _key(option: Option) -> tuple[str, str]:
    return option.definition, option.data.image_id
