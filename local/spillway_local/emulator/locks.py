"""moto under threads: stock moto is not atomic (200 parallel increments of a DynamoDB number left 199)."""

from typing import Any

from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import BaseResponse
from moto.dynamodb.responses import DynamoHandler

from spillway_local.emulator.patching import Patch


def one_call_at_a_time(lock: Any) -> list[Patch]:
    """Every API call holds `lock`, which the emulator's own actions hold as well."""
    return [_locked(owner, lock) for owner in (BaseResponse, AutoScalingResponse, DynamoHandler)]


def _locked(owner: Any, lock: Any) -> Patch:
    stock = owner.__dict__["call_action"]

    def call_action(self: Any) -> Any:
        with lock:
            return stock(self)

    return Patch(owner, "call_action", call_action)
