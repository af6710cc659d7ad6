"""What a node says by itself: its name, labels, taints, and whether it is cordoned.

Source: plugins nodename, nodeunschedulable, nodeaffinity and tainttoleration; k8s.io/api/core/v1/toleration.go.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tests.fit.selectors import integer, node_matches
from tests.fit.state import labels_of

Object = Mapping[str, Any]

CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def is_named(pod: Object, node: Object) -> bool:
    return pod["spec"].get("nodeName") in (None, "", node["metadata"]["name"])


def is_open(pod: Object, node: Object) -> bool:
    return not node.get("spec", {}).get("unschedulable") or is_tolerated(pod, CORDON)


def is_selected(pod: Object, node: Object) -> bool:
    """By selector and required affinity; the latter may be there and have no terms, and then no node will do."""
    selected = (pod["spec"].get("nodeSelector") or {}).items() <= labels_of(node).items()
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return selected and (required is None or node_matches(required.get("nodeSelectorTerms") or (), node))


def repels_none(pod: Object, node: Object) -> bool:
    taints = node.get("spec", {}).get("taints") or ()
    return all(taint["effect"] == "PreferNoSchedule" or is_tolerated(pod, taint) for taint in taints)


def is_tolerated(pod: Object, taint: Object) -> bool:
    return any(_tolerates(one, taint) for one in pod["spec"].get("tolerations") or ())


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    have, wanted = taint.get("value") or "", toleration.get("value") or ""
    ways: dict[str, Callable[[], bool]] = {
        "Exists": lambda: True,
        "Equal": lambda: bool(toleration.get("key")) and have == wanted,
        "Gt": lambda: _both_are_numbers(have, wanted) and int(have) > int(wanted),
        "Lt": lambda: _both_are_numbers(have, wanted) and int(have) < int(wanted),
    }
    return ways[toleration.get("operator") or "Equal"]()


def _both_are_numbers(*texts: str) -> bool:
    return all(integer(text) is not None for text in texts)
