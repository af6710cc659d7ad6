"""All pods of a cluster: their shapes, and sets of those that are alike and in one place."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from spillway.kube.gangs import Gangs
from spillway.kube.objects import Objects, unreadable
from spillway.kube.owners import Controller, Owner, State, state_of
from spillway.kube.pods import SeenPod
from spillway.kube.shapes import ShapeError, Shapes
from spillway.kube.volumes import Resolver
from spillway.model.cluster import PodSet, PodShape, PodState
from spillway.model.reason import Reason

_COUNTED = ("Job", "ReplicaSet", "ReplicationController", "StatefulSet")


class _Place(NamedTuple):
    shape: str
    node: str
    state: PodState
    gang: str
    unready: bool


class _Member(NamedTuple):
    created: datetime
    name: str
    started: datetime | None
    deletes: datetime | None


def pod_sets(
    objects: Objects, shapes: Shapes, resolver: Resolver, gangs: Gangs, taken_at: datetime, warnings: list[Reason]
) -> Iterator[PodSet]:
    """In the order of a snapshot. A pod whose shape does not read is set aside with a warning, but for its place."""
    owners = _owners(objects)
    nodes = objects.of("Node")
    states: dict[tuple[str, Owner | None], State] = {}
    found: dict[_Place, list[_Member]] = defaultdict(list)
    for (namespace, name), pod in objects.of("Pod").items():
        owner = states.get((namespace, pod.owner))
        if owner is None:
            owner = states[namespace, pod.owner] = state_of(pod.owner, namespace, owners)
        try:
            shape = _shape(shapes, resolver, namespace, pod, owner)
        except ShapeError as error:
            warnings.append(unreadable(f"pod {namespace}/{name}", str(error)))
            if not pod.node:
                continue
            shape = shapes.opaque(namespace)
        state, node = _where(pod, nodes)
        gang = gangs.id_of(namespace, pod.gang, pod.owner)
        found[_Place(shape.id, node, state, gang, pod.unready)].append(
            _Member(pod.created or taken_at, name, pod.started, pod.deletes)
        )
    for place in sorted(found):
        yield _set(place, sorted(found[place], key=lambda member: member[:2]), taken_at)


def _owners(objects: Objects) -> Mapping[str, Mapping[tuple[str, str], Controller]]:
    found = {kind: objects.of(kind) for kind in _COUNTED if objects.has(kind)}
    if objects.has("DaemonSet"):  # which says of no number
        found["DaemonSet"] = dict.fromkeys(objects.of("DaemonSet"), Controller(uid=""))
    return found


def _shape(shapes: Shapes, resolver: Resolver, namespace: str, pod: SeenPod, owner: State) -> PodShape:
    if pod.recipe is None:
        return shapes.opaque(namespace)
    waits = pod.state not in (PodState.BOUND, PodState.TERMINATING)
    volumes = resolver.needs(namespace, pod.volumes, pod.uid, waits) if pod.volumes else ()
    return shapes.of(pod.recipe, pod.labels, volumes, owner)


def _where(pod: SeenPod, nodes: Mapping[tuple[str, str], object]) -> tuple[PodState, str]:
    if pod.state is PodState.NOMINATED and ("", pod.node) not in nodes:
        # The scheduler forgets a nomination whose node is gone; what it thought of the pod before still holds.
        return (PodState.UNSCHEDULABLE if pod.judged else PodState.UNSEEN), ""
    return pod.state, pod.node


def _set(place: _Place, members: list[_Member], taken_at: datetime) -> PodSet:
    started = tuple(member.started for member in members)
    return PodSet(
        shape=place.shape,
        state=place.state,
        names=tuple(member.name for member in members),
        created=tuple(member.created for member in members),
        node=place.node,
        gang=place.gang,
        unready=place.unready,
        started=started if any(started) else (),
        deletes=tuple(member.deletes or taken_at for member in members) if place.state is PodState.TERMINATING else (),
    )
