"""What goes on with an Auto Scaling group beside its size, and who else changes that: as AWS names it."""

from datetime import datetime

from spillway.model.base import Labels, Model
from spillway.model.cluster import Taint


class WarmPool(Model, frozen=True):
    """Instances that are prepared beside the group. `state` is the one in which they wait: Stopped, Running or Hibernated.

    `max_prepared` counts the group's members too; None is the group's max. `reuses`: what leaves the group goes back into it.
    """

    state: str = "Stopped"
    size: int = 0
    min_size: int = 0
    max_prepared: int | None = None
    reuses: bool = False
    deleting: bool = False


class InstanceRefresh(Model, frozen=True):
    """A refresh that is not over: Pending, InProgress, Baking, Cancelling or RollbackInProgress."""

    id: str
    status: str
    started_at: datetime | None = None
    percent: int = 0


class ScalingPolicy(Model, frozen=True):
    """`kind` is AWS's PolicyType: SimpleScaling, StepScaling, TargetTrackingScaling or PredictiveScaling.

    `forecasts_only`: a predictive policy that scales nothing.
    """

    name: str
    kind: str = "SimpleScaling"
    enabled: bool = True
    forecasts_only: bool = False


class ScheduledAction(Model, frozen=True):
    """Sizes that are None stay as they are. `recurrence` is a cron line in `time_zone`, "" for once at `starts_at`."""

    name: str
    recurrence: str = ""
    time_zone: str = "UTC"
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    min_size: int | None = None
    max_size: int | None = None
    desired: int | None = None


class ManagedNodeGroup(Model, frozen=True):
    """The EKS node group whose Auto Scaling group it is. `status` is EKS's: ACTIVE, UPDATING, DEGRADED, …

    `issues` are what its health names, as in `AsgInstanceLaunchFailures: Could not launch`. `ami_type` is EKS's, as in
    `AL2023_x86_64_STANDARD`; `labels` and `taints` are what it puts on its nodes.
    """

    name: str
    status: str = "ACTIVE"
    issues: tuple[str, ...] = ()
    ami_type: str = ""
    labels: Labels = {}
    taints: tuple[Taint, ...] = ()
