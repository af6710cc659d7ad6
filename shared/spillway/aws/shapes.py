"""Answers of AWS, as far as we read them: typed once here, so that a wrong field names itself.

The same structs read botocore's answers (times are datetimes) and the AWS CLI's JSON (times are text).
Names and defaults: botocore's service models autoscaling 2011-01-01, ec2 2016-11-15, eks 2017-11-01.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import msgspec

Amount = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
"""From 0 up and with an end: AWS's JSON may hold NaN and Infinity, which no sum or comparison comes out of."""


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    pass


def utc(time: datetime) -> datetime:
    """AWS's times are UTC, also where whoever wrote them down left that out."""
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


class Timed(Shape, frozen=True):
    """A shape with times, which are all in UTC."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, datetime):
                msgspec.structs.force_setattr(self, name, utc(value))


class TemplateReference(Shape, frozen=True):
    """A launch template by id or name. Auto Scaling launches `$Default` where no version is given."""

    launch_template_id: str = ""
    launch_template_name: str = ""
    version: str = "$Default"


class Least(Shape, frozen=True):
    min: Amount = 0


class Requirements(Shape, frozen=True):
    """The minimums of attributes that stand in place of types; every instance that is launched has at least these."""

    v_cpu_count: Least
    memory_mib: Least = msgspec.field(name="MemoryMiB")


class Override(Shape, frozen=True):
    instance_type: str = ""
    weighted_capacity: str = "1"
    launch_template_specification: TemplateReference | None = None
    instance_requirements: dict[str, Any] | None = None
    image_id: str = ""


class PolicyTemplate(Shape, frozen=True):
    launch_template_specification: TemplateReference
    overrides: tuple[Override, ...] = ()


class Distribution(Shape, frozen=True):
    on_demand_base_capacity: int = 0
    on_demand_percentage_above_base_capacity: int = 100
    on_demand_allocation_strategy: str = "prioritized"

    @property
    def is_spot(self) -> bool:
        """No instance of the group is on-demand."""
        return self.on_demand_base_capacity == 0 and self.on_demand_percentage_above_base_capacity == 0


class MixedPolicy(Shape, frozen=True):
    launch_template: PolicyTemplate
    instances_distribution: Distribution = Distribution()


class Member(Shape, frozen=True):
    instance_id: str
    lifecycle_state: str
    availability_zone: str = ""
    instance_type: str = ""
    health_status: str = "Healthy"
    protected_from_scale_in: bool = False
    launch_template: TemplateReference | None = None
    launch_configuration_name: str = ""
    weighted_capacity: str = ""


class Process(Shape, frozen=True):
    process_name: str


class ReservationTarget(Shape, frozen=True):
    """Of a launch template one id or resource group, of an Auto Scaling group any number of each."""

    capacity_reservation_id: str = ""
    capacity_reservation_resource_group_arn: str = ""
    capacity_reservation_ids: tuple[str, ...] = ()
    capacity_reservation_resource_group_arns: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        own = (self.capacity_reservation_id,) if self.capacity_reservation_id else ()
        return (*own, *self.capacity_reservation_ids)

    @property
    def group_arns(self) -> tuple[str, ...]:
        own = (self.capacity_reservation_resource_group_arn,) if self.capacity_reservation_resource_group_arn else ()
        return (*own, *self.capacity_reservation_resource_group_arns)


class ReservationPreference(Shape, frozen=True):
    capacity_reservation_preference: str = ""
    capacity_reservation_target: ReservationTarget = ReservationTarget()


class Group(Shape, frozen=True):
    auto_scaling_group_name: str
    min_size: int
    max_size: int
    desired_capacity: int
    desired_capacity_type: str = "units"
    availability_zones: tuple[str, ...] = ()
    instances: tuple[Member, ...] = ()
    suspended_processes: tuple[Process, ...] = ()
    launch_configuration_name: str = ""
    launch_template: TemplateReference | None = None
    mixed_instances_policy: MixedPolicy | None = None
    capacity_reservation_specification: ReservationPreference = ReservationPreference()


class Volume(Shape, frozen=True):
    volume_size: int | None = None  # GiB; None takes the size of the image


class BlockDevice(Shape, frozen=True):
    device_name: str = ""
    ebs: Volume | None = None


class LaunchConfiguration(Shape, frozen=True):
    launch_configuration_name: str
    instance_type: str
    image_id: str = ""
    user_data: str = ""
    spot_price: str = ""
    block_device_mappings: tuple[BlockDevice, ...] = ()


class MarketOptions(Shape, frozen=True):
    market_type: str = ""


class CpuOptions(Shape, frozen=True):
    core_count: int | None = None
    threads_per_core: int | None = None


class NetworkInterface(Shape, frozen=True):
    interface_type: str = ""


class LaunchData(Shape, frozen=True):
    """A launch template's content. `image_id` may be an SSM parameter, `resolve:ssm:<name>`; `user_data` is base64."""

    image_id: str = ""
    user_data: str = ""
    network_interfaces: tuple[NetworkInterface, ...] = ()
    instance_type: str = ""
    instance_requirements: dict[str, Any] | None = None
    instance_market_options: MarketOptions = MarketOptions()
    block_device_mappings: tuple[BlockDevice, ...] = ()
    cpu_options: CpuOptions = CpuOptions()
    capacity_reservation_specification: ReservationPreference = ReservationPreference()


