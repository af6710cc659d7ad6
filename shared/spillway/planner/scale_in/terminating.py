"""Pods that are being deleted, and those that should have gone long ago.

Source: cluster-autoscaler/simulator/drainability/rules/longterminating/rule.go, PodLongTerminatingExtraThreshold.
"""

from datetime import timedelta

from spillway.model.cluster import PodSet, PodShape, PodState
from spillway.planner.view import View

_EXTRA = timedelta(seconds=30)


def overdue(view: View, shape: PodShape, pods: PodSet) -> int:
    """How many of them should have gone: their time, their grace once more and half a minute are over."""
    if pods.state is not PodState.TERMINATING:
        return 0
    limit = view.cluster.taken_at - timedelta(seconds=shape.grace_s) - _EXTRA
    return sum(moment < limit for moment in pods.deletes)
