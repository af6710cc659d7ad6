"""What was read of a cluster to a ClusterSnapshot."""

from collections.abc import Collection, Iterator
from datetime import datetime

from spillway.kube.label_readers import Reader
from spillway.kube.nodes import is_nameless, no_provider_id, node_of
from spillway.kube.objects import Objects, paused_gc, unreadable
from spillway.kube.pod_sets import pod_sets
from spillway.kube.scheduling import requirements
from spillway.kube.shapes import Shapes
from spillway.model.cluster import ClusterSnapshot, Node
from spillway.model.quantity import QuantityError
from spillway.model.reason import Reason


def reduce(
    objects: Objects, *, cluster: str, taken_at: datetime, server_version: str = "", label_keys: Collection[str] = ()
) -> ClusterSnapshot:
    """The snapshot of all that was added; equal objects in any order give an equal snapshot.

    `label_keys` are labels of pods that the policy reads.
    """
    with paused_gc():
        warnings = [reason for reasons in objects.unreadable.values() for reason in reasons.values()]
        nodes = list(_nodes(objects, taken_at, warnings))
        recipes = (pod.recipe for pod in objects.of("Pod").values() if pod.recipe is not None)
        shapes = Shapes(recipes, _budgets(objects), label_keys)
        pods = tuple(pod_sets(objects, shapes, lambda namespace, pod: "", taken_at, warnings))
    return ClusterSnapshot(
        cluster=cluster,
        taken_at=taken_at,
        nodes=tuple(sorted(nodes, key=lambda n: n.name)),
        shapes=tuple(shapes.all()),
        pods=pods,
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


def _budgets(objects: Objects) -> Iterator[Reader]:
    for (namespace, _), budget in objects.of("PodDisruptionBudget").items():
        yield Reader(namespace, requirements(budget.spec.selector if budget.spec else None) or ())
