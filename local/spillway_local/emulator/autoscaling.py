"""moto's Auto Scaling API with AWS's refusals in front and `launches` behind it.

Stock moto 5.2.5 takes any desired capacity, answers an unknown group with a KeyError, and lists no activities.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.models import AutoScalingBackend, FakeAutoScalingGroup
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult

from spillway_local.emulator import activities, offers
from spillway_local.emulator.activities import Activity
from spillway_local.emulator.launches import TERMINATING, Launches
from spillway_local.emulator.patching import Addition, Patch, added, patched

PAGE = 100  # of DescribeScalingActivities


@contextmanager
def autoscaling(launches: Launches) -> Iterator[None]:
    """While it holds, groups in moto behave as `launches` makes them."""

    def settle(group: Any, desired: int | None) -> None:
        group.desired_capacity = group.min_size if desired is None else desired
        launches.settle(group)

    def ended_elsewhere(backend: Any, instance_ids: list[str]) -> None:
        for group in list(backend.autoscaling_groups.values()):
            for state in [state for state in group.instance_states if state.instance.id in instance_ids]:
                launches.lose(group, state)

    def terminate(backend: Any, instance_id: str, decrement: bool) -> Activity:
        return _terminate(launches, backend, instance_id, decrement)

    def complete_hook(response: Any) -> ActionResult:
        return _complete_hook(launches, response)

    def describe_activities(response: Any) -> ActionResult:
        return _describe_activities(launches, response)

    with patched([
        Patch(FakeAutoScalingGroup, "set_desired_capacity", settle),
        Patch(AutoScalingBackend, "set_desired_capacity", _set_desired),
        Patch(AutoScalingBackend, "terminate_instance", terminate),
        Patch(AutoScalingBackend, "notify_terminate_instances", ended_elsewhere),
        Patch(AutoScalingResponse, "describe_scaling_activities", describe_activities),
    ]), added([Addition(AutoScalingResponse, "complete_lifecycle_action", complete_hook)]):  # fmt: skip
        yield


def _set_desired(backend: Any, name: str, desired: int) -> None:
    group = _group(backend, name)
    for beyond, word, limit in (
        (desired > group.max_size, "above max", group.max_size),
        (desired < group.min_size, "below min", group.min_size),
    ):
        if beyond:
            raise ValidationError(f"New SetDesiredCapacity value {desired} is {word} value {limit} for the AutoScalingGroup.")
    group.set_desired_capacity(desired)


def _terminate(launches: Launches, backend: Any, instance_id: str, decrement: bool) -> Activity:
    group, state = _member(backend, instance_id)
    if not state.lifecycle_state.startswith(TERMINATING) and decrement:
        weight = offers.weight(group, state)
        if group.desired_capacity - weight < group.min_size:
            raise ValidationError(
                f"Currently, desiredSize equals minSize ({group.min_size}). Terminating instance without replacement will "
                "violate group's min size constraint. Either set shouldDecrementDesiredCapacity flag to false or lower "
                "group's min size."
            )
        group.desired_capacity -= weight
    activity = launches.end(group, state, activities.taken_by_user(launches.clock.now()))
    launches.settle(group)
    return activity


def _complete_hook(launches: Launches, response: Any) -> ActionResult:
    asked = response._get_param
    _group(response.autoscaling_backend, asked("AutoScalingGroupName"))
    group, state = _member(response.autoscaling_backend, asked("InstanceId"))
    if not launches.release(group, state, asked("LifecycleHookName")):
        raise ValidationError(f"No active Lifecycle Action found with instance ID {state.instance.id}")
    return ActionResult({})


def _describe_activities(launches: Launches, response: Any) -> ActionResult:
    name = response._get_param("AutoScalingGroupName")
    if name and not response._get_param("IncludeDeletedGroups"):
        _group(response.autoscaling_backend, name)
    found = launches.log.list(response.region, name, tuple(response._get_param("ActivityIds", [])))
    start = int(response._get_param("NextToken") or 0)
    end = start + (response._get_int_param("MaxRecords") or PAGE)
    return ActionResult({"Activities": found[start:end], "NextToken": str(end) if end < len(found) else None})


def _group(backend: Any, name: str) -> Any:
    if name not in backend.autoscaling_groups:
        raise ValidationError(f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")
    return backend.autoscaling_groups[name]


def _member(backend: Any, instance_id: str) -> tuple[Any, Any]:
    for group in backend.autoscaling_groups.values():
        for state in group.instance_states:
            if state.instance.id == instance_id:
                return group, state
    raise ValidationError(f"Instance Id not found - No managed instance found for instance ID: {instance_id}")
