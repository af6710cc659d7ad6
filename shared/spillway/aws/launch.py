"""What a group launches: instance types and market, whichever of AWS's four ways the group says it in."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from spillway.aws import weights
from spillway.aws.shapes import (
    Group,
    Image,
    LaunchConfiguration,
    LaunchData,
    LaunchTemplateVersion,
    MarketOptions,
    Member,
    MixedPolicy,
    Override,
    TemplateReference,
)
from spillway.aws.weights import INSTANCES
from spillway.errors import AwsError
from spillway.model.fleet import CapacityType


class Unreadable(ValueError):
    """Why a group has no template: one sentence for people."""


_ONE = ("", "1")  # weights


@dataclass(frozen=True)
class Question:
    """Which types have these attributes: `GetInstanceTypesFromInstanceRequirements`, in its own words."""

    requirements: Mapping[str, Any]
    architectures: tuple[str, ...]

    @property
    def key(self) -> str:
        return msgspec.json.encode([self.requirements, sorted(self.architectures)], order="deterministic").decode()


@dataclass(frozen=True)
class Option:
    """One thing that the group may launch, in Choice's terms: a type, or attributes whose types nobody told (`question`)."""

    instance_type: str
    data: LaunchData
    definition: str
    weight: int = 1
    question: Question | None = None

    @property
    def key(self) -> tuple[str, str, str, str]:
        """An override that repeats another adds nothing."""
        return self.instance_type, self.definition, self.data.image_id, self.question.key if self.question else ""


@dataclass(frozen=True)
class Launch:
    """`options` in the group's order of preference. `data` is the definition that the others add to.

    `on_demand_share` is the part of further instances that is on-demand. `unit` is what desired counts, `problem` why nobody
    knows how many nodes that is, "" where it is known.
    """

    options: tuple[Option, ...]
    data: LaunchData = field(default_factory=LaunchData)
    capacity_type: CapacityType = CapacityType.ON_DEMAND
    on_demand_share: float = 1.0
    takes_cheapest: bool = False
    unit: str = INSTANCES
    problem: str = ""

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(option.instance_type for option in self.options if option.instance_type))

    @property
    def questions(self) -> tuple[Question, ...]:
        """Attributes whose types nobody told."""
        return tuple(option.question for option in self.options if option.question)

    @property
    def fingerprint(self) -> str:
        """Definitions and images: two launches with the same one bring the same nodes of a type."""
        return ",".join(sorted({f"{option.definition} {option.data.image_id}".strip() for option in self.options}))


@dataclass(frozen=True)
class Definitions:
    """What a region's groups launch by. `images` by id or alias; `types_of` are answers by the key of their question.

    The problems say why a kind could not be read, "" if it was; `versions_missing` says it of single ones, by
    `lt-0abc:$Latest` or, of a template that groups name by its name, `nodes:$Latest`.
    """

    versions: tuple[LaunchTemplateVersion, ...] = ()
    configurations: Mapping[str, LaunchConfiguration] = field(default_factory=dict)
    images: Mapping[str, Image] = field(default_factory=dict)
    types_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    versions_problem: str = ""
    versions_missing: Mapping[str, AwsError] = field(default_factory=dict)
    configurations_problem: str = ""

    def version(self, reference: TemplateReference) -> LaunchTemplateVersion:
        """Raises Unreadable when it was not answered."""
        mine = [version for version in self.versions if _is(version, reference)]
        wanted = reference.version or "$Default"
        if wanted == "$Latest":
            told = [version for version in mine if version.latest_version is not None]
            marked = [version for version in told if version.latest_version] if told else mine
            found = max(marked, key=lambda version: version.version_number, default=None)
        elif wanted == "$Default":
            found = next((version for version in mine if version.default_version), None)
        else:
            found = next((version for version in mine if str(version.version_number) == wanted), None)
        if found is None:
            name = reference.launch_template_name or reference.launch_template_id
            missing = self.versions_missing.get(f"{reference.launch_template_id or name}:{wanted}")
            why = missing or self.versions_problem or "DescribeLaunchTemplateVersions does not list it"
            raise Unreadable(f"launch template {name} version {wanted} cannot be read: {why}")
        return found

    def configuration(self, name: str) -> LaunchData:
        """A launch configuration as if it were a template; raises Unreadable when it was not answered."""
        found = self.configurations.get(name)
        if found is None:
            why = self.configurations_problem or "DescribeLaunchConfigurations does not list it"
            raise Unreadable(f"launch configuration {name} cannot be read: {why}")
        return LaunchData(
            image_id=found.image_id,
            user_data=found.user_data,
            instance_type=found.instance_type,
            instance_market_options=MarketOptions(market_type="spot" if found.spot_price else ""),
            block_device_mappings=found.block_device_mappings,
        )


def of_group(group: Group, definitions: Definitions) -> Launch:
    """Raises Unreadable."""
    if group.mixed_instances_policy:
        launch = _mixed(group.mixed_instances_policy, definitions)
    elif group.launch_template:
        version = definitions.version(group.launch_template)
        launch = _single(version.launch_template_data, _name(version), definitions)
    elif group.launch_configuration_name:
        name = group.launch_configuration_name
        launch = _single(definitions.configuration(name), name, definitions)
    else:
        raise Unreadable("the group names neither a launch template nor a launch configuration")
    launch = replace(launch, unit=group.desired_capacity_type)
    if group.desired_capacity_type not in weights.UNITS:
        counts = f"its desired capacity counts {group.desired_capacity_type!r}, of which nobody knows how many a node is"
        launch = replace(launch, problem=counts)
    if is_weighted(group) and launch.questions:
        problem = (
            "the group counts in weighted units, and nobody told which types have its attributes: what a node weighs is unknown"
        )
        launch = replace(launch, problem=problem)
    return replace(launch, capacity_type=CapacityType.RESERVED) if _is_reserved(group, launch.data) else launch


