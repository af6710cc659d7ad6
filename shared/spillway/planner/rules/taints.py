"""Taints and tolerations.

Source: k8s.io/api/core/v1/toleration.go, ToleratesTaint, and k8s.io/component-helpers/scheduling/corev1. NoSchedule
and NoExecute keep a pod away, PreferNoSchedule does not. Gt and Lt are the numeric operators of KEP-5471.
"""

from collections.abc import Iterable

from spillway.model.cluster import PodShape, Taint, Toleration
from spillway.model.reason import Code
from spillway.planner.rules.base import Host, Refusal
from spillway.planner.rules.requirement import integer


def part(shape: PodShape) -> tuple[Toleration, ...]:
    return shape.tolerations


def keys(shape: PodShape) -> Iterable[str]:
    return ()


def refusal(shape: PodShape, host: Host) -> Refusal | None:
    for taint in host.taints:
        if repels(taint) and not any(tolerates(t, taint) for t in shape.tolerations):
            return Refusal(Code.TAINT, f"does not tolerate {show(taint)}")
    return None


def repels(taint: Taint) -> bool:
    return taint.effect in ("NoSchedule", "NoExecute")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    if not toleration.key:
        return False  # an empty key is allowed with Exists alone
    if toleration.operator in ("Gt", "Lt"):
        have, bound = integer(taint.value), integer(toleration.value)
        if have is None or bound is None:
            return False
        return have > bound if toleration.operator == "Gt" else have < bound
    return toleration.operator in ("Equal", "") and toleration.value == taint.value


def show(taint: Taint) -> str:
    return f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"
