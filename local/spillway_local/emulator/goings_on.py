"""Policies, schedules, refreshes and warm pools of groups, as a dump tells them.

Stock moto 5.2.5 keeps policies and schedules by name alone, whatever group they are of, forgets whether a policy is enabled,
pages none of them, has no instance in a warm pool, and knows no instance refresh.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult

from spillway_local.emulator import warm_pools
from spillway_local.emulator.patching import Addition, Patch, added, patched

PAGE = 50  # items, where no MaxRecords is asked for


@contextmanager
def goings_on(fleet: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """While it holds, the Auto Scaling API tells these of a dump's answers, by region and key, beside what was put to moto."""

    def told(response: Any, key: str, default: Any) -> Any:
        return fleet.get(response.region, {}).get(key, default)

    def listing(key: str, stock: Callable[[Any], Any]) -> Callable[[Any], ActionResult]:
        def describe(response: Any) -> ActionResult:
            group = response._get_param("AutoScalingGroupName")
            mine = [_timed(item) for item in told(response, key, ()) if group in (None, item["AutoScalingGroupName"])]
            found = [*stock(response), *mine]
            start = int(response._get_param("NextToken") or 0)
            end = start + (response._get_int_param("MaxRecords") or PAGE)
            return ActionResult({key: found[start:end], "NextToken": str(end) if end < len(found) else None})

        return describe

    def warm_pool(response: Any) -> ActionResult:
        group = response.autoscaling_backend.autoscaling_groups[response._get_param("AutoScalingGroupName")]
        return ActionResult({**stock_warm_pool(response).result, "Instances": warm_pools.listed(group)})

    stock_policies: Callable[[Any], Any] = AutoScalingResponse.describe_policies
    stock_schedules: Callable[[Any], Any] = AutoScalingResponse.describe_scheduled_actions
    stock_warm_pool: Callable[[Any], Any] = AutoScalingResponse.describe_warm_pool
    policies = listing("ScalingPolicies", lambda response: stock_policies(response).result["ScalingPolicies"])
    schedules = listing(
        "ScheduledUpdateGroupActions", lambda response: stock_schedules(response).result["ScheduledUpdateGroupActions"]
    )
    replaced = [
        Patch(AutoScalingResponse, "describe_policies", policies),
        Patch(AutoScalingResponse, "describe_scheduled_actions", schedules),
        Patch(AutoScalingResponse, "describe_warm_pool", warm_pool),
    ]
    refreshes = Addition(AutoScalingResponse, "describe_instance_refreshes", listing("InstanceRefreshes", _known))
    with patched(replaced), added([refreshes]):
        yield


def _known(response: Any) -> tuple[()]:
    """moto has no refresh to tell of; a group that it does not know is AWS's error."""
    name = response._get_param("AutoScalingGroupName")
    if name not in response.autoscaling_backend.autoscaling_groups:
        raise ValidationError(f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")
    return ()


def _timed(item: Mapping[str, Any]) -> dict[str, Any]:
    """Times as AWS answers them: a dump has them as text."""
    return {
        name: datetime.fromisoformat(value) if name.endswith("Time") and isinstance(value, str) else value
        for name, value in item.items()
    }