class LaunchTemplateVersion(Shape, frozen=True):
    version_number: int
    launch_template_data: LaunchData
    launch_template_id: str = ""
    launch_template_name: str = ""
    default_version: bool = False
    latest_version: bool | None = None  # ours: whether it was asked for as such, None where nobody says


class Image(Shape, frozen=True):
    image_id: str
    name: str = ""
    public_ssm_parameter_name: str = ""
    architecture: str = ""
    platform: str = ""
    root_device_name: str = ""
    block_device_mappings: tuple[BlockDevice, ...] = ()


class RequirementsAnswer(Shape, frozen=True):
    """Which types meet requirements, as a dump keeps it: the question, and the names that EC2 answered."""

    instance_requirements: dict[str, Any]
    architecture_types: tuple[str, ...]
    instance_types: tuple[str, ...]


class VCpuInfo(Shape, frozen=True):
    default_v_cpus: int


class MemoryInfo(Shape, frozen=True):
    size_in_mib: int = msgspec.field(name="SizeInMiB")


class ProcessorInfo(Shape, frozen=True):
    supported_architectures: tuple[str, ...] = ()


class NetworkCard(Shape, frozen=True):
    maximum_network_interfaces: int = 0


class EfaInfo(Shape, frozen=True):
    maximum_efa_interfaces: int = 0


class NetworkInfo(Shape, frozen=True):
    maximum_network_interfaces: int = 0
    ipv4_addresses_per_interface: int = 0
    default_network_card_index: int = 0
    network_cards: tuple[NetworkCard, ...] = ()
    efa_info: EfaInfo = EfaInfo()


class Cores(Shape, frozen=True):
    count: int = 0


class Device(Shape, frozen=True):
    """`logical_gpu_count`: of a type that has a part of a GPU, `count` is 0."""

    count: int = 0
    logical_gpu_count: int = 0
    manufacturer: str = ""
    core_info: Cores = Cores()


class GpuInfo(Shape, frozen=True):
    gpus: tuple[Device, ...] = ()


class NeuronInfo(Shape, frozen=True):
    neuron_devices: tuple[Device, ...] = ()


class InferenceInfo(Shape, frozen=True):
    accelerators: tuple[Device, ...] = ()


class StorageInfo(Shape, frozen=True):
    total_size_in_gb: int = msgspec.field(name="TotalSizeInGB", default=0)


class InstanceType(Shape, frozen=True):
    instance_type: str
    v_cpu_info: VCpuInfo
    memory_info: MemoryInfo
    processor_info: ProcessorInfo = ProcessorInfo()
    network_info: NetworkInfo = NetworkInfo()
    gpu_info: GpuInfo = GpuInfo()
    neuron_info: NeuronInfo = NeuronInfo()
    inference_accelerator_info: InferenceInfo = InferenceInfo()
    instance_storage_info: StorageInfo = StorageInfo()
    hypervisor: str = ""
    bare_metal: bool = False


