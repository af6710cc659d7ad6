"""AWS's answers about what goes on with groups, as far as we read them: see `shapes`.

Names and defaults: botocore's service model autoscaling 2011-01-01.
"""

from datetime import datetime

from spillway.aws.shapes import Member, Shape, Timed


class ReusePolicy(Shape, frozen=True):
    reuse_on_scale_in: bool = False


class WarmPoolConfiguration(Shape, frozen=True):
    pool_state: str = "Stopped"
    min_size: int = 0
    max_group_prepared_capacity: int | None = None
    instance_reuse_policy: ReusePolicy = ReusePolicy()
    status: str = ""


class MaintenancePolicy(Shape, frozen=True):
    min_healthy_percentage: int | None = None
    max_healthy_percentage: int | None = None


class ZoneDistribution(Shape, frozen=True):
    capacity_distribution_strategy: str = "balanced-best-effort"


class GroupSettings(Shape, frozen=True):
    """The part of a DescribeAutoScalingGroups item that does not say what is launched."""

    status: str = ""
    warm_pool_configuration: WarmPoolConfiguration | None = None
    warm_pool_size: int = 0
    new_instances_protected_from_scale_in: bool = False
    availability_zone_distribution: ZoneDistribution = ZoneDistribution()
    capacity_rebalance: bool = False
    max_instance_lifetime: int | None = None  # seconds
    instance_maintenance_policy: MaintenancePolicy = MaintenancePolicy()


class WarmPoolAnswer(Shape, frozen=True):
    instances: tuple[Member, ...] = ()


class Refresh(Timed, frozen=True):
    auto_scaling_group_name: str
    instance_refresh_id: str
    status: str
    start_time: datetime | None = None
    percentage_complete: int = 0


class PredictiveConfiguration(Shape, frozen=True):
    mode: str = "ForecastOnly"


class ScalingPolicy(Shape, frozen=True):
    auto_scaling_group_name: str
    policy_name: str
    policy_type: str = "SimpleScaling"
    enabled: bool = True
    predictive_scaling_configuration: PredictiveConfiguration = PredictiveConfiguration()


class ScheduledAction(Timed, frozen=True):
    auto_scaling_group_name: str
    scheduled_action_name: str
    recurrence: str = ""
    time_zone: str = "UTC"
    start_time: datetime | None = None
    end_time: datetime | None = None
    min_size: int | None = None
    max_size: int | None = None
    desired_capacity: int | None = None
