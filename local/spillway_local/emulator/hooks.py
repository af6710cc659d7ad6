"""Termination lifecycle hooks, of which moto keeps the definitions and does nothing with them."""

from collections.abc import Iterator
from typing import Any

_TERMINATING = "autoscaling:EC2_INSTANCE_TERMINATING"


def termination(group: Any) -> Iterator[Any]:
    """moto's hooks of a group that hold an instance which ends, each for its `heartbeat_timeout` in seconds."""
    for hook in group.autoscaling_backend.describe_lifecycle_hooks(group.name):
        if hook.lifecycle_transition == _TERMINATING:
            yield hook
