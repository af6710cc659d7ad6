"""What a group launches: instance types and market, whichever of AWS's four ways the group says it in."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from spillway.aws.shapes import (
    Group,
    LaunchConfiguration,
    LaunchData,
    LaunchTemplateVersion,
    MarketOptions,
    MixedPolicy,
    Override,
    Requirements,
    TemplateReference,
)
from spillway.model.fleet import CapacityType


class Unreadable(ValueError):
    """Why a group has no template: one sentence for people."""


@dataclass(frozen=True)
class Launch:
    """`types` in the group's order of preference, `least` in place of types where the group names attributes only.

    `on_demand_share` is the part of further instances that is on-demand.
    """

    types: tuple[str, ...]
    least: tuple[Requirements, ...] = ()
    data: LaunchData = field(default_factory=LaunchData)
    capacity_type: CapacityType = CapacityType.ON_DEMAND
    on_demand_share: float = 1.0
    takes_cheapest: bool = False


@dataclass(frozen=True)
class Definitions:
    """Launch templates and launch configurations of a region. The problems say why a kind could not be read, "" if it was."""

    versions: tuple[LaunchTemplateVersion, ...] = ()
    configurations: Mapping[str, LaunchConfiguration] = field(default_factory=dict)
    versions_problem: str = ""
    configurations_problem: str = ""

    def data(self, reference: TemplateReference) -> LaunchData:
        """The template's content; raises Unreadable when it was not answered."""
        mine = [version for version in self.versions if _is(version, reference)]
        wanted = reference.version or "$Default"
        if wanted == "$Latest":
            found = max(mine, key=lambda version: version.version_number, default=None)
        elif wanted == "$Default":
            found = next((version for version in mine if version.default_version), None)
        else:
            found = next((version for version in mine if str(version.version_number) == wanted), None)
        if found is None:
            name = reference.launch_template_name or reference.launch_template_id
            why = self.versions_problem or "DescribeLaunchTemplateVersions does not list it"
            raise Unreadable(f"launch template {name} version {wanted} cannot be read: {why}")
        return found.launch_template_data

    def configuration(self, name: str) -> LaunchData:
        """A launch configuration as if it were a template; raises Unreadable when it was not answered."""
        found = self.configurations.get(name)
        if found is None:
            why = self.configurations_problem or "DescribeLaunchConfigurations does not list it"
            raise Unreadable(f"launch configuration {name} cannot be read: {why}")
        return LaunchData(
            instance_type=found.instance_type,
            instance_market_options=MarketOptions(market_type="spot" if found.spot_price else ""),
            block_device_mappings=found.block_device_mappings,
        )


def of_group(group: Group, definitions: Definitions) -> Launch:
    """Raises Unreadable."""
    if group.mixed_instances_policy:
        launch = _mixed(group.mixed_instances_policy, definitions)
    elif group.launch_template:
        launch = _single(definitions.data(group.launch_template))
    elif group.launch_configuration_name:
        launch = _single(definitions.configuration(group.launch_configuration_name))
    else:
        raise Unreadable("the group names neither a launch template nor a launch configuration")
    if group.desired_capacity_type != "units":
        raise Unreadable(
            f"the group counts in {group.desired_capacity_type}, not in instances: set DesiredCapacityType to units"
        )
    return replace(launch, capacity_type=CapacityType.RESERVED) if _is_reserved(group, launch.data) else launch


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


def _is(version: LaunchTemplateVersion, reference: TemplateReference) -> bool:
    if reference.launch_template_id:
        return version.launch_template_id == reference.launch_template_id
    return version.launch_template_name == reference.launch_template_name


def _single(data: LaunchData) -> Launch:
    is_spot = data.instance_market_options.market_type == "spot"
    capacity_type = CapacityType.SPOT if is_spot else CapacityType.ON_DEMAND
    share = 0.0 if capacity_type is CapacityType.SPOT else 1.0
    if data.instance_type:
        return Launch(types=(data.instance_type,), data=data, capacity_type=capacity_type, on_demand_share=share)
    if data.instance_requirements:
        least = (data.instance_requirements,)
        return Launch(types=(), least=least, data=data, capacity_type=capacity_type, on_demand_share=share)
    raise Unreadable("the launch template names neither an instance type nor instance requirements")


def _mixed(policy: MixedPolicy, definitions: Definitions) -> Launch:
    overrides, distribution = policy.launch_template.overrides, policy.instances_distribution
    weights = sorted({override.weighted_capacity for override in overrides if override.weighted_capacity not in ("", "1")})
    if weights:
        raise Unreadable(
            f"the group counts in weighted units (WeightedCapacity {', '.join(weights)}), not in instances: "
            "take the weights out of its overrides"
        )
    types, least = _choices(overrides, policy, definitions)
    return Launch(
        types=types,
        least=least,
        data=_base(policy, definitions, needed=not overrides),
        capacity_type=CapacityType.SPOT if distribution.is_spot else CapacityType.ON_DEMAND,
        on_demand_share=distribution.on_demand_percentage_above_base_capacity / 100,
        takes_cheapest=distribution.on_demand_allocation_strategy == "lowest-price",
    )


def _choices(
    overrides: Iterable[Override], policy: MixedPolicy, definitions: Definitions
) -> tuple[tuple[str, ...], tuple[Requirements, ...]]:
    """Types and requirements of the overrides; those of the policy's own template where there are none."""
    types: list[str] = []
    least: list[Requirements] = []
    for override in overrides or (Override(),):
        if override.instance_type:
            types.append(override.instance_type)
        elif override.instance_requirements:
            least.append(override.instance_requirements)
        else:
            own = override.launch_template_specification or policy.launch_template.launch_template_specification
            single = _single(definitions.data(own))
            types += single.types
            least += single.least
    return tuple(dict.fromkeys(types)), tuple(least)


def _base(policy: MixedPolicy, definitions: Definitions, needed: bool) -> LaunchData:
    """The policy's template, which adds only disks and CPU options when all overrides name their types."""
    try:
        return definitions.data(policy.launch_template.launch_template_specification)
    except Unreadable:
        if needed:
            raise
        return LaunchData()