class InstanceState(Shape, frozen=True):
    name: str = ""


class Ec2Instance(Timed, frozen=True):
    instance_id: str
    instance_type: str = ""
    launch_time: datetime | None = None
    state: InstanceState = InstanceState()
    private_dns_name: str = ""
    capacity_reservation_id: str = ""


class CheckSummary(Shape, frozen=True):
    """`status` is ok, impaired, insufficient-data, not-applicable or initializing."""

    status: str = ""


class InstanceStatus(Shape, frozen=True):
    """What EC2's status checks say of an instance: its own, and those of the machine and the disks below it."""

    instance_id: str
    instance_status: CheckSummary = CheckSummary()
    system_status: CheckSummary = CheckSummary()


class Reservation(Shape, frozen=True):
    """Each of its instances is an `Ec2Instance`, to be read by itself."""

    instances: tuple[Any, ...] = ()


class SpotPrice(Timed, frozen=True):
    instance_type: str
    availability_zone: str
    spot_price: str
    timestamp: datetime
    product_description: str = "Linux/UNIX"


class CapacityReservation(Timed, frozen=True):
    """On-demand or a block; the instances that use it are those that are not available."""

    capacity_reservation_id: str
    instance_type: str
    availability_zone: str
    total_instance_count: int
    available_instance_count: int
    state: str
    instance_match_criteria: str = "open"
    reservation_type: str = "default"
    start_date: datetime | None = None
    end_date: datetime | None = None


class ServiceQuota(Shape, frozen=True):
    quota_code: str
    value: Amount
    quota_name: str = ""


class MetricData(Shape, frozen=True):
    """One metric's points; our `id` is the quota's code as CloudWatch takes ids."""

    id: str
    timestamps: tuple[datetime, ...] = ()
    values: tuple[Amount, ...] = ()

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "timestamps", tuple(map(utc, self.timestamps)))


class EksTaint(msgspec.Struct, frozen=True):
    key: str
    effect: str
    value: str = ""


class EksGroupName(msgspec.Struct, frozen=True):
    name: str


class EksResources(msgspec.Struct, frozen=True, rename="camel"):
    auto_scaling_groups: tuple[EksGroupName, ...] = ()


class EksIssue(msgspec.Struct, frozen=True):
    code: str = "Unknown"
    message: str = ""


class EksHealth(msgspec.Struct, frozen=True):
    issues: tuple[EksIssue, ...] = ()


class Nodegroup(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    nodegroup_name: str
    cluster_name: str = ""
    status: str = "ACTIVE"
    health: EksHealth = EksHealth()
    ami_type: str = ""
    capacity_type: str = ""
    labels: dict[str, str] = {}
    taints: tuple[EksTaint, ...] = ()
    resources: EksResources = EksResources()


class NodegroupAnswer(msgspec.Struct, frozen=True, kw_only=True):
    nodegroup: Nodegroup


for _kind in (Group, Image, LaunchConfiguration, LaunchTemplateVersion):
    # msgspec looks at a struct at its first use, and crashes the process where two threads are first: these are read in one
    # thread for each region.
    msgspec.json.Decoder(_kind)

T = TypeVar("T")


def read(item: Any, kind: type[T]) -> T:
    """One item of an answer; raises msgspec.ValidationError, which names the field."""
    return msgspec.convert(item, kind)


def reads(item: Any, kind: type[T]) -> bool:
    try:
        read(item, kind)
    except msgspec.ValidationError:
        return False
    return True


def read_all(items: Iterable[Any], kind: type[T], what: str) -> tuple[list[T], list[str]]:
    """Items that can be read, and one sentence for each that cannot."""
    found: list[T] = []
    problems: list[str] = []
    for number, item in enumerate(items):
        try:
            found.append(read(item, kind))
        except msgspec.ValidationError as error:
            problems.append(f"{what}[{number}] is not as AWS documents it and was passed over: {error}")
    return found, problems
