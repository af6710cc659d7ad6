"""The cluster as the scheduler's snapshot has it: nodes, the pods on them, and the objects that pods lean on."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Object = Mapping[str, Any]
Key = tuple[str, str]  # namespace and name


class State:
    """Of Kubernetes objects, each with its kind. Pods that ended, or whose node is not there, are in no snapshot."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._by_kind: dict[str, dict[Key, Object]] = {}
        for one in objects:
            self._by_kind.setdefault(one["kind"], {})[key_of(one)] = one
        self.nodes = {name: node for (_, name), node in self.of_kind("Node").items()}
        self.pods: dict[str, list[Object]] = {name: [] for name in self.nodes}
        self.chosen: dict[Key, Object] = {}  # nodes of claims that wait for their first pod, once it is bound
        self.taken: dict[Key, str] = {}  # volumes that were free, by claim
        self._waiting: dict[Key, Object] = {}
        for key, pod in self.of_kind("Pod").items():
            node = pod["spec"].get("nodeName")
            if not node:
                self._waiting[key] = pod
            elif node in self.pods and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
                self.pods[node].append(pod)

    def of_kind(self, kind: str) -> Mapping[Key, Object]:
        return self._by_kind.get(kind, {})

    def get(self, kind: str, name: str, namespace: str = "") -> Object | None:
        return self.of_kind(kind).get((namespace, name))

    def everywhere(self) -> Iterator[tuple[Object, Object]]:
        """All pods that have a node, with it."""
        return ((self.nodes[name], pod) for name, pods in self.pods.items() for pod in pods)

    def bind(self, pod: Object, node: str) -> None:
        """A claim of the pod that had waited for its first consumer gets its volume where that node is."""
        self.pods[node].append(pod)
        self._waiting.pop(key_of(pod), None)
        for name in claim_names(pod):
            self.chosen.setdefault((pod["metadata"]["namespace"], name), self.nodes[node])

    def unbind(self, pod: Object, node: str) -> None:
        self.pods[node].remove(pod)
        self._waiting[key_of(pod)] = pod

    def nominated(self, node: str, pod: Object) -> list[Object]:
        """Others that wait for this node and are no less important than the pod."""
        least = pod["spec"].get("priority") or 0
        return [
            one
            for key, one in self._waiting.items()
            if key != key_of(pod)
            and one.get("status", {}).get("nominatedNodeName") == node
            and (one["spec"].get("priority") or 0) >= least
        ]


def key_of(one: Object) -> Key:
    return one["metadata"].get("namespace", ""), one["metadata"]["name"]


def labels_of(one: Object) -> Mapping[str, str]:
    return one["metadata"].get("labels") or {}


def claim_names(pod: Object) -> list[str]:
    """Of PersistentVolumeClaims in the pod's namespace; an ephemeral volume's is named for pod and volume."""
    found = []
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            found.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            found.append(f"{pod['metadata']['name']}-{volume['name']}")
    return found
