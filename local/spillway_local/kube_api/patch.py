"""The three kinds of patch: JSON patch (RFC 6902), merge patch (RFC 7396) and strategic merge patch.

None of them changes what it is given: stored objects share their parts with older versions of themselves.
"""

import copy
from collections.abc import Mapping
from typing import Any

from spillway_local.kube_api.refusals import Refusal

# Lists that are merged by a key, as the `patchMergeKey` tags of k8s.io/api say. All other lists are atomic, notably
# `taints` and `tolerations`: who writes one of those writes all of them.
_MERGE_KEYS = {
    "containers": "name", "initContainers": "name", "ephemeralContainers": "name", "volumes": "name", "env": "name",
    "imagePullSecrets": "name", "secrets": "name", "volumeMounts": "mountPath", "volumeDevices": "devicePath",
    "ports": "containerPort", "conditions": "type", "addresses": "type", "ownerReferences": "uid", "podIPs": "ip",
    "hostAliases": "ip", "topologySpreadConstraints": "topologyKey", "resourceClaims": "name", "schedulingGates": "name",
}  # fmt: skip
_PRIMITIVE_SETS = {"finalizers"}


def merge(target: Any, patch: Any) -> Any:
    """RFC 7396: null removes, maps are merged, all else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def strategic(target: Any, patch: Any) -> Any:
    """As `merge`, but lists that have a merge key are merged element by element, and `$patch` directives count."""
    if not isinstance(patch, Mapping):
        return patch
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    if patch.get("$patch") == "delete":
        return {}
    result = dict(target) if isinstance(target, Mapping) else {}
    for key in patch.get("$retainKeys", ()) and set(result) - set(patch["$retainKeys"]):
        del result[key]
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            field = key.partition("/")[2]
            result[field] = [item for item in result.get(field) or () if item not in value]
        elif key.startswith("$"):
            continue  # $setElementOrder only sorts, $retainKeys is done
        elif value is None:
            result.pop(key, None)
        elif isinstance(value, list):
            result[key] = _merge_list(key, result.get(key) or [], value)
        else:
            result[key] = strategic(result.get(key), value)
    return result


def _merge_list(field: str, target: list[Any], patch: list[Any]) -> list[Any]:
    if field in _PRIMITIVE_SETS:
        return target + [item for item in patch if item not in target]
    key = _MERGE_KEYS.get(field)
    if key is None or not all(isinstance(item, Mapping) for item in [*target, *patch]):
        return patch
    if any(item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if "$patch" not in item]
    result = list(target)
    for item in patch:
        if key not in item:
            raise Refusal(400, f"map: {dict(item)} does not contain declared merge key: {key}")
        at = next((index for index, old in enumerate(result) if old.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            if at is not None:
                del result[at]
        elif at is None:
            result.append(strategic({}, item))
        else:
            result[at] = strategic(result[at], item)
    return result


def json_patch(target: Any, operations: list[Mapping[str, Any]]) -> Any:
    """RFC 6902; raises Refusal 422 when a `test` fails or a path is missing."""
    document = copy.deepcopy(target)
    for operation in operations:
        try:
            document = _apply(document, operation)
        except (KeyError, IndexError, ValueError, TypeError) as problem:
            raise Refusal(
                422, f"the server rejected our request due to an error in our request: {operation}: {problem}"
            ) from None
    return document


def _apply(document: Any, operation: Mapping[str, Any]) -> Any:
    op, steps = operation["op"], _steps(operation["path"])
    if op == "test":
        if _look(document, steps) != operation.get("value"):
            raise ValueError("test failed")
        return document
    if op in ("move", "copy"):
        origin = _steps(operation["from"])
        value = copy.deepcopy(_look(document, origin))
        if op == "move":
            document = _put(document, origin, "remove", None)
        return _put(document, steps, "add", value)
    return _put(document, steps, op, operation.get("value"))


def _steps(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"no JSON pointer: {pointer}")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _look(document: Any, steps: list[str]) -> Any:
    for step in steps:
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def _put(document: Any, steps: list[str], op: str, value: Any) -> Any:
    if not steps:
        return value
    parent, last = _look(document, steps[:-1]), steps[-1]
    if isinstance(parent, list):
        at = len(parent) if last == "-" and op == "add" else int(last)
        if not 0 <= at < len(parent) + (op == "add"):
            raise IndexError(f"no element {last}")
        if op == "add":
            parent.insert(at, value)
        elif op == "remove":
            del parent[at]
        else:
            parent[at] = value
    elif op == "remove" or (op == "replace" and last not in parent):
        del parent[last]
    else:
        parent[last] = value
    return document
