"""What was read of a cluster to a ClusterSnapshot."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

import msgspec

from spillway.kube.nodes import is_nameless, no_provider_id, node_of
from spillway.kube.objects import Objects, paused_gc, unreadable
from spillway.kube.pods import identified, keys_read, shape_of
from spillway.kube.scheduling import requirements
from spillway.model.cluster import ClusterSnapshot, Node, PodSet, PodShape, PodState
from spillway.model.quantity import QuantityError
from spillway.model.reason import Reason


def reduce(objects: Objects, *, cluster: str, taken_at: datetime, server_version: str = "") -> ClusterSnapshot:
    """The snapshot of all that was added; equal objects in any order give an equal snapshot."""
    with paused_gc():
        warnings = [reason for reasons in objects.unreadable.values() for reason in reasons.values()]
        nodes = list(_nodes(objects, taken_at, warnings))
        shapes, pods = _pods(objects, taken_at, warnings)
    return ClusterSnapshot(
        cluster=cluster,
        taken_at=taken_at,
        nodes=tuple(sorted(nodes, key=lambda n: n.name)),
        shapes=tuple(sorted(shapes, key=lambda s: s.id)),
        pods=tuple(sorted(pods, key=lambda p: (p.shape, p.node, p.state))),
        server_version=server_version,
        warnings=tuple(sorted(set(warnings), key=lambda w: (w.code, w.text))),
    )


def _nodes(objects: Objects, taken_at: datetime, warnings: list[Reason]) -> Iterator[Node]:
    nameless: list[str] = []
    for raw in objects.of("Node").values():
        try:
            node = node_of(raw, taken_at)
        except QuantityError as error:
            warnings.append(unreadable(f"node {raw.metadata.name}", str(error)))
            continue
        if is_nameless(raw, node):
            nameless.append(node.name)
        yield node
    if nameless:
        warnings.append(no_provider_id(sorted(nameless)))


def _pods(objects: Objects, taken_at: datetime, warnings: list[Reason]) -> tuple[list[PodShape], list[PodSet]]:
    # By id() of the recipe, as each is kept once and hashing it again costs seconds; by namespace for opaque pods.
    full: dict[int | str, PodShape] = {}
    members: dict[tuple[int | str, PodState, str], list[tuple[datetime, str]]] = defaultdict(list)
    problems: dict[int | str, str] = {}
    nodes = objects.of("Node")
    for (namespace, name), pod in objects.of("Pod").items():
        key: int | str = namespace if pod.recipe is None else id(pod.recipe)
        if pod.recipe is not None and key not in full and key not in problems:
            try:
                full[key] = shape_of(pod.recipe)
            except (QuantityError, msgspec.ValidationError) as error:
                problems[key] = str(error)
        if key in problems:
            warnings.append(unreadable(f"pod {namespace}/{name}", problems[key]))
            if not pod.node:
                continue
            key = namespace
        if key == namespace:
            full.setdefault(key, _opaque(namespace))
        state, node = pod.state, pod.node
        if state == PodState.NOMINATED and ("", node) not in nodes:
            state, node = PodState.UNSCHEDULABLE, ""  # the scheduler forgets a nomination whose node is gone
        members[key, state, node].append((pod.created or taken_at, name))
    read = {
        r.key
        for b in objects.of("PodDisruptionBudget").values()
        for r in requirements(b.spec.selector if b.spec else None) or ()
    }
    keys = frozenset(read.union(*(keys_read(shape) for shape in full.values())))
    final = {key: identified(shape, keys) for key, shape in full.items()}
    together: dict[tuple[str, PodState, str], list[tuple[datetime, str]]] = defaultdict(list)
    for (key, state, node), pods in members.items():
        together[final[key].id, state, node] += pods
    return list({shape.id: shape for shape in final.values()}.values()), [
        PodSet(
            shape=shape,
            state=state,
            names=tuple(name for _, name in sorted(pods)),
            created=tuple(created for created, _ in sorted(pods)),
            node=node,
        )
        for (shape, state, node), pods in together.items()
    ]


def _opaque(namespace: str) -> PodShape:
    """A pod that is there but does not read: it takes a slot and keeps its node busy."""
    return PodShape(id="", namespace=namespace, requests={"pods": 1})
