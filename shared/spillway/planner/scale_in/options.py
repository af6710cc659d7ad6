"""What holds for the scale in of one group: the policy's fields for it, Cluster Autoscaler's tags, the policy for all.

Source of the tags: cluster-autoscaler/cloudprovider/aws/README.md, node-template/autoscaling-options. One that cannot be read
is as if it were not there, as Cluster Autoscaler has it.
"""

import math
from collections.abc import Callable
from typing import TypeVar

from spillway.model.fleet import NodeGroup
from spillway.model.policy import ScaleInPolicy
from spillway.planner.durations import duration_s
from spillway.planner.view import View

THRESHOLD = "scaledownutilizationthreshold"
GPU_THRESHOLD = "scaledowngpuutilizationthreshold"
UNNEEDED = "scaledownunneededtime"
IGNORE_DAEMONS = "ignoredaemonsetsutilization"

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})  # Go's strconv.ParseBool
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})

T = TypeVar("T")


def threshold(view: View, group: NodeGroup) -> float:
    return _of(view, group, lambda policy: policy.utilisation_threshold, THRESHOLD, _share)


def gpu_threshold(view: View, group: NodeGroup) -> float:
    return _of(view, group, lambda policy: policy.gpu_utilisation_threshold, GPU_THRESHOLD, _share)


def ignores_daemons(view: View, group: NodeGroup) -> bool:
    return _of(view, group, lambda policy: policy.ignore_daemons_utilisation, IGNORE_DAEMONS, _flag)


def idle_s(view: View, group: NodeGroup) -> float:
    return _of(view, group, lambda policy: float(policy.idle_s), UNNEEDED, duration_s)


def unneeded_s(view: View, group: NodeGroup) -> float:
    return _of(view, group, lambda policy: float(policy.unneeded_s), UNNEEDED, duration_s)


def _of(view: View, group: NodeGroup, field: Callable[[ScaleInPolicy], T], tag: str, read: Callable[[str], T | None]) -> T:
    """A field that the policy sets for this group otherwise than for all goes before the tag."""
    everywhere, here = field(view.policy.scale_in), field(view.policy_of(group).scale_in)
    said = read(group.options.get(tag, ""))
    return here if here != everywhere or said is None else said


def _share(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _flag(text: str) -> bool | None:
    return True if text in _TRUE else False if text in _FALSE else None