def definition_of(member: Member) -> str:
    """What launched an instance, as an option names its definition; "" where Auto Scaling does not say."""
    if member.launch_template:
        return f"{member.launch_template.launch_template_id}:{member.launch_template.version}"
    return member.launch_configuration_name


def is_weighted(group: Group) -> bool:
    """Whether desired, min and max count something else than instances, whatever else of the group can be read."""
    policy = group.mixed_instances_policy
    overrides = policy.launch_template.overrides if policy else ()
    return group.desired_capacity_type != INSTANCES or any(one.weighted_capacity not in _ONE for one in overrides)


def market(group: Group) -> CapacityType:
    """The capacity type as far as the group alone tells, for when its template cannot be read."""
    policy = group.mixed_instances_policy
    return CapacityType.SPOT if policy and policy.instances_distribution.is_spot else CapacityType.ON_DEMAND


def _is_reserved(group: Group, template: LaunchData) -> bool:
    """Whether a launch can succeed in a capacity reservation only.

    A template's target by id is refused when it is full; one by resource group falls back to on-demand, and so does a
    preference for open ones. Source: EC2 User Guide, "Launch instances into Capacity Reservations in a group"; Auto Scaling
    API, CapacityReservationSpecification.
    """
    own = group.capacity_reservation_specification.capacity_reservation_preference
    if own not in _LEFT_TO_THE_TEMPLATE:
        return own == _ONLY
    said = template.capacity_reservation_specification
    return (
        said.capacity_reservation_preference == _ONLY
        or bool(said.capacity_reservation_target.ids)
        or template.instance_market_options.market_type == _BLOCK
    )


_ONLY = "capacity-reservations-only"
_LEFT_TO_THE_TEMPLATE = frozenset({"", "default"})
_BLOCK = "capacity-block"
_ARCHITECTURES = ("arm64", "x86_64")  # of an image that nobody told of


def _is(version: LaunchTemplateVersion, reference: TemplateReference) -> bool:
    if reference.launch_template_id:
        return version.launch_template_id == reference.launch_template_id
    return version.launch_template_name == reference.launch_template_name


def _name(version: LaunchTemplateVersion) -> str:
    return f"{version.launch_template_id}:{version.version_number}"


def _single(data: LaunchData, definition: str, definitions: Definitions) -> Launch:
    is_spot = data.instance_market_options.market_type == "spot"
    return Launch(
        options=_options(Override(), data, definition, definitions),
        data=data,
        capacity_type=CapacityType.SPOT if is_spot else CapacityType.ON_DEMAND,
        on_demand_share=0.0 if is_spot else 1.0,
    )


def _mixed(policy: MixedPolicy, definitions: Definitions) -> Launch:
    overrides, distribution = policy.launch_template.overrides, policy.instances_distribution
    base = definitions.version(policy.launch_template.launch_template_specification)
    options: list[Option] = []
    for override in overrides or (Override(),):
        version = definitions.version(own) if (own := override.launch_template_specification) else base
        data = version.launch_template_data
        if override.image_id:
            data = msgspec.structs.replace(data, image_id=override.image_id)
        options += _options(override, data, _name(version), definitions)
    return Launch(
        options=tuple({option.key: option for option in reversed(options)}.values())[::-1],
        data=base.launch_template_data,
        capacity_type=CapacityType.SPOT if distribution.is_spot else CapacityType.ON_DEMAND,
        on_demand_share=distribution.on_demand_percentage_above_base_capacity / 100,
        takes_cheapest=distribution.on_demand_allocation_strategy == "lowest-price",
    )


def _options(override: Override, data: LaunchData, definition: str, definitions: Definitions) -> tuple[Option, ...]:
    """A type, or the types that have the attributes; of the override, else of the template. Raises Unreadable."""
    weight = _weight(override.weighted_capacity)
    if override.instance_type or (data.instance_type and not override.instance_requirements):
        return (Option(override.instance_type or data.instance_type, data, definition, weight),)
    requirements = override.instance_requirements or data.instance_requirements
    if not requirements:
        raise Unreadable("the launch template names neither an instance type nor instance requirements")
    image = definitions.images.get(data.image_id)
    question = Question(requirements, (image.architecture,) if image and image.architecture else _ARCHITECTURES)
    names = definitions.types_of.get(question.key)
    if names is None:
        return (Option("", data, definition, weight, question),)
    if not names:
        raise Unreadable("no instance type has the attributes that the group asks for")
    return tuple(Option(name, data, definition, weight) for name in names)


def _weight(text: str) -> int:
    """AWS takes 1 to 999. Raises Unreadable."""
    if text and not (text.isascii() and text.isdigit() and int(text[:9]) > 0):
        raise Unreadable(f"WeightedCapacity {text[:20]!r} is no number of units")
    return int(text[:9] or "1")
