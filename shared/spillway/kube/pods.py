"""Kubernetes pods as they are kept: what many share once, and beside it what differs from pod to pod."""

from collections.abc import Mapping
from datetime import datetime
from sys import intern
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.gangs import Membership, membership
from spillway.kube.owners import Owner, owner_of
from spillway.kube.pod_volumes import Use, uses
from spillway.kube.recipes import NO_NOTES, Recipe, recipe_of
from spillway.model.cluster import PodState

_MOST_SHARED = 50_000  # then what was shared is kept anew: a function that stays warm for days must not grow
_FINISHED = ("Succeeded", "Failed")
_pod = msgspec.json.Decoder(fields.Pod)
_NO_STATUS, _NO_CONDITION = fields.PodStatus(), fields.PodCondition()
T = TypeVar("T")


class SeenPod(NamedTuple):
    """`recipe` None: only its place is known. `labels` are raw JSON. `judged`: the scheduler says that it is unschedulable.

    `uid` only where an ephemeral volume asks whose it is.
    """

    recipe: Recipe | None
    state: PodState
    node: str
    created: datetime | None = None
    labels: bytes = b""
    volumes: tuple[Use, ...] = ()
    uid: str = ""
    owner: Owner | None = None
    gang: Membership | None = None
    judged: bool = False
    unready: bool = False
    started: datetime | None = None
    deletes: datetime | None = None


class SeenPods:
    """Reads pods, and keeps once what is equal in many."""

    def __init__(self) -> None:
        self._shared: dict[object, object] = {}

    def read(self, raw: Raw | bytes) -> tuple[tuple[str, str], SeenPod | None]:
        """None for one that is finished."""
        return self.keep(_pod.decode(raw))

    def keep(self, pod: fields.Pod) -> tuple[tuple[str, str], SeenPod | None]:
        """As `read`, of one that is decoded already."""
        meta, spec = pod.metadata, pod.spec
        key = (intern(meta.namespace or "default"), meta.name)
        if is_finished(pod):
            return key, None
        notes = meta.annotations or NO_NOTES
        status = pod.status or _NO_STATUS
        conditions = {one.type: one for one in status.conditions or ()}
        owner = owner_of(meta.owner_references or ())
        owner_kind = owner.shape_kind if owner else ""
        judged = _judged(conditions)
        state, node = state_of(pod, judged)
        recipe = recipe_of(key[0], spec, notes, owner_kind, status, pinned=owner_kind == "DaemonSet")
        labels = self._once(bytes(meta.labels))
        volumes = uses(spec.volumes, meta.name) if spec.volumes else ()
        return key, SeenPod(
            recipe=self._once(recipe),
            state=state,
            node=intern(node),
            created=meta.creation_timestamp,
            labels=labels,
            volumes=volumes,
            uid=meta.uid if any(use.ephemeral for use in volumes) else "",
            owner=self._once(owner) if owner else None,
            gang=membership(labels, notes, spec),
            judged=judged,
            unready=bool(spec.node_name) and conditions.get("Ready", _NO_CONDITION).status != "True",
            started=status.start_time,
            deletes=meta.deletion_timestamp,
        )

    def _once(self, value: T) -> T:
        if len(self._shared) > _MOST_SHARED:
            self._shared.clear()
        return self._shared.setdefault(value, value)  # type: ignore[return-value]  # equal values have one type here


def seen_bare(pod: fields.BarePod) -> SeenPod:
    """One of which only the place reads."""
    return SeenPod(None, PodState.BOUND, pod.spec.node_name or "" if pod.spec else "")


def is_finished(pod: fields.Pod) -> bool:
    """Also one that is deleted before it got a node: it holds nothing and wants nothing."""
    phase = pod.status.phase if pod.status else None
    return phase in _FINISHED or (pod.metadata.deletion_timestamp is not None and not pod.spec.node_name)


def holds_a_node(pod: fields.BarePod) -> bool:
    return bool(pod.spec and pod.spec.node_name) and (pod.status is None or pod.status.phase not in _FINISHED)


def state_of(pod: fields.Pod, judged: bool) -> tuple[PodState, str]:
    """The state and the node it speaks of, as the scheduler means it (pkg/scheduler/schedule_one.go)."""
    if pod.spec.node_name:
        leaving = pod.metadata.deletion_timestamp is not None
        return (PodState.TERMINATING if leaving else PodState.BOUND), pod.spec.node_name
    if pod.spec.scheduling_gates:
        return PodState.GATED, ""
    if pod.status and pod.status.nominated_node_name:
        return PodState.NOMINATED, pod.status.nominated_node_name
    return (PodState.UNSCHEDULABLE if judged else PodState.UNSEEN), ""


def _judged(conditions: Mapping[str, fields.PodCondition]) -> bool:
    scheduled = conditions.get("PodScheduled", _NO_CONDITION)
    return (scheduled.status, scheduled.reason) == ("False", "Unschedulable")
