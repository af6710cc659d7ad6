"""The APIs that a cluster may have beside Kubernetes' own, and an object of each as it is stored."""

from typing import Any

from spillway.kube.resources import OPTIONAL
from spillway_local.kube_api import Cluster

BUILT_IN = ("resource.k8s.io", "scheduling.k8s.io")  # groups that no CustomResourceDefinition may add to
CUSTOM = tuple(one for one in OPTIONAL if one.group_version.partition("/")[0] not in BUILT_IN)
NEWEST = tuple({one.kind: one for one in reversed(CUSTOM)}.values())
"""One of each kind, in the version that is read where a server has several."""


def install(api: Cluster, *kinds: str) -> None:
    """Serves these kinds, called as in `Objects`; none: all custom ones."""
    for one in NEWEST:
        if not kinds or one.kind in kinds:
            group, _, version = one.group_version.partition("/")
            api.define(group, version, one.kind.partition(".")[0], one.plural)


def any_of(kind: str, name: str = "one", **fields: Any) -> dict[str, Any]:
    """An object of it that says no more than its name."""
    found = next(one for one in NEWEST if one.kind == kind)
    head = {"apiVersion": found.group_version, "kind": kind.partition(".")[0]}
    return {**head, "metadata": {"name": name, "namespace": "default"}, "spec": {}, **fields}
