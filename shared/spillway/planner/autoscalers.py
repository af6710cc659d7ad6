"""Other autoscalers that run in the cluster, known by the names of their Deployments' pods."""

from collections.abc import Mapping
from dataclasses import dataclass

from spillway.model.cluster import ClusterSnapshot, PodState

# By the end of the Deployment's name: `release-aws-cluster-autoscaler` is what a chart calls it.
_RESIZE_GROUPS = {
    "cluster-autoscaler": "Cluster Autoscaler",
    "escalator": "Escalator",
    "kube-aws-autoscaler": "kube-aws-autoscaler",
}
_BUY_OUTSIDE_OF_GROUPS = {"karpenter": "Karpenter"}


@dataclass(frozen=True)
class Autoscalers:
    """Each as `Cluster Autoscaler (pod kube-system/cluster-autoscaler-5d8b6c7f9-x2x4z)`, by the first of its Ready pods."""

    resize_groups: tuple[str, ...]
    buy_outside_of_groups: tuple[str, ...]


def running(cluster: ClusterSnapshot) -> Autoscalers:
    known = _RESIZE_GROUPS | _BUY_OUTSIDE_OF_GROUPS
    names = tuple(known)
    of_deployments = {shape.id: shape.namespace for shape in cluster.shapes if shape.owner_kind == "ReplicaSet"}
    found: dict[str, str] = {}
    for pods in cluster.pods:
        if pods.state is not PodState.BOUND or pods.unready or pods.shape not in of_deployments:
            continue
        for name in pods.names:
            deployment = name.rsplit("-", 2)[0]
            if deployment.endswith(names):
                product = next(known[one] for one in names if deployment.endswith(one))
                pod = f"{product} (pod {of_deployments[pods.shape]}/{name})"
                found[product] = min(found.get(product, pod), pod)
    return Autoscalers(_told(found, _RESIZE_GROUPS), _told(found, _BUY_OUTSIDE_OF_GROUPS))


def _told(found: Mapping[str, str], products: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(found[product] for product in sorted(products.values()) if product in found)
