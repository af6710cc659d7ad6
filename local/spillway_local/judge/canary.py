"""A node, and the one pod that may go there: once that is bound, the scheduler has seen all that was made before."""

from spillway_local.judge.scene import Object

_MARK = "canary"


def canary(number: int) -> tuple[Object, Object]:
    """Node and pod of one name, the pod in `default`."""
    name = f"{_MARK}-{number}"
    room = {"cpu": "1", "memory": "1Gi", "pods": "1"}
    node = {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {_MARK: name}},
        "spec": {"taints": [{"key": _MARK, "effect": "NoSchedule"}]}, "status": {"allocatable": room, "capacity": room},
    }  # fmt: skip
    spec = {"containers": [{"name": _MARK, "image": _MARK}], "nodeSelector": {_MARK: name}}
    metadata = {"name": name, "namespace": "default"}
    return node, {
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec | {"tolerations": [{"operator": "Exists"}]},
    }  # fmt: skip
